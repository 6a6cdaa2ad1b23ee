package server

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// While the store is away, those whose commit is in doubt keep their turns. The others are refused at once, whether
// they wait already or come later, and not when their patience ends.
func TestNoTurnIsWaitedForWhileTheStoreIsAway(t *testing.T) {
	away := make(chan struct{})
	g := newGate(1, 8, time.Minute)
	g.away = func() <-chan struct{} { return away }
	leave, no := g.enter(t.Context(), 1)
	if no != nil {
		t.Fatal("the first has no turn")
	}
	waited := make(chan *phases.Fault, 1)
	enter := func() { _, no := g.enter(t.Context(), 1); waited <- no }
	refused := func(what string) {
		t.Helper()
		select {
		case no := <-waited:
			if no == nil || no.Kind != phases.KindStore || no.Text != "the store cannot be reached" {
				t.Errorf("%s: %+v", what, no)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s waits", what)
		}
	}
	go enter()
	select {
	case no := <-waited:
		t.Fatalf("it does not wait: %v", no)
	case <-time.After(20 * time.Millisecond):
	}
	close(away)
	refused("one that waits")
	go enter()
	refused("one that comes later")
	leave()
	if leave, no = g.enter(t.Context(), 1); no != nil { // a turn that is free is had: the store says what is wrong
		t.Fatal("a free turn is refused")
	}
	leave()
	if n := g.refused.Load(); n != 0 {
		t.Errorf("%d are counted as refused in an overload", n)
	}
}

// The turns that the users of a machine share are not waited for either, while the store is away: not by an action, not
// by its refusal, and not by who asks how things stand.
func TestNoSharedTurnIsWaitedForWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, away := NewTurns(1), make(chan struct{})
		s := &Server{errands: make(chan struct{}, mostErrands), gate: newGate(8, 8, 5*time.Second)}
		g := s.gate
		g.among(turns.Share())
		g.away = func() <-chan struct{} { return away }
		var leave []func()
		for range 2 { // the user's own turn, and the one in common
			l, no := g.enter(t.Context(), 1)
			if no != nil {
				t.Fatal(no)
			}
			leave = append(leave, l)
		}
		ctx, cancel := context.WithTimeout(t.Context(), decideTime)
		defer cancel()
		began := time.Now()
		all := func(meanwhile func()) {
			var callers sync.WaitGroup
			callers.Go(func() {
				if _, no := g.enter(ctx, 1); no == nil || no.Kind != phases.KindStore {
					t.Errorf("an action: %v", no)
				}
			})
			callers.Go(func() { g.enterRefusal(ctx)() })
			callers.Go(func() {
				e := &errand{s: s}
				if err := e.take(ctx); err != nil {
					t.Errorf("who asks how things stand: %v", err)
				}
				e.end()
			})
			synctest.Wait()
			meanwhile()
			callers.Wait()
		}
		all(func() { close(away) })
		all(func() {})
		if took := time.Since(began); took != 0 {
			t.Errorf("they wait for %v", took)
		}
		e := &errand{s: s}
		for _, l := range leave {
			l()
		}
		if err := e.take(ctx); err != nil || g.share.running != 1 {
			t.Errorf("who finds a turn that is free does not take it: %v", err)
		}
		e.end()
		if turns.free != 1 || g.share.running != 0 || len(turns.waiting) != 0 || len(s.errands) != 0 || len(g.refusing) != 0 {
			t.Error("turns are lost")
		}
	})
}
