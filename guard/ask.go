package guard

import (
	"context"
	"time"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// poll is how often the queue is read for a decision.
const poll = 250 * time.Millisecond

// prompt has the program ask the person. Nil means yes.
func (g *Guard) prompt(ctx context.Context, v phases.Verdict) error {
	approved, err := g.o.Prompt(ctx, v.Clone())
	if err == nil {
		err = ctx.Err()
	}
	switch {
	case err != nil:
		return refuse(ErrUnanswered, v.Phase, v, "", err)
	case !approved:
		return refuse(ErrDenied, v.Phase, v, "", nil)
	}
	return nil
}

// wait returns nil when the question that the verdict names is closed, so that it is
// worth asking the host again. It reads the queue in the caller's goroutine.
func (g *Guard) wait(ctx context.Context, verdict phases.Verdict, end time.Time) error {
	if verdict.Approval == nil || g.o.Wait <= 0 {
		return refuse(ErrUnanswered, verdict.Phase, verdict, "", nil)
	}
	if g.o.Waiting != nil {
		g.o.Waiting(verdict.Clone())
	}
	for {
		item, err := g.host.Approval(ctx, verdict.Approval.ID)
		switch {
		case ctx.Err() != nil:
			return refuse(ErrUnanswered, verdict.Phase, verdict, "", ctx.Err())
		case err != nil:
			return refuse(ErrFailed, verdict.Phase, verdict, "the queue of approvals cannot be read", err)
		case item.State == approvals.Expired:
			return refuse(ErrUnanswered, verdict.Phase, verdict, "", nil)
		case item.State != approvals.Pending:
			return nil
		case !time.Now().Before(end):
			return refuse(ErrUnanswered, verdict.Phase, verdict, "", context.DeadlineExceeded)
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(poll, time.Until(end))):
		}
	}
}
