package kernel

import (
	"context"

	"github.com/belay-hooks/belay/internal/approvals"
	"github.com/belay-hooks/belay/internal/clock"
)

// clocks are the kernel's two clocks as one.
type clocks struct {
	Clock
	BootClock
}

// at reads the clocks. What was stamped in another boot is held to the highest time that
// the store had seen when this process first asked. A store that cannot say it is asked
// again; what would rest on the answer cannot be read from it either.
func (k *Kernel) at(ctx context.Context) clock.Instant {
	at := clock.At(clocks{k.o.Clock, k.o.Boot})
	high := k.high.Load()
	if high == nil {
		t, err := k.o.Store.LeaseClock(ctx)
		if err != nil {
			return at
		}
		high = &t
		k.high.Store(high)
	}
	at.High = *high
	return at
}

// endedBefore reports whether only the wall clock could say that an item on file as expired
// has not run out, and cannot: it may have ended by the clock of a boot that is over, while
// the wall clock was set back. Nothing follows from an item that has expired.
func (k *Kernel) endedBefore(it *approvals.Item, at clock.Instant) bool {
	stamp := it.Clock
	if it.Decision != nil {
		stamp = it.Decision.Clock
	}
	return stamp.Boot != "" && !stamp.Counts(at)
}
