package kernel

import (
	"context"
	"testing"
	"time"
)

// One goes first after the other, others wait for the one that does, and none
// longer than a claim lasts.
func TestClaimsRunOut(t *testing.T) {
	var s claims
	ctx := t.Context()
	first := s.stake(ctx)
	next := make(chan *claim)
	go func() { next <- s.stake(ctx) }()
	from := time.Now()
	s.yield(ctx, first) // it does not wait
	if took := time.Since(from); took >= claimLength/2 {
		t.Errorf("it waited %v for itself", took)
	}
	s.yield(ctx, nil) // first gives nothing up: its claim runs out
	if took := time.Since(from); took < claimLength/2 || took > 20*claimLength {
		t.Errorf("others waited %v", took)
	}
	second := <-next
	s.end(first) // over already: it takes nothing from the second
	waited := make(chan struct{})
	go func() { s.yield(ctx, first); close(waited) }()
	select {
	case <-waited:
		t.Error("the second is not waited for")
	case <-time.After(20 * time.Millisecond):
	}
	s.end(second)
	<-waited
	s.end(nil)
	s.yield(ctx, nil) // none goes first

	held := s.stake(ctx)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	s.end(s.stake(gone)) // who gives up while it waits leaves the line
	s.yield(gone, nil)
	s.end(held)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first != nil || len(s.line) != 0 {
		t.Errorf("left over: %+v", s.line)
	}
}
