package kernel

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// latchOrder describes an order to clear a latch: which latch, and how it came about, so that
// the order is of no use for a later latch of the same session.
type latchOrder struct {
	Runtime    string    `json:"runtime"`
	Session    string    `json:"session"` // "": the latch of the whole runtime
	Invocation string    `json:"invocation"`
	Since      time.Time `json:"since"`
}

// Order returns the content of an order to clear the latch.
func (l *Latch) Order() latchOrder {
	return latchOrder{Runtime: l.Runtime, Session: l.Session, Invocation: l.Invocation, Since: l.Since.UTC()}
}

// ClearLatch lets a session go on and records who decided that. Where a reviewer is
// registered it takes an order to VerbLatchClear that says Latch.Order; by counts only
// without one. The error is ErrConflict when the session is not latched, or as of
// UseOrder.
func (k *Kernel) ClearLatch(ctx context.Context, key wire.Session, by string, order *approvals.Order) error {
	l, err := k.options.Store.Latch(ctx, key)
	if err != nil {
		return err
	}
	if l == nil || l.Key() != key {
		return ErrConflict
	}
	used, err := k.UseOrder(ctx, queue.VerbLatchClear, l.Order(), order)
	if err != nil {
		return err
	}
	if order != nil {
		by = order.By
	}
	now := k.options.Clock.Now()
	e := phases.Event{
		ID: k.options.NewID(now), Type: phases.EventLatch, Time: now, Runtime: key.Runtime, Session: key.Session,
		User: phases.SafeLine(by, phases.MaxIDBytes), PolicyRevision: k.Revision(), Decision: "cleared",
	}
	// strings alone: they always encode
	e.Output, _ = json.Marshal(&liftOutput{Latch: l.ID, Cause: l.Why()})
	_, err = k.commit(ctx, Batch{Now: now, ClearLatch: &key, Events: append(used, e)})
	return err
}
