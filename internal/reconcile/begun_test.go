package reconcile_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/reconcile"
	"github.com/belay-hooks/belay/phases"
)

// The sessions of recorded runs are found in their logs, by the names that belay's events have, and no subagent is
// one of its own.
func TestSessionsOfLogs(t *testing.T) {
	for _, r := range runs() {
		t.Run(r.name, func(t *testing.T) {
			dir, m := r.copied(t), r.events(t)
			makeDatabase(t, dir, r.log)
			got, err := reconcile.Sessions(t.Context(), r.runtime, dir, time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC))
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			heard := slices.ContainsFunc(m.list, func(e phases.Event) bool {
				return e.Session == got[0].Session && e.Time.Sub(got[0].At).Abs() < time.Minute
			})
			if hooks := r.name != "codex-off"; heard != hooks { // the other one had hooks at first
				t.Errorf("heard of %v: %v", got[0], heard)
			}
			if got, err = reconcile.Sessions(t.Context(), r.runtime, dir, got[0].At.Add(time.Millisecond)); len(got) != 0 {
				t.Errorf("of later: %v, %v", got, err)
			}
		})
	}
}

// A log that is none leaves the sessions of the others, and is an error.
func TestSessionsOfLogsThatAreNone(t *testing.T) {
	r := runs()[2]
	dir := r.copied(t)
	write(t, filepath.Join(dir, "sessions/2026/11/24/rollout-2026-11-24T08-00-00-01a20c95-0000-7871-b351-90f3accb18b0.jsonl"),
		"{}\n")
	got, err := reconcile.Sessions(t.Context(), r.runtime, dir, time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC))
	if err == nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := reconcile.Sessions(t.Context(), "none", dir, time.Time{}); err == nil {
		t.Error("a runtime without logs")
	}
}
