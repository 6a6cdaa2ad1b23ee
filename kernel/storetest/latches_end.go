package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// latchEnds: a latch that ends harder takes the place of one that ends more easily, never
// the other way round, and only the latch of the invocation that ends by itself is ended so.
func latchEnds(t *testing.T, store kernel.Store) {
	session := wire.Session{Runtime: "r", Session: "s"}
	latch := func(invocation string, ends phases.LatchEnd) kernel.Latch {
		return kernel.Latch{Runtime: session.Runtime, Session: session.Session, Reason: "why " + invocation,
			Kind:       phases.KindStore,
			Invocation: invocation,
			Since:      T0,
			ID:         "id " + invocation, Cause: phases.LatchStore, Event: "event " + invocation, Ends: ends}
	}
	now := func() kernel.Latch {
		t.Helper()
		l, err := store.Latch(t.Context(), session)
		if err != nil || l == nil {
			t.Fatalf("Latch: %v, %v", l, err)
		}
		return *l
	}
	set := func(l, want kernel.Latch) {
		t.Helper()
		commit(t, store, kernel.Batch{Latch: &l})
		if diff := cmp.Diff(want, now()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	lifting := func(invocation string) kernel.Batch {
		return kernel.Batch{ClearLatch: &session, ClearOf: invocation}
	}
	easy, judged, later, hard := latch("1", phases.EndsWithCause), latch("2", phases.EndsByJudging),
		latch("3", phases.EndsByJudging), latch("4", phases.EndsByPerson)
	set(easy, easy)
	set(latch("5", phases.EndsWithCause), easy)
	set(judged, judged)
	set(latch("6", phases.EndsWithCause), judged)
	set(later, later) // events are judged in their order
	wantConflict(t, store, lifting("2"))
	set(hard, hard)
	set(later, hard)
	set(latch("7", phases.EndsByPerson), hard)
	wantConflict(t, store, lifting("4"))
	wantConflict(t, store, lifting("3"))
	if diff := cmp.Diff(hard, now()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	commit(t, store, kernel.Batch{ClearLatch: &session})
	set(easy, easy)
	wantConflict(t, store, lifting("x"))
	commit(t, store, lifting("1"))
	wantConflict(t, store, lifting("1"))
	if l, err := store.Latch(t.Context(), session); err != nil || l != nil {
		t.Errorf("after its end: %+v, %v", l, err)
	}
	set(later, later)
	commit(t, store, lifting("3"))

	// A latch of a version that did not say what ends it takes a person.
	old := kernel.Latch{Runtime: session.Runtime, Session: session.Session, Reason: "old", Invocation: "8",
		Since: T0.Add(time.Hour)}
	set(old, old)
	set(easy, old)
	wantConflict(t, store, lifting("8"))
}

// latchUnnamed: a latch of what names no session holds that, and no session.
func latchUnnamed(t *testing.T, store kernel.Store) {
	none, one := wire.Session{Runtime: "r"}, wire.Session{Runtime: "r", Session: "s"}
	commit(t, store,
		kernel.Batch{Latch: &kernel.Latch{Runtime: none.Runtime, Session: none.Session, Reason: "why", Since: T0, ID: "i",
			Cause:   phases.LatchFailure,
			Unnamed: true}})
	if l, err := store.Latch(t.Context(), none); err != nil || l == nil || l.Scope() != "unnamed" {
		t.Errorf("what names none: %+v, %v", l, err)
	}
	if l, err := store.Latch(t.Context(), one); err != nil || l != nil {
		t.Errorf("a session: %+v, %v", l, err)
	}
	commit(t, store, kernel.Batch{Unlatched: &one})
	wantConflict(t, store, kernel.Batch{Unlatched: &none})
	if ls, err := store.Latches(t.Context()); err != nil || len(ls) != 1 {
		t.Errorf("Latches: %+v, %v", ls, err)
	}
	if _, err := store.Commit(t.Context(),
		kernel.Batch{ClearLatch: &one, Events: []phases.Event{event("x")}}); !errors.Is(err,
		kernel.ErrConflict) {
		t.Errorf("a session is cleared: %v", err)
	}
	commit(t, store, kernel.Batch{ClearLatch: &none})
}
