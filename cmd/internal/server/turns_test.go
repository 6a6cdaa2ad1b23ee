package server

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A user who takes all turns keeps no other one waiting: who has none running gets one at once.
func TestAnIdleUserHasATurnAtOnce(t *testing.T) {
	turns := NewTurns(2)
	a, b := turns.Share(), turns.Share()
	now, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 { // its own one, and two in common
		if !a.enter(t.Context()) {
			t.Fatal("no turn")
		}
	}
	if a.enter(now) {
		t.Error("a fourth turn")
	}
	if !b.enter(now) {
		t.Error("the other user has to wait")
	}
	if b.enter(now) {
		t.Error("a second turn while all in common are taken")
	}
	a.leave()
	if !b.enter(now) {
		t.Error("no turn, though one was given back")
	}
}

// Questions that wait have their turns by users in turn, not by who asked first and most.
func TestTurnsGoRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		a, b := turns.Share(), turns.Share()
		for range 2 {
			a.enter(t.Context())
		}
		b.enter(t.Context())
		var mu sync.Mutex
		order := ""
		ask := func(s *Share, name string) {
			go func() {
				s.enter(t.Context())
				mu.Lock()
				order += name
				mu.Unlock()
				s.leave()
			}()
			synctest.Wait()
		}
		for range 3 {
			ask(a, "a")
		}
		for range 3 {
			ask(b, "b")
		}
		a.leave() // the turn in common, which goes round from here on
		synctest.Wait()
		if order != "ababab" {
			t.Errorf("%s", order)
		}
	})
}

// However turns are taken, waited for, let go and given back: no more than the common ones and one for each user run at
// once, none is lost, and each one that waits has its turn in the end.
func TestTurnsAreCounted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		common, users := rapid.IntRange(0, 3).Draw(rt, "common"), rapid.IntRange(1, 4).Draw(rt, "users")
		turns := NewTurns(common)
		var running, most atomic.Int64
		var all sync.WaitGroup
		for range users {
			share := turns.Share()
			for range rapid.IntRange(1, 6).Draw(rt, "questions") {
				impatient := rapid.Bool().Draw(rt, "impatient")
				all.Go(func() {
					ctx := context.Background()
					if impatient {
						c, cancel := context.WithCancel(ctx)
						cancel()
						ctx = c
					}
					if !share.enter(ctx) {
						return
					}
					n := running.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					running.Add(-1)
					share.leave()
				})
			}
		}
		all.Wait()
		if most.Load() > int64(common+users) {
			rt.Fatalf("%d at once, of %d common turns and %d users", most.Load(), common, users)
		}
		if turns.free != common || len(turns.waiting) != 0 {
			rt.Fatalf("%d of %d common turns are back, %d users wait", turns.free, common, len(turns.waiting))
		}
	})
}

// A question whose caller tells of files slowly has its turn taken by others after a while, and gets one again. However
// it ends, no turn is lost.
func TestWhoWaitsForACallerSparesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		a, b := turns.Share(), turns.Share()
		now, cancel := context.WithCancel(t.Context())
		cancel()
		l := &looker{}
		ctx := context.WithValue(t.Context(), lookerKey{}, l)
		slow := &spareTurn{share: a}
		for _, s := range []*Share{a, a, b} { // a has its own turn and the common one
			if !s.enter(ctx) {
				t.Fatal("no turn")
			}
		}
		slow.begin(ctx)
		back := l.turn.rest()
		if synctest.Wait(); b.enter(now) {
			t.Error("a turn is spared at once")
		}
		back(ctx)
		for range 3 {
			back = slow.rest()
			time.Sleep(spareTime)
			if synctest.Wait(); !b.enter(now) {
				t.Fatal("a caller who is slow keeps the turn")
			}
			b.leave()
			if back(ctx); b.enter(now) {
				t.Error("two have one turn")
			}
		}
		back = slow.rest()
		if synctest.Wait(); !b.enter(now) {
			t.Error("a caller who was slow keeps the turn")
		}
		back(now) // none is free, and the question ends
		slow.leave()
		slow.leave()
		a.leave()
		b.leave()
		b.leave()
		if turns.free != 1 || a.running != 0 || b.running != 0 || a.common != 0 || b.common != 0 {
			t.Errorf("turns are lost: %d, %+v, %+v", turns.free, a, b)
		}
	})
}
