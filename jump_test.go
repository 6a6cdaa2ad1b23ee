package belay_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/phases"
)

// machine is the clocks of one machine: a test sets only the wall clock.
type machine struct {
	mu    sync.Mutex
	wall  time.Time
	boot  string
	since time.Duration
}

func (m *machine) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wall
}

func (m *machine) Boot() (string, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boot, m.since
}

func (m *machine) pass(d, set time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall, m.since = m.wall.Add(d+set), m.since+d
}

// jumpsIn returns what the log says of jumps.
func jumpsIn(t *testing.T, b *belay.Belay) (out []string) {
	t.Helper()
	list, err := b.Events(t.Context(), wire.Query{Type: phases.EventNotice})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Reason, "the clock jumped") {
			out = append(out, e.Reason)
		}
	}
	return out
}

// Two processes of one machine see the same jump, also when none ran meanwhile: one event.
// The question that one put waits for the other as long as it was said.
func TestJumpAcrossProcesses(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, by := range []time.Duration{year, -year} {
		dir := state(t,
			guarded+"  - name: push\n    module: builtin:ask-push\n    capabilities: [block, request_approval, shell_parse]\n")
		m := &machine{wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), boot: "b1", since: time.Hour}
		first := open(t, dir, belay.Options{Clock: m})
		asked := invoke(t, first, exec("git push"))
		if asked.Approval == nil || first.ClockWarning(t.Context()) != "" {
			t.Fatalf("%+v, warning %q", asked, first.ClockWarning(t.Context()))
		}
		m.pass(9*time.Minute, by)
		second := open(t, dir, belay.Options{Clock: m})
		for _, b := range []*belay.Belay{second, first} {
			if v := invoke(t, b, exec("git push")); v.Approval == nil || v.Approval.ID != asked.Approval.ID {
				t.Errorf("%v: the question is another one: %+v", by, v)
			}
			if w := b.ClockWarning(t.Context()); !strings.HasPrefix(w, "the clock jumped by ") ||
				!strings.Contains(w, "none ran out early") {
				t.Errorf("%v: warning %q", by, w)
			}
			if got := jumpsIn(t, b); len(got) != 1 {
				t.Errorf("%v: told %q, want it once", by, got)
			}
		}
		m.pass(time.Minute, 0)
		if v := invoke(t, second, exec("git push")); v.Approval == nil || v.Approval.ID == asked.Approval.ID {
			t.Errorf("%v: the question waits longer than it was said: %+v", by, v)
		}
		m.pass(24*time.Hour, 0)
		invoke(t, second, exec("ls"))
		wantLag := by > 0
		if w := second.ClockWarning(t.Context()); strings.Contains(w, "jumped") ||
			strings.Contains(w, "kept 8760h0m0s longer") != wantLag {
			t.Errorf("%v: a day later: %q", by, w)
		}
	}
}

// Retention goes by the days that passed in this boot, not by what the clock was set to.
func TestJumpAheadGivesUpNoEvents(t *testing.T) {
	dir := state(t, guarded+"events: {retention: {days: 30}}\n")
	m := &machine{wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), boot: "b1", since: time.Hour}
	b := open(t, dir, belay.Options{Clock: m})
	invoke(t, b, exec("ls"))
	const day = 24 * time.Hour
	m.pass(29*day, 365*day)
	invoke(t, b, exec("ls"))
	if r, err := statelog.Of(b.Log()).RetainNow(t.Context()); err != nil || r.Events != 0 {
		t.Errorf("after 29 days and a jump: %+v, %v", r, err)
	}
	m.pass(3*day, 0)
	if r, err := statelog.Of(b.Log()).RetainNow(t.Context()); err != nil || r.Events == 0 {
		t.Errorf("after 32 days: %+v, %v", r, err)
	}
}

// A directory of before has no note: it is begun, and that says nothing. One that is damaged
// is made anew, which is logged.
func TestNoteOfTheClock(t *testing.T) {
	dir := state(t, guarded)
	m := &machine{wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), boot: "b1", since: time.Hour}
	open(t, dir, belay.Options{Clock: m})
	note := filepath.Join(dir, "clock.json")
	if fi, err := os.Stat(note); err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", fi, err)
	}
	if err := os.WriteFile(note, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir, belay.Options{Clock: m})
	list, err := b.Events(t.Context(), wire.Query{Type: phases.EventNotice, Newest: true, Limit: 1})
	if err != nil || len(list) != 1 ||
		!strings.HasPrefix(list[0].Reason, "the note of the clock in clock.json was damaged") {
		t.Errorf("%+v, %v", list, err)
	}
	if w := open(t, dir, belay.Options{Clock: fixedClock(time.Now())}).ClockWarning(t.Context()); !strings.HasPrefix(w,
		"this host says no time since its boot") {
		t.Errorf("without a boot clock: %q", w)
	}
}
