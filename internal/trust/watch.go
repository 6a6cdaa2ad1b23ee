package trust

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/belay-hooks/belay/internal/every"
	"github.com/belay-hooks/belay/kernel"
)

// Poll is how often an open Belay looks whether trust.yaml changed, unless it is told
// otherwise.
const Poll = time.Second

// Watch looks at every interval whether the policy changed, and calls use to take it
// into use, until ctx ends or use fails with kernel.ErrClosed. use takes the locks that
// it needs; Watch holds none.
func (t *Verifier) Watch(ctx context.Context, period time.Duration, use func(context.Context) error, log *slog.Logger) {
	pending := false
	every.Do(ctx, period, period, func(ctx context.Context) bool {
		if t.Refresh() {
			pending = true
		}
		if !pending {
			return true
		}
		err := use(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, kernel.ErrClosed):
			return false
		case err != nil:
			// What runs is judged by the policy before; a store that cannot write
			// blocks everything anyway. It is tried again at the next tick.
			log.LogAttrs(ctx, slog.LevelError, "the trust policy changed and could not be taken into use",
				slog.Any("error", err))
		default:
			pending = false
			log.LogAttrs(ctx, slog.LevelInfo, "the trust policy changed: every hook was verified again")
		}
		return true
	})
}
