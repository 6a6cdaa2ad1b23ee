package leases

import "github.com/belay-hooks/belay/leases/clock"

// The words of the clock. They are one package's, since what else has a deadline counts
// the same way.
type (
	Clock   = clock.Clock
	Instant = clock.Instant
)
