package cli

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
)

// stopWhenStuck calls stop when hooks that were left behind are too many to go on with.
// isStuck says whether that was the reason.
func (a *App) stopWhenStuck(ctx context.Context, log *slog.Logger, stuck <-chan struct{},
	stop func()) (isStuck func() bool) {
	var yes atomic.Bool
	go func() {
		select {
		case <-ctx.Done():
		case <-stuck:
			yes.Store(true)
			log.LogAttrs(ctx, slog.LevelError, "too many hooks were left behind: stopping, to be started again")
			stop()
		}
	}()
	return yes.Load
}

// stuckError ends a command that has to be started again.
func stuckError(hooks []string) error {
	return &exitError{code: ExitRestart, text: "hooks ignored their deadline and still run: " +
		safe(strings.Join(hooks, ", ")),
		hint: "This process has ended for that: start it again. Everything that it was asked is decided and logged."}
}
