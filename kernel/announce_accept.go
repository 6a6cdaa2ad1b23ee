package kernel

import (
	"context"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// ConfigOrder describes an order to accept a configuration: exactly the revision
// that was looked at.
type ConfigOrder struct {
	Revision string `json:"revision"` // as in verdicts
}

// AcceptConfig records that a person has looked at the configuration in use: the
// revisions that came into force until now are not counted any more. revision is the
// one that was looked at; ErrConflict when another is in use. Where a reviewer is
// registered it takes an order to VerbConfigAccept that says ConfigOrder; by counts
// only without one. Other errors are as of UseOrder.
func (k *Kernel) AcceptConfig(ctx context.Context, revision, by string, o *approvals.Order) error {
	if err := k.announceWaiting(ctx); err != nil {
		return err
	}
	if revision != k.Revision() {
		return ErrConflict
	}
	used, err := k.UseOrder(ctx, queue.VerbConfigAccept, ConfigOrder{revision}, o)
	if err != nil {
		return err
	}
	if o != nil {
		by = o.By
	}
	now := k.options.Clock.Now()
	_, err = k.commit(ctx, Batch{Now: now, Events: append(used, phases.Event{
		ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, User: phases.SafeLine(by, phases.MaxIDBytes),
		PolicyRevision: revision,
		Decision:       DecisionAccepted, Reason: "configuration accepted: " + phases.SafeLine(revision, 512),
	})})
	return err
}
