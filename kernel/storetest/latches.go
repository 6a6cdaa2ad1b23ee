package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func latches(t *testing.T, store kernel.Store) {
	session := wire.Session{Runtime: "r", Session: "s"}
	l := kernel.Latch{Runtime: session.Runtime, Session: session.Session, Reason: "first", Kind: phases.KindTrap,
		DecidedBy:  "h",
		Invocation: "i",
		Since:      T0.Add(time.Hour)}
	commit(t, store, kernel.Batch{Latch: &l, Events: []phases.Event{event("a")}})
	second := l
	second.Reason = "second"
	commit(t, store, kernel.Batch{Latch: &second, Events: []phases.Event{event("b")}})
	got, err := store.Latch(t.Context(), session)
	if err != nil || got == nil {
		t.Fatalf("Latch: %v, %v", got, err)
	}
	if diff := cmp.Diff(l, *got); diff != "" {
		t.Errorf("the first latch did not stay (-want +got):\n%s", diff)
	}
	older := kernel.Latch{Runtime: "z", Session: "z", Since: T0}
	commit(t, store, kernel.Batch{Latch: &older})
	ls, err := store.Latches(t.Context())
	if err != nil || len(ls) != 2 || ls[0].Runtime != "z" {
		t.Errorf("Latches: %+v, %v, want the older one first", ls, err)
	}
	if other, err := store.Latch(t.Context(), wire.Session{Runtime: "r", Session: "other"}); err != nil || other != nil {
		t.Errorf("another session: %v, %v", other, err)
	}
	commit(t, store, kernel.Batch{ClearLatch: &session, Events: []phases.Event{event("c")}})
	wantConflict(t, store, kernel.Batch{ClearLatch: &session, Events: []phases.Event{event("d")}})
	if got, err = store.Latch(t.Context(), session); err != nil || got != nil {
		t.Errorf("after clearing: %v, %v", got, err)
	}
}

// latchOfRuntime: a latch without a session holds every session of its runtime.
func latchOfRuntime(t *testing.T, store kernel.Store) {
	all, one, other := wire.Session{Runtime: "r"}, wire.Session{Runtime: "r", Session: "s"},
		wire.Session{Runtime: "q", Session: "s"}
	commit(t, store,
		kernel.Batch{Latch: &kernel.Latch{Runtime: all.Runtime, Session: all.Session, Reason: "all", Since: T0}})
	reason := func(k wire.Session) string {
		t.Helper()
		l, err := store.Latch(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if l == nil {
			return ""
		}
		return l.Reason
	}
	if a, b, c := reason(all), reason(one), reason(other); a != "all" || b != "all" || c != "" {
		t.Errorf("held by %q, %q, and another runtime by %q", a, b, c)
	}
	wantConflict(t, store, kernel.Batch{Unlatched: &one, Events: []phases.Event{event("a")}})
	commit(t, store, kernel.Batch{Unlatched: &other, Events: []phases.Event{event("b")}})

	// One of its own comes first, and clearing either leaves the other.
	commit(t, store,
		kernel.Batch{Latch: &kernel.Latch{Runtime: one.Runtime, Session: one.Session, Reason: "one", Since: T0}})
	if got := reason(one); got != "one" {
		t.Errorf("a session with a latch of its own is held by %q", got)
	}
	commit(t, store, kernel.Batch{ClearLatch: &one})
	if got := reason(one); got != "all" {
		t.Errorf("after its own latch was cleared the session is held by %q", got)
	}
	wantConflict(t, store, kernel.Batch{ClearLatch: &one})
	commit(t, store, kernel.Batch{ClearLatch: &all})
	commit(t, store, kernel.Batch{Unlatched: &one, Events: []phases.Event{event("c")}})
}

func unlatched(t *testing.T, s kernel.Store) {
	k := wire.Session{Runtime: "r", Session: "s"}
	commit(t, s, kernel.Batch{Unlatched: &k, Events: []phases.Event{event("a")}})
	commit(t, s, kernel.Batch{Latch: &kernel.Latch{Runtime: k.Runtime, Session: k.Session, Since: T0}})
	wantConflict(t, s, kernel.Batch{Unlatched: &k, Events: []phases.Event{event("b")}})
}

func latchAlone(t *testing.T, s kernel.Store) {
	k := wire.Session{} // runtimes that name no session share one latch
	commit(t, s, kernel.Batch{Latch: &kernel.Latch{Runtime: k.Runtime, Session: k.Session, Reason: "r", Since: T0}})
	if l, err := s.Latch(t.Context(), k); err != nil || l == nil || l.Reason != "r" {
		t.Errorf("Latch: %v, %v", l, err)
	}
}
