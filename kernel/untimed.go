package kernel

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// ErrOverran: a turn without a deadline took longer than a tool waits. It is a failure of
// the tool: nothing is known of what the turn would have come to.
var ErrOverran = errors.New(
	"a turn took longer by the clock than is waited for: what it would have come to is not known")

// Overran returns ErrOverran once a turn of a kernel with Options.Untimed was left
// behind: then no verdict of that kernel says anything about its hooks.
func (k *Kernel) Overran() error {
	k.left.mu.Lock()
	defer k.left.mu.Unlock()
	if k.options.Untimed > 0 && k.left.ever {
		return ErrOverran
	}
	return nil
}

// RunUntimed runs a turn that no kernel runs, without a deadline. The error is that of
// the hook, or ErrOverran when it takes longer than most, 0 meaning ToolCeiling: then
// what the turn works with belongs to the turn from there on.
func RunUntimed(ctx context.Context, hook Hook, turn Turn, most time.Duration) (Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	turn.Timeout = -1
	done := runDetached(ctx, hook, turn)
	timer := time.NewTimer(cmp.Or(most, ToolCeiling))
	defer timer.Stop()
	select {
	case a := <-done:
		return a.out, a.err
	case <-timer.C:
		cancel(ErrOverran)
		return Outcome{}, ErrOverran
	}
}
