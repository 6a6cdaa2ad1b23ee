package hookcmd

import (
	"context"
	"errors"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// machine asks the daemon of a machine in system mode. Nothing stands in for it: no state directory, no process of this
// user. With a state directory given, belay finds out whether system.yaml lets it count.
func (c *Command) machine(ctx context.Context, a arguments, e *event, args []string) int {
	if a.state != "" || c.Getenv("BELAY_HOME") != "" {
		err := c.HandOver(args)
		return c.refuse(c.salvage(ctx, e), "", noBelay("a state directory was named on a machine in system mode", err))
	}
	daemon, err := dialLocal(context.WithoutCancel(ctx), daemonapi.SystemDir)
	if err != nil {
		return c.refuse(c.salvage(ctx, e), "", Away(err))
	}
	defer daemon.Close()
	return c.ask(ctx, e, daemon, "")
}

// Away is the failure of a question to the daemon of the machine, which did not answer. Its text says to the person
// what to do: the agent's user can do nothing about it.
func Away(err error) *phases.Fault {
	return phases.NewFault(phases.KindLoad, "the belay of this machine does not answer, so that nothing may go on; "+
		"`belay system status` says whom to call", errors.Join(errAway, err))
}

// errAway tells that no file of this user stands in for the daemon.
var errAway = errors.New("the machine is in system mode: " + daemonapi.SystemConfig)
