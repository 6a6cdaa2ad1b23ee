//go:build !linux

package cli

import "context"

// errNoSystem: system mode rests on Linux's users, systemd and Landlock.
func errNoSystem() error {
	return failure("system mode is for Linux", "docs/SERVE.md says how to run a daemon here.")
}

func (a *App) examineSystem(context.Context) []finding { return nil }

func machineHook() string { return "" }

func (a *App) systemConnect([]string, systemConnectFlags) error { return errNoSystem() }

func (a *App) systemInstall(context.Context, systemFlags) error        { return errNoSystem() }
func (a *App) systemStatus(context.Context, systemFlags) error         { return errNoSystem() }
func (a *App) systemUpgrade(context.Context, systemFlags) error        { return errNoSystem() }
func (a *App) systemUninstall(context.Context, systemFlags) error      { return errNoSystem() }
func (a *App) systemImport(context.Context, string, importFlags) error { return errNoSystem() }
func (a *App) systemReceive(context.Context, []string) error           { return errNoSystem() }
