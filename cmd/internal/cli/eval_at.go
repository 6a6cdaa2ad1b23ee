package cli

import (
	"context"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// parseAt takes --at. What would have consequences does not go with it.
func (o *evalOptions) parseAt() error {
	if o.runtime != "" || o.record != "" || o.wait > 0 || o.unsafeOpen {
		return usageError("--at is a dry run: it does not go with --runtime, --record, --wait and --unsafe-fail-open", "")
	}
	at, err := time.Parse(time.RFC3339Nano, o.atText)
	if err != nil || at.UTC().Year() < 1970 || at.UTC().Year() > 2200 {
		return usageError("--at takes a time between the years 1970 and 2200 in RFC 3339, such as 2026-12-24T23:00:00Z", "")
	}
	at = at.UTC()
	o.at = &at
	return nil
}

// atTime asks the hooks of a dry run as if it were another time.
type atTime struct {
	*belay.Belay
	at time.Time
}

// InvokeWith implements dispatch.Host.
func (h atTime) InvokeWith(ctx context.Context, inv phases.Invocation, o kernel.InvokeOptions) (phases.Verdict, error) {
	o.HookClock = &h.at
	return h.Belay.InvokeWith(ctx, inv, o)
}
