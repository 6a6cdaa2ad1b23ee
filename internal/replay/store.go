package replay

import (
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// store answers the kernel from the recorded invocation at hand, and keeps nothing.
func (r *chainRig) store() kernel.Store {
	return rig.NewVolatile(
		func() kernel.RunState { return r.now.run.Carried.RunState() },
		func(key wire.Session) *kernel.Latch { return r.now.latch(key) },
		func(kernel.Batch) error { return nil },
	)
}

// latch is the recorded latch of the session; nil for none.
func (t *turnTable) latch(key wire.Session) *kernel.Latch {
	l := t.run.Latch
	if l == nil {
		return nil
	}
	out := &kernel.Latch{Runtime: key.Runtime, Session: key.Session, Reason: l.Reason, Kind: l.Kind,
		DecidedBy: l.DecidedBy, Invocation: l.Invocation,
		Since: l.Since, ID: l.ID, Cause: l.Cause, Event: l.Event}
	if c := &t.run.Chained; l.ID == "" && c.Decision == phases.Block {
		out.Told = c.Reason
	}
	return out
}
