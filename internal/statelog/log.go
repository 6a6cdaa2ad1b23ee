package statelog

import (
	"context"
	"sync/atomic"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Log is what can be read of an event log, verified and proven. It changes nothing.
// Safe for concurrent use.
type Log struct {
	store  kernel.Store
	key    *eventlog.Key    // nil: it is not in the state directory
	guard  *highwater.Guard // nil: there is no mark to compare with
	events atomic.Pointer[config.Events]
}

func newLog(s kernel.Store, key *eventlog.Key, guard *highwater.Guard, events *config.Events) *Log {
	l := &Log{store: s, key: key, guard: guard}
	l.events.Store(events)
	return l
}

// Key returns the public half of the key that signs checkpoints; "" without the key.
func (l *Log) Key() string {
	if l.key == nil {
		return ""
	}
	return l.key.Verifier()
}

// StoreID names the state directory in the orders of reviewers: it comes from the key
// that signs checkpoints. "" without the key.
func (l *Log) StoreID() string {
	if l.key == nil {
		return ""
	}
	return l.key.StoreID()
}

// Events returns the logged events, in order. The error is
// kernel.ErrUnavailable.
func (l *Log) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	return l.store.Events(ctx, q)
}

// Compacted says which events have no contents any more: 1 to through, as the event
// of number event announces. Both are 0 when all have theirs.
func (l *Log) Compacted(ctx context.Context) (through, event int64, err error) {
	c, err := l.store.LogCompacted(ctx)
	if gone := c.Through - c.Left; gone > 0 {
		return gone, c.Event, err
	}
	return 0, 0, err
}
