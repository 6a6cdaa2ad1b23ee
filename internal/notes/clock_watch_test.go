package notes_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/leases"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func moment(since, set time.Duration) leases.Instant {
	return leases.Instant{Wall: t0.Add(since + set), Boot: "b1", Since: since}
}

// A jump is recorded by the process that finds it first, and told by the others; also when
// none of them ran while the clock was set.
func TestJumpIsRecordedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.ClockName)
	a, b := notes.NewClockWatch(path), notes.NewClockWatch(path)
	for _, w := range []*notes.ClockWatch{a, b} {
		if news := w.Look(moment(time.Hour, 0)); news != (notes.ClockObservation{}) {
			t.Errorf("first look: %+v", news)
		}
	}
	if news := a.Look(moment(2*time.Hour, notes.MinClockJump-time.Millisecond)); news != (notes.ClockObservation{}) {
		t.Errorf("less than a jump: %+v", news)
	}
	first := a.Look(moment(2*time.Hour, time.Hour))
	if !first.Record || first.Err != nil ||
		!strings.HasPrefix(first.Text,
			"the clock jumped by +1h0m0s, from 2026-03-01T14:00:00Z to 2026-03-01T15:00:00Z; leases") {
		t.Errorf("first: %+v", first)
	}
	if news := b.Look(moment(2*time.Hour+time.Second, time.Hour)); news.Record || news.Text != first.Text {
		t.Errorf("second: %+v", news)
	}
	for _, w := range []*notes.ClockWatch{a, b, notes.NewClockWatch(path)} {
		if news := w.Look(moment(3*time.Hour, time.Hour)); news != (notes.ClockObservation{}) {
			t.Errorf("told again: %+v", news)
		}
		if got := w.Note(); got.Jump == nil || got.Jump.By() != time.Hour {
			t.Errorf("note %+v", got)
		}
	}
	// Nothing ran while the clock went back.
	if news := notes.NewClockWatch(path).Look(moment(4*time.Hour, -time.Hour)); !news.Record ||
		!strings.Contains(news.Text, "by -2h0m0s") {
		t.Errorf("found later: %+v", news)
	}
	// Another boot begins anew.
	if news := notes.NewClockWatch(path).Look(leases.Instant{Wall: t0, Boot: "b2"}); news != (notes.ClockObservation{}) {
		t.Errorf("another boot: %+v", news)
	}
}

func TestOneOfManyRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.ClockName)
	watches := make([]*notes.ClockWatch, 8)
	for i := range watches {
		watches[i] = notes.NewClockWatch(path)
		watches[i].Look(moment(time.Hour, 0))
	}
	var recorded atomic.Int64
	var wg sync.WaitGroup
	for _, w := range watches {
		wg.Go(func() {
			for range 3 {
				if news := w.Look(moment(2*time.Hour, time.Hour)); news.Record {
					recorded.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if recorded.Load() != 1 {
		t.Errorf("recorded %d times", recorded.Load())
	}
}

// A note that cannot be read is made anew, and that is recorded; it makes nothing old.
func TestDamagedNote(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.ClockName)
	if err := os.WriteFile(path, []byte(`{"boot":"b1","last_ms":1,"least_ms":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := notes.NewClockWatch(path)
	if news := w.Look(moment(time.Hour, 0)); !news.Record || !strings.Contains(news.Text, "damaged") || news.Err != nil {
		t.Errorf("%+v", news)
	}
	if news := notes.NewClockWatch(path).Look(moment(time.Hour, 0)); news != (notes.ClockObservation{}) {
		t.Errorf("again: %+v", news)
	}
	// A process that knows better puts that down.
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if news := w.Look(moment(2*time.Hour, time.Hour)); !news.Record || !strings.Contains(news.Text, "by +1h0m0s") {
		t.Errorf("%+v", news)
	}
	if calm, ok := notes.NewClockWatch(path).Calm(moment(2*time.Hour, time.Hour)); ok {
		t.Errorf("before the first look it is %v", calm)
	}
	if calm, ok := w.Calm(moment(2*time.Hour, time.Hour)); !ok || !calm.Equal(t0.Add(2*time.Hour)) {
		t.Errorf("calm time %v, %v", calm, ok)
	}
}

// Where the file cannot be written the process uses its own observations.
func TestNoteWithoutFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", filepath.Join(dir, "missing", notes.ClockName), filepath.Join(dir, "taken")} {
		w := notes.NewClockWatch(path)
		if news := w.Look(moment(time.Hour, 0)); news.Text != "" || news.Record || (news.Err != nil) != (path != "") {
			t.Errorf("%q: %+v", path, news)
		}
		if news := w.Look(moment(2*time.Hour, -time.Hour)); !strings.Contains(news.Text, "by -1h0m0s") || !news.Record {
			t.Errorf("%q: %+v", path, news)
		}
		if news := w.Look(moment(2*time.Hour, -time.Hour)); news != (notes.ClockObservation{}) {
			t.Errorf("%q: %+v", path, news)
		}
	}
	w := notes.NewClockWatch("")
	none := leases.Instant{Wall: t0}
	if news := w.Look(none); news != (notes.ClockObservation{}) {
		t.Errorf("without a boot clock: %+v", news)
	}
	if calm, ok := w.Calm(none); !ok || !calm.Equal(t0) {
		t.Errorf("without a boot clock: %v, %v", calm, ok)
	}
}
