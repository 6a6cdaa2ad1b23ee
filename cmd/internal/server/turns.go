package server

import (
	"context"
	"slices"
	"sync"
)

// Turns shares one machine among the servers of its users. Each has a Share. A user of whom nothing is being decided
// has a turn at once, so that none waits because another one asks a lot. Further turns of a user are taken from a
// number that all have in common, by users in turn and not in the order of their questions. Safe for concurrent use.
type Turns struct {
	mu      sync.Mutex
	free    int      // turns that all have in common
	waiting []*Share // with a question that waits, the next one first
}

// NewTurns returns turns of which so many are in common.
func NewTurns(common int) *Turns { return &Turns{free: common} }

// Share is what one user has of Turns.
type Share struct {
	turns   *Turns
	running int             // of turns.mu, as the others
	common  int             // of the running ones: taken from what all have in common
	queue   []chan struct{} // closed when its turn has come
}

// Share returns the share of another user.
func (t *Turns) Share() *Share { return &Share{turns: t} }

// enter waits for a turn until ctx ends. Without ok there is none. Each turn is given back by leave.
func (s *Share) enter(ctx context.Context) (ok bool) { return s.enterUnless(ctx, nil) }

// enterUnless is enter, and waits only until away is closed. A turn that is free is taken in any case.
func (s *Share) enterUnless(ctx context.Context, away <-chan struct{}) (ok bool) {
	t := s.turns
	t.mu.Lock()
	if s.take() {
		t.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	s.queue = append(s.queue, turn)
	if len(s.queue) == 1 {
		t.waiting = append(t.waiting, s)
	}
	t.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-away:
	case <-ctx.Done():
	}
	t.mu.Lock()
	at := slices.Index(s.queue, turn)
	if at < 0 { // it came at the same time
		t.mu.Unlock()
		s.leave()
		return false
	}
	s.queue = slices.Delete(s.queue, at, at+1)
	if len(s.queue) == 0 {
		t.forget(s)
	}
	t.mu.Unlock()
	return false
}

// enterNow is enter without waiting.
func (s *Share) enterNow() bool {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	return s.take()
}

// take takes a turn if there is one for this user, before whom no other one waits. Preconditions: turns.mu is held.
func (s *Share) take() bool {
	switch {
	case s.running == 0:
	case s.turns.free > 0 && len(s.turns.waiting) == 0:
		s.turns.free--
		s.common++
	default:
		return false
	}
	s.running++
	return true
}

// leave gives a turn back.
func (s *Share) leave() {
	t := s.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	s.running--
	if s.common > s.running || s.common > 0 && s.running > 0 {
		s.common--
		t.free++
	}
	if s.running == 0 && len(s.queue) > 0 { // its own turn, which needs none of the common ones
		s.grant()
	}
	for t.free > 0 && len(t.waiting) > 0 {
		next := t.waiting[0]
		t.free--
		next.common++
		next.grant()
		if len(next.queue) > 0 {
			t.forget(next)
			t.waiting = append(t.waiting, next)
		}
	}
}

// grant gives the first question that waits its turn. Preconditions: turns.mu is held, and one waits.
func (s *Share) grant() {
	s.running++
	close(s.queue[0])
	s.queue = slices.Delete(s.queue, 0, 1)
	if len(s.queue) == 0 {
		s.turns.forget(s)
	}
}

// forget takes a user out of those who wait. Preconditions: t.mu is held.
func (t *Turns) forget(s *Share) {
	t.waiting = slices.DeleteFunc(t.waiting, func(other *Share) bool { return other == s })
}
