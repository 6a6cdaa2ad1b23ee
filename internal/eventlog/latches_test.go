package eventlog_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
)

// sameLatches fails the test unless the events say of latches what the rows say.
func sameLatches(t *testing.T, s kernel.Store, log kernel.Log, k *eventlog.Key, want int) {
	t.Helper()
	rows, err := s.Latches(context.Background())
	if err != nil || len(rows) != want {
		t.Fatalf("%d rows, want %d: %v", len(rows), want, err)
	}
	got, err := eventlog.Latches(context.Background(), log, k.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("latches (-rows +events):\n%s", diff)
	}
}

// The events alone say which sessions are latched, since when and why, before a compaction and after it.
func TestLatchesAreMadeAgainFromEvents(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	later := t0.Add(time.Hour)
	for i, b := range []kernel.Batch{
		latching("1", "claude", "b", "first", later),
		latching("2", "claude", "b", "second", later.Add(time.Hour)), // the first reason stays
		latching("3", "codex", "a", "same time", later),
		latching("4", "claude", "a", "same time", later),
		latching("5", "codex", "z", "older", t0),
		latching("6", "codex", "gone", "cleared", t0),
		clearing("7", "codex", "gone"),
		latching("8", "codex", "again", "cleared", t0),
		clearing("9", "codex", "again"),
		latching("10", "codex", "again", "again", later.Add(2*time.Hour)),
	} {
		commit(t, s, b)
		if i == 0 {
			verdicts(t, s, 300) // the rest is not on the first page
		}
	}
	sameLatches(t, s, s, k, 5)

	if err := announce(t, s, k, 302, "gone"); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"announced", "half removed", "removed"} {
		sameLatches(t, s, s, k, 5)
		if _, err := s.LogRemove(t.Context(), 151); err != nil {
			t.Fatal(when, err)
		}
	}
	commit(t, s, clearing("11", "claude", "b"))
	commit(t, s, latching("12", "claude", "new", "after", t0))
	sameLatches(t, s, s, k, 5)
	if err := announce(t, s, k, 311, "gone again"); err != nil {
		t.Fatal(err)
	}
	if _, err := eventlog.Remove(t.Context(), s, k.Verifier()); err != nil {
		t.Fatal(err)
	}
	commit(t, s, clearing("13", "codex", "z"))
	sameLatches(t, s, s, k, 4)
}

// Where events were compacted, only a statement that says which sessions were latched stands for them.
func TestLatchesOfEventsThatAreGone(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	commit(t, s, latching("1", "claude", "a", "why", t0))
	verdicts(t, s, 4)
	if err := announce(t, s, k, 3, "gone"); err != nil { // event 6, what restricts after event 5
		t.Fatal(err)
	}
	verdicts(t, s, 2)
	for _, tc := range []struct {
		name  string
		log   *loose
		class error
		place string
	}{
		{"as far as the statement says", cut(copyLog(t, s), 5), nil, ""},
		{"with the statement", cut(copyLog(t, s), 6), eventlog.ErrCompacted,
			"events 1 to 6 were compacted without saying which sessions were latched"},
		{"the first", &loose{leaves: copyLog(t, s).leaves[1:2]}, eventlog.ErrCompacted, "events 1 to 1 were compacted"},
		{"an event that does not decode", damaged(copyLog(t, s), 3), eventlog.ErrLog, "event 4 does not decode"},
		{"a statement that does not hold", damaged(copyLog(t, s), 5, func(b []byte) []byte {
			return []byte(`{"seq":6,"type":"compaction","output":{"through":3,"statement":"x"}}`)
		}), eventlog.ErrCheckpoint, "malformed note"},
	} {
		got, err := eventlog.Latches(t.Context(), tc.log, k.Verifier())
		if tc.class == nil {
			sameLatches(t, s, tc.log, k, 1)
			continue
		}
		refused(t, tc.name, err, tc.class, tc.place)
		if got != nil {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

// The newest statement counts, also where an older one was recorded behind it.
func TestLatchesOfTheNewestStatement(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	verdicts(t, s, 2)
	older, err := eventlog.Announce(t.Context(), s, k, 1, "me", "why", t0)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, latching("l", "claude", "a", "why", t0))
	newer, err := eventlog.Announce(t.Context(), s, k, 3, "me", "why", t0)
	if err != nil {
		t.Fatal(err)
	}
	l := copyLog(t, s)
	restrictions := recordedIn(t, s)
	l.announce(t, 3, newer, restrictions)
	l.announce(t, 1, older, restrictions)
	sameLatches(t, s, cut(l, 3), k, 1)
}

// cut removes the first events of a log.
func cut(l *loose, n int) *loose {
	l.leaves = l.leaves[n:]
	return l
}

// damaged changes the body of a leaf, to one that does not decode unless it is told otherwise.
func damaged(l *loose, at int, change ...func([]byte) []byte) *loose {
	l.leaves = slices.Clone(l.leaves)
	l.leaves[at].Body = []byte("{")
	for _, c := range change {
		l.leaves[at].Body = c(nil)
	}
	return l
}
