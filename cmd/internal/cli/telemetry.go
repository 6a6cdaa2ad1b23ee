package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/belay-hooks/belay/internal/telemetry"
)

// How long the end of a process waits for a collector. A command that a runtime
// has started waits less: the runtime goes on when it has ended.
const (
	flushServe = 5 * time.Second
	flushEval  = 500 * time.Millisecond
)

// telemetry starts the exporters that the OTEL_* variables ask for; without
// them it is nil. After the answer has been written, it sends queued data for
// at most patience. It reports variables that it cannot follow and ignores
// them: they are no reason to leave agents without answers.
func (a *App) telemetry(ctx context.Context, log *slog.Logger, patience time.Duration) *telemetry.Telemetry {
	t, err := telemetry.Open(ctx,
		telemetry.Options{Getenv: a.Getenv, Version: version(), LongLived: patience == flushServe, Logger: log})
	if err != nil {
		fmt.Fprintf(a.Err, "belay: no telemetry: %s\n", safe(err.Error()))
		return nil
	}
	if t == nil {
		return nil
	}
	a.last = append(a.last, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if err := t.Shutdown(ctx); err != nil {
			log.LogAttrs(ctx, slog.LevelDebug, "telemetry was lost", slog.Any("error", err))
		}
	})
	return t
}
