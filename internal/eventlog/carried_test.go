package eventlog_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// latchBatch latches or clears a session, as the kernel does.
func latchBatch(n int, session string, hold bool) kernel.Batch {
	k := wire.Session{Runtime: "r", Session: session}
	e := phases.Event{ID: "latch-" + strconv.Itoa(n), Type: phases.EventLatch, Time: t0, Runtime: "r", Session: session,
		Decision: "cleared"}
	b := kernel.Batch{Now: t0, ClearLatch: &k}
	if hold {
		e.Decision, e.Reason, e.Kind, e.DecidedBy, e.Invocation = kernel.DecisionLatched, "too late", phases.KindPolicy,
			"guard", "i-1"
		b.ClearLatch, b.Latch = nil,
			&kernel.Latch{Runtime: k.Runtime, Session: k.Session, Reason: "too late", Kind: phases.KindPolicy,
				DecidedBy: "guard", Invocation: "i-1",
				Since: t0}
	}
	b.Events = []phases.Event{e}
	return b
}

// The statement of a compaction carries what restricts: the latches can be told from the log
// alone, before it, after it, and after what came later.
func TestCompactionCarriesWhatRestricts(t *testing.T) {
	s, k := memory.New(), newKey(t, 1)
	same := func(when string) {
		t.Helper()
		want, err := s.Latches(t.Context())
		got, err2 := eventlog.Latches(t.Context(), s, k.Verifier())
		if err := errors.Join(err, err2); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s the log says otherwise (-rows +log):\n%s", when, diff)
		}
	}
	commit := func(b kernel.Batch) {
		t.Helper()
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for n, session := range []string{"a", "b", "c"} {
		commit(latchBatch(n, session, true))
	}
	commit(latchBatch(3, "b", false))
	same("before a compaction")
	statement, err := eventlog.Announce(t.Context(), s, k, 4, "dev", "old", t0)
	if err != nil {
		t.Fatal(err)
	}
	open, err := eventlog.OpenStatement(statement, k.Verifier())
	if err != nil || open.Carried == nil || open.Carried.Seq != 4 || len(open.Carried.Latches) != 2 {
		t.Fatalf("%+v, %v", open.Carried, err)
	}
	if err := announce(t, s, k, 4, "compaction"); err != nil {
		t.Fatal(err)
	}
	if _, err := eventlog.Remove(t.Context(), s, k.Verifier()); err != nil {
		t.Fatal(err)
	}
	same("after a compaction")
	commit(latchBatch(5, "a", false))
	commit(latchBatch(6, "d", true))
	same("later")
	if r, err := eventlog.Verify(t.Context(), s, eventlog.Evidence{Verifier: k.Verifier()}); err != nil ||
		r.Wrong != nil || r.Restrictions == "" {
		t.Errorf("%+v %+v, %v", r, r.Wrong, err)
	}
}

// What the rows say otherwise than the newest event is wrong, and so is a second adoption.
func TestVerifyComparesWhatRestricts(t *testing.T) {
	k := newKey(t, 1)
	l, _ := build(t, 6, k)
	l.rows = kernel.Restrictions{Seq: 6, Recorded: "sha256:" + strings.Repeat("0", 64),
		Tampered: &kernel.Tampered{Seq: 6, Tables: []string{"latches"}}}
	r, err := eventlog.Verify(t.Context(), l, eventlog.Evidence{Verifier: k.Verifier()})
	if err != nil || r.Wrong == nil || !strings.Contains(r.Wrong.Text, "latches") {
		t.Errorf("%+v, %v", r.Wrong, err)
	}
	s := memory.New()
	for i, output := range []string{"", `{"after":1}`} {
		e := phases.Event{ID: strconv.Itoa(i), Type: phases.EventNotice, Time: t0}
		if output != "" {
			e.Decision, e.Output = kernel.DecisionAdopted, []byte(output)
		}
		if _, err := s.Commit(t.Context(), kernel.Batch{Now: t0, Events: []phases.Event{e}}); err != nil {
			t.Fatal(err)
		}
	}
	r, err = eventlog.Verify(t.Context(), s, eventlog.Evidence{Verifier: k.Verifier()})
	if err != nil || r.Wrong == nil || !strings.Contains(r.Wrong.Text, "adopts what restricts") {
		t.Errorf("%+v, %v", r.Wrong, err)
	}
}
