package replay

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// store answers the kernel from the invocation at hand, and keeps nothing. What it
// does not know by itself an empty store in memory answers.
type store struct {
	kernel.Store
	rig *rig
}

func (s *store) RunState(context.Context, phases.RunKey, time.Time) (kernel.RunState, error) {
	return s.rig.now.run.Carried.RunState(), nil
}

func (s *store) Latch(_ context.Context, key kernel.SessionKey) (*kernel.Latch, error) {
	l := s.rig.now.run.Latch
	if l == nil {
		return nil, nil
	}
	out := &kernel.Latch{SessionKey: key, Reason: l.Reason, Kind: l.Kind, DecidedBy: l.DecidedBy, Invocation: l.Invocation,
		Since: l.Since, ID: l.ID, Cause: l.Cause, Event: l.Event}
	if c := &s.rig.now.run.Chained; l.ID == "" && c.Decision == phases.Block {
		out.Told = c.Reason
	}
	return out, nil
}

func (s *store) Commit(_ context.Context, b kernel.Batch) (kernel.Receipt, error) {
	return kernel.Receipt{First: 1, Last: int64(len(b.Events))}, nil
}

func (s *store) Prune(context.Context, time.Time) (int, error) { return 0, nil }

// plain stores nothing, so that it has nothing to cover.
type plain struct{}

func (plain) JSON(raw jsontext.Value) (jsontext.Value, []string, error) { return raw, nil, nil }
func (plain) Text(s string) (string, error)                             { return s, nil }

// clock stands still at the recorded time.
type clock struct{ rig *rig }

func (c clock) Now() time.Time {
	if c.rig.now == nil {
		return time.Time{}
	}
	return c.rig.now.inv.Time
}
