package eventlog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// standingLog returns a log of 12 events with latches in it: 1 to 3 are compacted, and 2 of them removed.
func standingLog(t *testing.T, k *eventlog.Key) kernel.Store {
	t.Helper()
	s := memory.New()
	commit(t, s, latching("1", "claude", "a", "first", t0))
	verdicts(t, s, 2)
	commit(t, s, latching("4", "claude", "b", "second", t0))
	if err := announce(t, s, k, 3, "gone"); err != nil { // event 5
		t.Fatal(err)
	}
	commit(t, s, latching("6", "codex", "c", "third", t0.Add(time.Hour)))
	commit(t, s, clearing("7", "claude", "b"))
	commit(t, s,
		kernel.Batch{Events: []phases.Event{{ID: "8", Type: phases.EventApproval, Time: t0, Decision: "denied",
			Output: []byte(`{"approval":"item-1"}`)}}})
	commit(t, s,
		kernel.Batch{Events: []phases.Event{{ID: "9", Type: phases.EventApproval, Time: t0, Decision: "approved",
			Output: []byte(`{"approval":"item-2"}`)}}})
	verdicts(t, s, 3)
	if _, err := s.LogRemove(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	return s
}

// What stands is what the rows say, where the log is whole.
func TestStandingOfASoundLog(t *testing.T) {
	k := newKey(t, 1)
	s := standingLog(t, k)
	rows, err := s.Latches(t.Context())
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	eachFailure(t, s, func(t *testing.T, f *faulty) {
		got, err := eventlog.ReadStanding(t.Context(), f, k.Verifier())
		if f.calls >= f.fails {
			if !errors.Is(err, eventlog.ErrLog) || !errors.Is(err, errDisk) || len(got.Latches) > 0 {
				t.Errorf("call %d fails: %+v, %v", f.fails, got, err)
			}
			return
		}
		want := eventlog.Standing{
			Latches: rows, Compacted: kernel.Compacted{Through: 3, Event: 5},
			Denied: []eventlog.Denial{{Approval: "item-1", At: t0}}, Newest: t0.Add(time.Hour),
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
	empty, err := eventlog.ReadStanding(t.Context(), memory.New(), k.Verifier())
	if diff := cmp.Diff(eventlog.Standing{}, empty); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Each change of the log gives a doubt, and an event that was changed neither latches nor clears.
func TestStandingOfALogInDoubt(t *testing.T) {
	k := newKey(t, 1)
	s := standingLog(t, k) // leaves of events 3 to 12
	clear6 := func(b []byte) []byte {
		var e phases.Event
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		e.Decision = "cleared"
		out, err := json.Marshal(&e, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, tc := range []struct {
		name    string
		harm    func(l *loose)
		doubt   string
		latches int
	}{
		{"an event changed", func(l *loose) {
			damaged(l, 3, func([]byte) []byte { return clear6(copyLog(t, s).leaves[3].Body) })
		}, "event 6 is not the one that was recorded", 1},
		{"an event that does not decode", func(l *loose) { damaged(l, 6) }, "event 9 is not the one that was recorded", 2},
		{"an event removed", func(l *loose) { l.leaves = append(l.leaves[:3:3], l.leaves[4:]...) },
			"events 6 to 6 are missing", 1},
		{"the newest removed", func(l *loose) { l.leaves = l.leaves[:len(l.leaves)-2] }, "events 11 to 12 are missing", 2},
		{"the oldest removed", func(l *loose) { cut(l, 2) }, "events 4 to 4 are missing", 2},
		{"the statement removed", func(l *loose) { cut(l, 3) }, "events 1 to 5 are missing", 1},
		{"the statement changed", func(l *loose) { damaged(l, 2) }, "event 5 is not the one that was recorded", 1},
		{"an event behind the tree", func(l *loose) {
			l.leaves = append(l.leaves, kernel.LogLeaf{Seq: 13, Body: []byte("{}")})
		}, "event 13 has no place in the tree", 2},
		{"the tree changed", func(l *loose) { l.tree[len(l.tree)-1][0] ^= 1 }, "the tree does not fit its leaves", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := copyLog(t, s)
			tc.harm(l)
			got, err := eventlog.ReadStanding(t.Context(), l, k.Verifier())
			if err != nil || !strings.Contains(strings.Join(got.Doubts, "\n"), tc.doubt) {
				t.Errorf("%q, %v", got.Doubts, err)
			}
			if len(got.Latches) != tc.latches {
				t.Errorf("latches: %+v", got.Latches)
			}
		})
	}
	t.Run("another key", func(t *testing.T) {
		got, err := eventlog.ReadStanding(t.Context(), s, newKey(t, 2).Verifier())
		if err != nil ||
			!strings.Contains(strings.Join(got.Doubts, "\n"), "event 5 announces a compaction that is not signed") {
			t.Errorf("%q, %v", got.Doubts, err)
		}
	})
	t.Run("one event more than are named", func(t *testing.T) {
		l := copyLog(t, s)
		for i := range 5 {
			damaged(l, i)
		}
		got, err := eventlog.ReadStanding(t.Context(), l, k.Verifier())
		if n := len(got.Doubts); err != nil || n < 6 || got.Doubts[n-1] != "and 1 more" {
			t.Errorf("%q, %v", got.Doubts, err)
		}
	})
	t.Run("all events changed", func(t *testing.T) {
		l := copyLog(t, s)
		for i := range l.leaves {
			damaged(l, i)
		}
		got, err := eventlog.ReadStanding(t.Context(), l, k.Verifier())
		if err != nil || len(got.Latches) > 0 || got.Doubts[len(got.Doubts)-1] != "and 6 more" {
			t.Errorf("%q, %v", got.Doubts, err)
		}
	})
}
