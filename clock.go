package belay

import (
	"context"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/clock"
)

const (
	// clockEvery is how often a daemon looks at the clocks.
	clockEvery = time.Second

	// jumpToldFor is how long the status speaks of a jump, by the clock of the boot.
	jumpToldFor = 24 * time.Hour

	// lagTold is by how much calm time has to be behind for the status to say so.
	lagTold = 24 * time.Hour
)

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
	n, at := b.kernel.ClockNote()
	return clockWarning(n, at)
}

func clockWarning(n clock.Note, at clock.Instant) string {
	if at.Boot == "" {
		return "this host says no time since its boot: leases and approvals end by the wall clock, and a jump ends them early"
	}
	text := ""
	if j := n.Jump; j != nil && n.Boot == at.Boot && at.Since-time.Duration(j.Since)*time.Millisecond < jumpToldFor {
		text = j.String() + ": leases, approvals and orders count by the time since the boot, none ran out early"
	}
	if lag := at.Wall.Sub(n.Calm(at)); lag >= lagTold {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("until the next boot, events and recordings are kept %v longer than belay.yaml says",
			lag.Round(time.Second))
	}
	return text
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
