package kernel

import (
	"context"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// UnheldFor is how long an event that nothing holds is shown.
const UnheldFor = 24 * time.Hour

// unheldLimit bounds how many records Unheld looks at.
const unheldLimit = 1000

// Unheld counts the events of the last UnheldFor that could not be read, could not be
// blocked any more, and named no session that a latch could hold. It looks at the newest
// 1000 failures at most. The error is ErrUnavailable.
func (k *Kernel) Unheld(ctx context.Context) (int, error) {
	now := k.options.Clock.Now()
	list, err := k.Events(ctx,
		wire.Query{Type: phases.EventFailure, Since: now.Add(-UnheldFor), Newest: true, Limit: unheldLimit})
	n := 0
	for _, e := range list {
		if e.Enforced == phases.EnforcedNone && e.Decision == string(phases.Block) {
			n++
		}
	}
	return n, err
}
