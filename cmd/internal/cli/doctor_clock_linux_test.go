package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/leases"
)

// clockStood makes the state directory remember that the wall clock of this boot stood
// elsewhere: the next process that looks sees a jump from there, and the real clock stays.
func clockStood(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	at := leases.At(leases.SystemClock{})
	at.Wall = at.Wall.Add(by)
	n, _, _ := notes.ClockNote{}.Look(at)
	b, err := n.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, notes.ClockName), b, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// doctor is yellow after a jump, in words; the log says it once.
func TestDoctorSaysThatTheClockJumped(t *testing.T) {
	dir := shortDir(t)
	initState(t, dir)
	home := process{dir: dir}
	if out, _ := home.belay(t, "doctor"); strings.Contains(out, "clock jumped") {
		t.Fatalf("without a jump:\n%s", out)
	}
	clockStood(t, dir, -time.Hour)
	for range 2 {
		out, code := home.belay(t, "doctor")
		if !strings.Contains(out, "the clock jumped by +1h0m0s, from ") || !strings.Contains(out, "none ran out early") {
			t.Errorf("%d\n%s", code, out)
		}
	}
	out, code := home.belay(t, "events", "query", "--type", "notice", "--json")
	if code != 0 || strings.Count(out, "the clock jumped by +1h0m0s") != 1 {
		t.Errorf("%d\n%s", code, out)
	}
}
