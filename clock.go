package belay

import (
	"context"
	"time"

	"github.com/belay-hooks/belay/leases/clock"
)

// clockEvery is how often a daemon looks at the clocks.
const clockEvery = time.Second

// WatchClock looks for jumps of the wall clock until ctx ends. What it finds is recorded
// once, also when other processes look; see kernel.Kernel.WatchClock.
func (b *Belay) WatchClock(ctx context.Context) {
	t := time.NewTicker(clockEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			b.kernel.WatchClock(ctx)
		}
	}
}

// ClockWarning says what is to be known of the clock: that it jumped within the last day of
// this boot, that what is old is kept longer for a jump, or that there is no boot clock.
// "" when there is nothing to say. It is one line, and safe to show.
func (b *Belay) ClockWarning(ctx context.Context) string {
	return b.kernel.ClockWarning()
}

// calm is the kernel's CalmTime. What keeps full inputs is made before there is a kernel.
func (b *Belay) calm() time.Time {
	if b.kernel == nil {
		return time.Time{} // nothing is old yet
	}
	return b.kernel.CalmTime()
}

// at reads the clocks, as the kernel does: beside a clock of the program's own that is of
// no boot there is no boot clock.
func (b *Belay) at() clock.Instant {
	switch c := b.o.Clock.(type) {
	case nil:
		return clock.At(clock.System{})
	case clock.Clock:
		return clock.At(c)
	default:
		return clock.Instant{Wall: c.Now()}
	}
}
