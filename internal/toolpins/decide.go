package toolpins

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// ErrMoved: what is accepted of the server is not any more what the approval starts from.
var ErrMoved = errors.New("what is accepted of the server has changed since it was asked")

// ErrPending: the change is approved, which is logged, and not taken over. Beside it stands the cause.
var ErrPending = errors.New("the change is approved and that is logged, but it could not be taken over")

// Decide takes a person's decision about an item of kind tool. An approved change is taken over
// at once. When that failed after the decision was logged, the error is of ErrPending, and the same
// decision once more carries on from there. Other errors are as of kernel.Kernel.DecideApproval.
func (d *Desk) Decide(ctx context.Context, q Queue, it approvals.Item,
	decision approvals.Decision) (approvals.Item, error) {
	again := it.State == approvals.Approved && it.Decision != nil && it.Decision.Verdict == decision.Verdict &&
		it.Decision.Content == decision.Content && bytes.Equal(it.Decision.Signature, decision.Signature)
	if !again {
		decided, err := q.DecideApproval(ctx, it.ID, decision)
		if err != nil || decision.Verdict != approvals.Approve {
			return decided, err
		}
		it = decided
	}
	if err := d.takeOver(ctx, q, it.ID); err != nil {
		return it, fmt.Errorf("%w: %w", ErrPending, err)
	}
	return q.Approval(ctx, it.ID)
}

// takeOver accepts what a person has approved. The approval is verified again first.
func (d *Desk) takeOver(ctx context.Context, q Queue, id string) error {
	it, err := q.CheckApproval(ctx, id)
	if err != nil {
		return err
	}
	if err := d.accept(it); err != nil {
		return err
	}
	return q.FinishApproval(ctx, id, "the definitions are accepted")
}

// accept writes the approved differences down. Doing it again changes nothing.
func (d *Desk) accept(it *approvals.Item) error {
	c, err := queue.ToolChangeOf(it)
	if err != nil {
		return fmt.Errorf("%w: its details cannot be read", approvals.ErrUnsound)
	}
	return d.edit(func(p *pinned) error {
		a, known := p.Servers[c.Server]
		if !known {
			return ErrMoved
		}
		if w := c.Way; w != nil {
			if a.Way != w.From && a.Way != w.To {
				return ErrMoved
			}
			a.Way, a.Reached = w.To, w.Becomes
		}
		for _, t := range c.Tools {
			have := a.Tools[t.Tool].Digest
			switch {
			case have != t.From && have != t.To:
				return ErrMoved
			case t.To == "":
				delete(a.Tools, t.Tool)
			default:
				a.Tools[t.Tool] = tool{Digest: t.To, Text: t.Now}
			}
		}
		a.Since, a.By, a.Approval, a.Waits = d.o.Now().UTC(), it.Decision.By, it.ID, nil
		p.Servers[c.Server] = a
		return nil
	})
}
