package leases_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/leases"
)

const year = 365 * 24 * time.Hour

// machine has a wall clock that is set and a boot clock that is not.
type machine struct {
	wall  time.Time
	boot  string
	since time.Duration
}

func (m *machine) Now() time.Time                  { return m.wall }
func (m *machine) Boot() (string, time.Duration)   { return m.boot, m.since }
func (m *machine) sleep(d time.Duration)           { m.wall, m.since = m.wall.Add(d), m.since+d }
func (m *machine) jump(d time.Duration)            { m.wall = m.wall.Add(d) }
func (m *machine) restart(id string)               { m.boot, m.since = id, 0 }
func (m *machine) high(h time.Time) leases.Instant { at := leases.At(m); at.High = h; return at }

func TestWhichClockCounts(t *testing.T) {
	const hour, minute = time.Hour, time.Minute
	stamp := leases.Stamp{Boot: "b1", Since: int64(hour)}
	at := func(boot string, since, wall, high time.Duration) leases.Instant {
		return leases.Instant{Boot: boot, Since: since, Wall: t0.Add(wall), High: t0.Add(high)}
	}
	for name, c := range map[string]struct {
		stamp leases.Stamp
		at    leases.Instant
		left  time.Duration
	}{
		"in its boot":                      {stamp, at("b1", hour+4*minute, 4*minute, 0), 6 * minute},
		"the last moment":                  {stamp, at("b1", hour+10*minute-1, 0, 0), 1},
		"the end":                          {stamp, at("b1", hour+10*minute, 0, 0), 0},
		"a jump ahead":                     {stamp, at("b1", hour+4*minute, year, 0), 6 * minute},
		"a jump back":                      {stamp, at("b1", hour+10*minute, -year, 0), 0},
		"the store has seen the future":    {stamp, at("b1", hour+4*minute, 0, year), 6 * minute},
		"a look that began before":         {stamp, at("b1", hour-minute, 0, 0), 11 * minute},
		"another boot":                     {stamp, at("b2", minute, 4*minute, 0), 6 * minute},
		"another boot, the end":            {stamp, at("b2", minute, 10*minute, 0), 0},
		"another boot, set back":           {stamp, at("b2", minute, -year, 4*minute), 6 * minute},
		"no stamp":                         {leases.Stamp{}, at("b1", minute, 4*minute, 0), 6 * minute},
		"no stamp, set back":               {leases.Stamp{}, at("b1", minute, -year, 10*minute), 0},
		"no boot clock":                    {leases.Stamp{}, at("", 0, 4*minute, year), 6 * minute},
		"no boot clock any more":           {stamp, at("", 0, 10*minute, 0), 0},
		"no boot clock any more, set back": {stamp, at("", 0, minute, year), 9 * minute},
	} {
		if got := c.stamp.Left(c.at, t0, t0.Add(10*minute)); got != c.left {
			t.Errorf("%s: %v, want %v", name, got, c.left)
		}
		if got := c.stamp.Over(c.at, t0, t0.Add(10*minute)); got != (c.left <= 0) {
			t.Errorf("%s: over %v", name, got)
		}
	}
}

// What a reviewer dates is stamped as of then, and never later than now.
func TestStampOf(t *testing.T) {
	at := leases.Instant{Boot: "b1", Since: time.Hour, Wall: t0}
	for began, want := range map[time.Duration]time.Duration{0: time.Hour, -time.Minute: 59 * time.Minute,
		time.Minute: time.Hour, -2 * time.Hour: -time.Hour} {
		if got := at.StampOf(t0.Add(began)); got != (leases.Stamp{Boot: "b1", Since: int64(want)}) {
			t.Errorf("%v: %+v, want %v", began, got, want)
		}
	}
	at.Boot = ""
	if got := at.StampOf(t0.Add(-time.Minute)); got != (leases.Stamp{}) {
		t.Errorf("without a boot clock: %+v", got)
	}
	if got := at.Stamp(); got != (leases.Stamp{}) {
		t.Errorf("without a boot clock: %+v", got)
	}
}

// Whatever is done to the wall clock within a boot, something ends when the time that
// really passed is its lifetime: not before, not after.
func TestJumpsChangeNoLifetime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{wall: t0, boot: "b1", since: time.Duration(rapid.Int64Range(0, int64(year)).Draw(t, "uptime"))}
		life := time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "life"))
		from, stamp := m.wall, leases.At(m).Stamp()
		high, slept := m.wall, time.Duration(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "jumps") {
				m.jump(time.Duration(rapid.Int64Range(-int64(2*year), int64(2*year)).Draw(t, "by")))
			} else {
				d := time.Duration(rapid.Int64Range(0, int64(life)).Draw(t, "sleep"))
				slept += d
				m.sleep(d)
			}
			if m.wall.After(high) {
				high = m.wall
			}
			if got := stamp.Over(m.high(high), from, from.Add(life)); got != (slept >= life) {
				t.Fatalf("after %v of %v: over %v", slept, life, got)
			}
		}
		m.restart("b2")
		latest := m.wall
		if high.After(latest) {
			latest = high
		}
		if got := stamp.Over(m.high(high), from, from.Add(life)); got != !latest.Before(from.Add(life)) {
			t.Fatalf("in another boot: over %v", got)
		}
	})
}
