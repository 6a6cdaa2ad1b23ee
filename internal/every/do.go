// Package every does something from time to time. It decides when, and never what.
package every

import (
	"context"
	"time"
)

// Do calls do after first, and then at each period after its last call began, until ctx
// ends or do returns false. Calls do not overlap: what takes longer than a period is called
// again at once. Both durations are above 0.
func Do(ctx context.Context, first, period time.Duration, do func(context.Context) bool) {
	t := time.NewTimer(first)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			t.Reset(period)
		}
		if ctx.Err() != nil || !do(ctx) { // both may be ready
			return
		}
	}
}
