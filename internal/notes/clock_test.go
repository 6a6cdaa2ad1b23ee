package notes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/leases"
)

const year = 365 * 24 * time.Hour

// machine has a wall clock that is set and a boot clock that is not.
type machine struct {
	wall  time.Time
	boot  string
	since time.Duration
}

func (m *machine) Now() time.Time                { return m.wall }
func (m *machine) Boot() (string, time.Duration) { return m.boot, m.since }
func (m *machine) sleep(d time.Duration)         { m.wall, m.since = m.wall.Add(d), m.since+d }
func (m *machine) jump(d time.Duration)          { m.wall = m.wall.Add(d) }
func (m *machine) restart(id string)             { m.boot, m.since = id, 0 }

func TestLook(t *testing.T) {
	m := &machine{wall: t0, boot: "b1", since: time.Hour}
	first, jump, changed := notes.ClockNote{}.Look(leases.At(m))
	if jump != nil || !changed || first.Boot != "b1" || first.Last != first.Least ||
		first.Last != t0.Add(-time.Hour).UnixMilli() {
		t.Fatalf("first look: %+v, %v, %v", first, jump, changed)
	}
	m.sleep(time.Minute)
	for by, text := range map[time.Duration]string{
		0: "", notes.MinClockJump - time.Millisecond: "", -notes.MinClockJump + time.Millisecond: "",
		notes.MinClockJump:  "the clock jumped by +2s, from 2026-03-01T12:01:00Z to 2026-03-01T12:01:02Z",
		-notes.MinClockJump: "the clock jumped by -2s, from 2026-03-01T12:01:00Z to 2026-03-01T12:00:58Z",
		year:                "the clock jumped by +8760h0m0s, from 2026-03-01T12:01:00Z to 2027-03-01T12:01:00Z",
	} {
		moved := *m
		moved.jump(by)
		next, jump, changed := first.Look(leases.At(&moved))
		if changed != (text != "") || (jump != nil) != changed || !changed && next != first {
			t.Errorf("%v: %+v, %v, %v", by, next, jump, changed)
			continue
		}
		if !changed {
			continue
		}
		least := min(first.Last, first.Last+by.Milliseconds())
		want := notes.ClockNote{Boot: "b1", Last: first.Last + by.Milliseconds(), Least: least, Jump: jump}
		if diff := cmp.Diff(want, next); diff != "" || jump.String() != text || jump.By() != by ||
			jump.Since != (time.Hour+time.Minute).Milliseconds() {
			t.Errorf("%v: %s, since %d\n%s", by, jump, jump.Since, diff)
		}
		if _, again, changed := next.Look(leases.At(&moved)); again != nil || changed {
			t.Errorf("%v: told twice", by)
		}
	}
	m.restart("b2")
	if next, jump, changed := first.Look(leases.At(m)); jump != nil || !changed || next.Boot != "b2" {
		t.Errorf("another boot: %+v, %v", next, jump)
	}
	m.restart("")
	if next, jump, changed := first.Look(leases.At(m)); jump != nil || changed || next != first {
		t.Errorf("no boot clock: %+v, %v", next, jump)
	}
}

// By calm time nothing is older than it really is, whatever is done to the wall clock in a
// boot, as long as one look falls between two jumps. Without a jump calm time is wall time.
func TestCalmTimeMakesNothingOld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{wall: t0, boot: "b1", since: time.Hour}
		var n notes.ClockNote
		var made []time.Time
		var ages []time.Duration
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			n, _, _ = n.Look(leases.At(m))
			made, ages = append(made, n.Calm(leases.At(m)), m.wall), append(ages, 0, 0)
			d := time.Duration(rapid.Int64Range(0, 1000).Draw(t, "hours")) * time.Hour
			m.sleep(d)
			for i := range ages {
				ages[i] += d
			}
			m.jump(time.Duration(rapid.Int64Range(-20000, 20000).Draw(t, "jump")) * time.Hour)
			calm := n.Calm(leases.At(m))
			if calm.After(m.wall) {
				t.Fatalf("calm time %v is ahead of %v", calm, m.wall)
			}
			for i := range made {
				if age := calm.Sub(made[i]); age > ages[i] {
					t.Fatalf("something of %v counts as %v old, and is %v", made[i], age, ages[i])
				}
			}
		}
	})
	m := &machine{wall: t0, boot: "b1", since: time.Hour}
	n, _, _ := notes.ClockNote{}.Look(leases.At(m))
	m.sleep(year)
	if got := n.Calm(leases.At(m)); !got.Equal(m.wall) {
		t.Errorf("without a jump: %v, want %v", got, m.wall)
	}
	m.jump(time.Minute)
	if got := n.Calm(leases.At(m)); !got.Equal(m.wall.Add(-time.Minute)) {
		t.Errorf("a minute ahead: %v", got)
	}
	for _, boot := range []string{"", "b2"} {
		if m.boot = boot; !n.Calm(leases.At(m)).Equal(m.wall) {
			t.Errorf("boot %q: %v", boot, n.Calm(leases.At(m)))
		}
	}
}

func TestNoteIsDecodedStrictly(t *testing.T) {
	m := &machine{wall: t0, boot: "b1", since: time.Hour}
	n, _, _ := notes.ClockNote{}.Look(leases.At(m))
	m.jump(-year)
	n, _, _ = n.Look(leases.At(m))
	b, err := n.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := notes.DecodeClockNote(b); err != nil || cmp.Diff(n, back) != "" {
		t.Errorf("%+v, %v", back, err)
	}
	if back, err := notes.DecodeClockNote(nil); err != nil || back != (notes.ClockNote{}) {
		t.Errorf("nothing: %+v, %v", back, err)
	}
	for _, bad := range []string{
		"x", "{}", `{"boot":"b","last_ms":1,"least_ms":2}`, `{"boot":"","last_ms":1,"least_ms":1}`,
		`{"boot":"b","last_ms":1,"least_ms":1,"more":1}`,
		`{"boot":"b","boot":"b","last_ms":1,"least_ms":1}`, `{"boot":"b","last_ms":"1","least_ms":1}`,
		`{"boot":"` + strings.Repeat("b", 4<<10) + `","last_ms":1,"least_ms":1}`,
	} {
		if got, err := notes.DecodeClockNote([]byte(bad)); err == nil || got != (notes.ClockNote{}) {
			t.Errorf("%.60s: %+v, %v", bad, got, err)
		}
	}
}

func FuzzDecodeClockNote(f *testing.F) {
	f.Add([]byte(
		`{"boot":"b","last_ms":1,"least_ms":1,"jump":{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:05Z","since_ms":4}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		n, err := notes.DecodeClockNote(src)
		if err != nil {
			return
		}
		at := leases.Instant{Wall: t0, Boot: "b", Since: time.Hour}
		next, _, _ := n.Look(at)
		if next.Boot == "b" && next.Calm(at).After(at.Wall) {
			t.Errorf("calm time is ahead: %+v", next)
		}
	})
}
