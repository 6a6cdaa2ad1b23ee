package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Of a user's large questions one is decided at a time, and small ones go on beside it. Without other users, as many as
// of any.
func TestOneLargeQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := newGate(4, 4, time.Second)
		shared := newGate(4, 4, time.Second)
		shared.among(NewTurns(4).Share())
		for name, g := range map[string]*gate{"alone": alone, "among others": shared} {
			leave, no := g.enter(t.Context(), smallBytes+1)
			if no != nil {
				t.Fatalf("%s: no turn", name)
			}
			if small, no := g.enter(t.Context(), smallBytes); no != nil {
				t.Errorf("%s: a small question waits for a large one", name)
			} else {
				small()
			}
			began := time.Now()
			second, no := g.enter(t.Context(), smallBytes+1)
			if waited := time.Since(began); (no == nil) != (g == alone) || (waited == time.Second) != (g == shared) {
				t.Errorf("%s: the second large question: %v after %v", name, no, waited)
			}
			if no == nil {
				second()
			}
			leave()
			if third, no := g.enter(t.Context(), smallBytes+1); no != nil {
				t.Errorf("%s: no turn behind the large question", name)
			} else {
				third()
			}
			if len(g.slots) != 0 || len(g.large) != 0 || g.waiting.Load() != 0 {
				t.Errorf("%s: places are lost", name)
			}
		}
	})
}

// Refusals are recorded as decisions are. Of one user's, one is at a time, in a turn; each is made in the end.
func TestRefusalsHaveTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		g := newGate(1, 0, time.Second)
		g.among(turns.Share())
		leave := g.enterRefusal(t.Context())
		if g.share.running != 1 {
			t.Error("a refusal takes no turn")
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			g.enterRefusal(t.Context())()
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("two refusals at once")
		default:
		}
		leave()
		<-done
		over, cancel := context.WithCancel(t.Context())
		cancel()
		leave = g.enterRefusal(t.Context())
		g.enterRefusal(over)() // at the daemon's end it waits for nothing
		leave()
		if turns.free != 1 || g.share.running != 0 || len(g.refusing) != 0 {
			t.Error("turns are lost")
		}
		newGate(1, 0, time.Second).enterRefusal(t.Context())()
	})
}

// Large bodies and answers of one user wait for a place; small ones do not.
func TestBytesOfAUserAreBounded(t *testing.T) {
	f := newInflight()
	all, err := f.hold(t.Context(), mostBytes)
	if err != nil {
		t.Fatal(err)
	}
	now, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := f.hold(now, smallBytes); err != nil {
		t.Errorf("a small body waits: %v", err)
	}
	if release, err := f.hold(now, smallBytes+1); err == nil {
		t.Error("a large body has a place when all are taken")
	} else {
		release()
	}
	all()
	all()
	if release, err := f.hold(t.Context(), 2*mostBytes); err != nil { // never more than all
		t.Errorf("no place: %v", err)
	} else {
		release()
	}
	var none *inflight
	if _, err := none.hold(now, mostBytes); err != nil {
		t.Error(err)
	}
}

// Errands of a user are worked on one by one, each in a turn, which is given back while the caller is waited for.
func TestErrandsHaveTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(8)
		s := &Server{errands: make(chan struct{}, mostErrands), inflight: newInflight(), gate: newGate(8, 8, time.Second)}
		s.gate.among(turns.Share())
		var all []*errand
		for range mostErrands {
			e := &errand{s: s}
			if err := e.take(t.Context()); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		if s.gate.share.running != mostErrands {
			t.Errorf("%d turns", s.gate.share.running)
		}
		over, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late := &errand{s: s}
		if late.take(over) == nil {
			t.Error("one more is worked on")
		}
		late.end()
		if err := all[0].hold(t.Context(), mostBytes); err != nil || s.gate.share.running != mostErrands-1 {
			t.Errorf("an answer that waits for its reader holds a turn: %v", err)
		}
		all[0].leave()
		if err := late.take(t.Context()); err != nil {
			t.Errorf("no place behind one that has left: %v", err)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := late.hold(soon, mostBytes); err == nil {
			t.Error("two large answers at once")
		}
		for _, e := range append(all, late) {
			e.end()
		}
		if turns.free != 8 || s.gate.share.running != 0 || len(s.errands) != 0 || !s.inflight.bytes.TryAcquire(mostBytes) {
			t.Error("places are lost")
		}
	})
}

// Who does not read lists has no further ones made. What is no list goes on meanwhile.
func TestUnreadAnswersHavePlaces(t *testing.T) {
	s := &Server{
		errands:  make(chan struct{}, mostErrands),
		unread:   make(chan struct{}, mostUnread),
		inflight: newInflight(),
		gate:     newGate(8, 8, time.Second),
	}
	var all []*errand
	for range mostUnread {
		e := &errand{s: s, list: true}
		if err := e.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.leave() // its answer is made
		all = append(all, e)
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	late := &errand{s: s, list: true}
	if late.take(soon) == nil {
		t.Error("one more list is made")
	}
	other := &errand{s: s}
	if err := other.take(t.Context()); err != nil {
		t.Errorf("what is no list: %v", err)
	}
	all[0].isRead()
	if err := late.take(t.Context()); err != nil {
		t.Errorf("behind one that was read: %v", err)
	}
	for _, e := range append(all, late, other) {
		e.end()
	}
	if len(s.unread) != 0 || len(s.errands) != 0 {
		t.Error("places are lost")
	}
}
