package leases

import "time"

// Clock tells the time in two ways: by the wall clock, which people and programs set, and
// by the clock of the machine's boot, which nothing sets. Safe for concurrent use.
type Clock interface {
	Now() time.Time
	// Boot names the boot of this machine and says how long ago it was, sleep
	// included; nothing sets that clock. "" when the host has none.
	Boot() (id string, since time.Duration)
}

// Instant is one moment on both clocks.
type Instant struct {
	Wall  time.Time
	Boot  string
	Since time.Duration
	High  time.Time // the highest wall time that the store has seen
}

// At reads the clock.
func At(c Clock) Instant {
	id, since := c.Boot()
	return Instant{Wall: c.Now(), Boot: id, Since: since}
}

// IsZero reports whether it is no moment at all.
func (at Instant) IsZero() bool { return at.Wall.IsZero() }

// Latest is the wall time, never behind what the store has seen.
func (at Instant) Latest() time.Time {
	if at.High.After(at.Wall) {
		return at.High
	}
	return at.Wall
}

// SystemClock is the host's clock. The zero value is ready.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// Boot implements Clock.
func (SystemClock) Boot() (string, time.Duration) { return boot() }
