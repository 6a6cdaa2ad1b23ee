package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// The note of an eval that has to end says why, and of which phases the event is, so that
// its session is free in the next process if no hook would have judged it. There is one.
func TestLateNoteSaysItsCause(t *testing.T) {
	for name, c := range map[string]struct {
		payload string
		why     phases.LatchKind
		phases  []phases.Phase
	}{
		"a payload": {`{"session_id":"s-1","transcript_path":"/t","cwd":"/","hook_event_name":"SessionStart","source":"startup"}`, phases.LatchDeadline, []phases.Phase{phases.PrePlan}},
		"one that is no such": {`{"session_id":"s-1","hook_event_name":"SessionStart","a":1,"a":2}`, phases.LatchPayload,
			nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
				t.Fatal(err)
			}
			a := &App{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return dir }, word: new(hookcmd.LastWord)}
			l := &lateCall{app: a, ad: claudecode.New(), args: []string{"--state", dir}, out: io.Discard}
			l.seen.Store(&runtimeCall{payload: []byte(c.payload)})
			l.answer()
			l.answer() // as work does that ends after all
			left, _ := notes.Read(filepath.Join(dir, notes.SpoolName))
			if len(left) != 1 || !left[0].Unblockable || left[0].Session != "s-1" || left[0].Cause != c.why ||
				!slices.Equal(left[0].Phases, c.phases) {
				t.Errorf("%+v", left)
			}
		})
	}
}
