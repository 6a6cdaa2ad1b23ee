package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Ordered is the decision of the event that records the use of an order; Output holds the order.
const Ordered = "ordered"

// MinCompactionAge is the age below which events are never compacted. The queue and the orders
// rest on events: the one that a question was asked by (it waits, and its decision holds,
// MaxTimeout each), and those that record a use (an order lasts MaxOrderLife). No event may go
// before the question, decision or order that it proves has run out.
const MinCompactionAge = 2 * queue.MaxTimeout

// UseOrder finds out whether a person's verb may be carried out with these arguments.
// Where a reviewer is registered that takes an order that one of them signed for
// exactly this, and UseOrder returns the event that records its use. The caller
// commits the event in the batch of the verb itself: an order is used once, since the
// event's id is made from the order's. Without a reviewer an order is refused, and no
// order is let pass without an event. Errors are *OrderError, ErrClosed or
// ErrUnavailable; an order that does not count is logged as an attempt.
func (k *Kernel) UseOrder(ctx context.Context, verb approvals.Verb, args any,
	order *approvals.Order) ([]phases.Event, error) {
	snap := k.snapshot()
	if snap == nil {
		return nil, ErrClosed
	}
	defer k.releaseSnapshot(ctx, snap)
	at := k.at(ctx)
	now := at.Wall
	if order == nil && !snap.authority.Protected() {
		return nil, nil
	}
	err := k.checkOrder(ctx, snap, verb, args, order, at)
	var refused *queue.OrderError
	if errors.As(err, &refused) {
		if _, cerr := k.commit(ctx,
			Batch{Now: now,
				Events: []phases.Event{k.orderEvent(snap, verb, order, "refused", refused.Error(), now)}}); cerr != nil {
			return nil, cerr
		}
	}
	if err != nil {
		return nil, err
	}
	e := k.orderEvent(snap, verb, order, Ordered, "", now)
	e.ID = orderUseID(order.ID)
	return []phases.Event{e}, nil
}

func (k *Kernel) checkOrder(ctx context.Context, s *snapshot, v approvals.Verb, args any, o *approvals.Order,
	at leases.Instant) error {
	if o == nil {
		return &queue.OrderError{Class: approvals.ErrSignature, Text: "there is none, and " + string(v) +
			" takes one: a reviewer is registered"}
	}
	if err := s.authority.CheckOrder(o, v, k.options.StoreID, args, at); err != nil {
		return err
	}
	used, err := k.options.Store.Events(ctx, wire.Query{ID: orderUseID(o.ID)})
	if err != nil {
		return err
	}
	if len(used) > 0 {
		return &queue.OrderError{Class: approvals.ErrDecided, Text: "it was used before"}
	}
	return nil
}

// orderEvent records what became of an order. The use holds the order itself, with its
// signature, so that the log proves who wanted the act.
func (k *Kernel) orderEvent(s *snapshot, v approvals.Verb, o *approvals.Order, what, why string,
	now time.Time) phases.Event {
	e := phases.Event{ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, PolicyRevision: s.revision,
		Decision: what,
		Reason:   phases.SafeText(string(v)+": "+why, phases.MaxReasonBytes)}
	if what != Ordered {
		return e // nothing in an order that does not count is worth to be stored
	}
	e.Reason, e.DecidedBy, e.Signer = string(v)+": ordered by a reviewer", o.By, o.Key
	e.Output, _ = json.Marshal(o) // it was decoded from this form: it cannot fail
	return e
}

// orderUseID is the id of the event that records the use of an order.
func orderUseID(order string) string { return fixedID("belay order used", order) }
