package cli

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/system"
)

// onMachine reports whether the daemon of the machine is who is asked; see system.Asked. With an error nothing may be
// asked.
func (a *App) onMachine() (bool, error) {
	return a.machineUnless(a.state != "" || a.Getenv("BELAY_HOME") != "")
}

// machineUnless is onMachine for a command that names a directory, or does not: one by which another daemon is asked
// counts for as much as a state directory.
func (a *App) machineUnless(named bool) (bool, error) {
	if a.LoadSystem == nil && !daemonapi.SystemMode() {
		return false, nil
	}
	on, err := system.Asked(a.loadSystem, a.places().State, a.Geteuid(), named)
	if err != nil {
		return on, failureBy(err, "The machine is in system mode, and its configuration cannot be believed: every action is blocked until root has mended it.")
	}
	return on, nil
}

// machineDaemon returns a client of the machine's daemon. Nothing stands in for it.
func (a *App) machineDaemon() (*client.Client, error) {
	c, err := client.Dial(a.places().Run)
	if err == nil {
		return c, nil
	}
	hint := "Nothing goes on without it. `belay system status` shows more."
	if config, cerr := a.loadSystem(); cerr == nil && config.Contact != "" {
		hint = "Nothing goes on without it. Call " + safe(config.Contact) + "; `belay system status` shows more."
	}
	return nil, failureBy(err, hint)
}

// ownState refuses a command of an ordinary user that would decide by a state directory of their own, on a machine in
// system mode.
func (a *App) ownState() error {
	on, err := a.onMachine()
	if err != nil || !on {
		return err
	}
	dir := system.UserDir(a.places().State, a.Geteuid())
	if a.Geteuid() == 0 {
		dir = filepath.Join(a.places().State, "users", "UID")
	}
	return failure("this machine is in system mode: its daemon decides, by the files of root in "+a.places().Config,
		"Root works on the state of a user with `belay --state "+dir+" …`, and changes hooks in "+a.places().Config+".")
}

// connectOnMachine refuses settings that would lead a runtime past the machine's daemon, and those of one user where
// root can connect all of them.
func (a *App) connectOnMachine(name string, o connectOptions) error {
	config, err := a.loadSystem()
	switch {
	case errors.Is(err, system.ErrNone) || o.root != "":
		return nil
	case err != nil:
		_, err := a.onMachine()
		return err
	}
	on, err := a.onMachine()
	root := "`sudo belay system connect " + name + "` has the runtimes of every user ask it."
	switch {
	case err != nil:
		return err
	case !on && o.managed && a.Geteuid() == 0 && !config.AllowState:
		return failure("this machine is in system mode: a state directory that settings name does not count", root)
	case on && o.daemon != "":
		return failure("this machine is in system mode: its own daemon decides, and no other", root)
	case on && !o.managed && slices.Contains(connect.Levels(name), connect.Managed):
		return failure("this machine is in system mode: root connects "+name+" by managed settings, "+
			"which no agent can take out", root)
	}
	return nil
}
