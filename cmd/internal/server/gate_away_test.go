package server

import (
	"testing"
	"time"
)

// While the store is away, those whose commit is in doubt keep their turns. The others are refused at once, whether
// they wait already or come later, and not when their patience ends.
func TestNoTurnIsWaitedForWhileTheStoreIsAway(t *testing.T) {
	away := make(chan struct{})
	g := newGate(1, 8, time.Minute)
	g.away = func() <-chan struct{} { return away }
	leave, ok := g.enter(t.Context(), 1)
	if !ok {
		t.Fatal("the first has no turn")
	}
	waited := make(chan bool, 1)
	enter := func() { _, ok := g.enter(t.Context(), 1); waited <- ok }
	refused := func(what string) {
		t.Helper()
		select {
		case ok := <-waited:
			if ok {
				t.Errorf("%s has a turn", what)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s waits", what)
		}
	}
	go enter()
	select {
	case ok := <-waited:
		t.Fatalf("it does not wait: %v", ok)
	case <-time.After(20 * time.Millisecond):
	}
	close(away)
	refused("one that waits")
	go enter()
	refused("one that comes later")
	leave()
	if leave, ok = g.enter(t.Context(), 1); !ok { // a turn that is free is had: the store says what is wrong
		t.Fatal("a free turn is refused")
	}
	leave()
}
