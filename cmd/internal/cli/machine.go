package cli

import (
	"errors"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/system"
)

// onMachine reports whether the daemon of the machine is who is asked: the machine is in system mode, and no state
// directory is named that counts. Root names one freely, others where system.yaml allows it. With an error nothing may
// be asked: system.yaml is there and cannot be believed.
func (a *App) onMachine() (bool, error) {
	if a.LoadSystem == nil && !daemonapi.SystemMode() {
		return false, nil
	}
	config, err := a.loadSystem()
	switch {
	case errors.Is(err, system.ErrNone):
		return false, nil
	case err != nil:
		return true, failureBy(err, "The machine is in system mode, and its configuration cannot be believed: every action is blocked until root has mended it.")
	}
	named := a.state != "" || a.Getenv("BELAY_HOME") != ""
	return !named || !system.Above(a.places().State, a.Geteuid()) && !config.AllowState, nil
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
	return failure("this machine is in system mode: its daemon decides, by the files of root in "+a.places().Config,
		"Root works on the state of a user with `belay --state "+
			system.UserDir(a.places().State, a.Geteuid())+" …`, and changes hooks in "+a.places().Config+".")
}
