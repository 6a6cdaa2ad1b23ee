package clock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/clock"
)

func TestLook(t *testing.T) {
	m := &machine{wall: t0, boot: "b1", since: time.Hour}
	first, jump, changed := clock.Note{}.Look(clock.At(m))
	if jump != nil || !changed || first.Boot != "b1" || first.Last != first.Least ||
		first.Last != t0.Add(-time.Hour).UnixMilli() {
		t.Fatalf("first look: %+v, %v, %v", first, jump, changed)
	}
	m.sleep(time.Minute)
	for by, text := range map[time.Duration]string{
		0: "", clock.MinJump - time.Millisecond: "", -clock.MinJump + time.Millisecond: "",
		clock.MinJump:  "the clock jumped by +2s, from 2026-03-01T12:01:00Z to 2026-03-01T12:01:02Z",
		-clock.MinJump: "the clock jumped by -2s, from 2026-03-01T12:01:00Z to 2026-03-01T12:00:58Z",
		year:           "the clock jumped by +8760h0m0s, from 2026-03-01T12:01:00Z to 2027-03-01T12:01:00Z",
	} {
		moved := *m
		moved.jump(by)
		next, jump, changed := first.Look(clock.At(&moved))
		if changed != (text != "") || (jump != nil) != changed || !changed && next != first {
			t.Errorf("%v: %+v, %v, %v", by, next, jump, changed)
			continue
		}
		if !changed {
			continue
		}
		least := min(first.Last, first.Last+by.Milliseconds())
		want := clock.Note{Boot: "b1", Last: first.Last + by.Milliseconds(), Least: least, Jump: jump}
		if diff := cmp.Diff(want, next); diff != "" || jump.String() != text || jump.By() != by ||
			jump.Since != (time.Hour+time.Minute).Milliseconds() {
			t.Errorf("%v: %s, since %d\n%s", by, jump, jump.Since, diff)
		}
		if _, again, changed := next.Look(clock.At(&moved)); again != nil || changed {
			t.Errorf("%v: told twice", by)
		}
	}
	m.restart("b2")
	if next, jump, changed := first.Look(clock.At(m)); jump != nil || !changed || next.Boot != "b2" {
		t.Errorf("another boot: %+v, %v", next, jump)
	}
	m.restart("")
	if next, jump, changed := first.Look(clock.At(m)); jump != nil || changed || next != first {
		t.Errorf("no boot clock: %+v, %v", next, jump)
	}
}

// By calm time nothing is older than it really is, whatever is done to the wall clock in a
// boot, as long as one look falls between two jumps. Without a jump calm time is wall time.
func TestCalmTimeMakesNothingOld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{wall: t0, boot: "b1", since: time.Hour}
		var n clock.Note
		var made []time.Time
		var ages []time.Duration
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			n, _, _ = n.Look(clock.At(m))
			made, ages = append(made, n.Calm(clock.At(m)), m.wall), append(ages, 0, 0)
			d := time.Duration(rapid.Int64Range(0, 1000).Draw(t, "hours")) * time.Hour
			m.sleep(d)
			for i := range ages {
				ages[i] += d
			}
			m.jump(time.Duration(rapid.Int64Range(-20000, 20000).Draw(t, "jump")) * time.Hour)
			calm := n.Calm(clock.At(m))
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
	n, _, _ := clock.Note{}.Look(clock.At(m))
	m.sleep(year)
	if got := n.Calm(clock.At(m)); !got.Equal(m.wall) {
		t.Errorf("without a jump: %v, want %v", got, m.wall)
	}
	m.jump(time.Minute)
	if got := n.Calm(clock.At(m)); !got.Equal(m.wall.Add(-time.Minute)) {
		t.Errorf("a minute ahead: %v", got)
	}
	for _, boot := range []string{"", "b2"} {
		if m.boot = boot; !n.Calm(clock.At(m)).Equal(m.wall) {
			t.Errorf("boot %q: %v", boot, n.Calm(clock.At(m)))
		}
	}
}

func TestNoteIsDecodedStrictly(t *testing.T) {
	m := &machine{wall: t0, boot: "b1", since: time.Hour}
	n, _, _ := clock.Note{}.Look(clock.At(m))
	m.jump(-year)
	n, _, _ = n.Look(clock.At(m))
	b, err := n.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := clock.DecodeNote(b); err != nil || cmp.Diff(n, back) != "" {
		t.Errorf("%+v, %v", back, err)
	}
	if back, err := clock.DecodeNote(nil); err != nil || back != (clock.Note{}) {
		t.Errorf("nothing: %+v, %v", back, err)
	}
	for _, bad := range []string{
		"x", "{}", `{"boot":"b","last_ms":1,"least_ms":2}`, `{"boot":"","last_ms":1,"least_ms":1}`,
		`{"boot":"b","last_ms":1,"least_ms":1,"more":1}`,
		`{"boot":"b","boot":"b","last_ms":1,"least_ms":1}`, `{"boot":"b","last_ms":"1","least_ms":1}`,
		`{"boot":"` + strings.Repeat("b", 4<<10) + `","last_ms":1,"least_ms":1}`,
	} {
		if got, err := clock.DecodeNote([]byte(bad)); err == nil || got != (clock.Note{}) {
			t.Errorf("%.60s: %+v, %v", bad, got, err)
		}
	}
}

func FuzzDecodeNote(f *testing.F) {
	f.Add([]byte(
		`{"boot":"b","last_ms":1,"least_ms":1,"jump":{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:05Z","since_ms":4}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		n, err := clock.DecodeNote(src)
		if err != nil {
			return
		}
		at := clock.Instant{Wall: t0, Boot: "b", Since: time.Hour}
		next, _, _ := n.Look(at)
		if next.Boot == "b" && next.Calm(at).After(at.Wall) {
			t.Errorf("calm time is ahead: %+v", next)
		}
	})
}
