package belay

import (
	"github.com/belay-hooks/belay/internal/clock"
)

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
