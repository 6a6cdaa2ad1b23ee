package kernel

import (
	"context"
	"slices"
	"sync"
	"time"
)

// claimLength is how long others wait, at most, for one invocation that goes first.
const claimLength = time.Second

// claims keep invocations that run again, after what they had read was changed, from
// losing the race over and over: one after the other goes first, and all others
// commit after it. Hooks run meanwhile, and a claim runs out, so that no invocation
// waits for another one's hooks longer than that. Nothing rests on claims but
// fairness: the store finds every conflict. Safe for concurrent use.
type claims struct {
	mu    sync.Mutex
	first *claim
	line  []*claim // who goes first next
}

// claim is the wish of one invocation to go first.
type claim struct {
	granted chan struct{}
	over    chan struct{}
}

// stake waits until the invocation goes first, or ctx ends. The claim lasts until end
// or for claimLength.
func (s *claims) stake(ctx context.Context) *claim {
	c := &claim{granted: make(chan struct{}), over: make(chan struct{})}
	s.mu.Lock()
	s.line = append(s.line, c)
	s.next()
	s.mu.Unlock()
	select {
	case <-c.granted:
	case <-ctx.Done():
	}
	return c
}

// next grants the next claim where none is. The caller holds the lock.
func (s *claims) next() {
	if s.first != nil || len(s.line) == 0 {
		return
	}
	c := s.line[0]
	s.first, s.line = c, s.line[1:]
	close(c.granted)
	time.AfterFunc(claimLength, func() { s.end(c) })
}

// end gives a claim up; nil and a claim that is over change nothing.
func (s *claims) end(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == nil {
		return
	}
	if s.first == c {
		s.first = nil
		close(c.over)
	} else {
		s.line = slices.DeleteFunc(s.line, func(o *claim) bool { return o == c })
	}
	s.next()
}

// yield waits for who goes first now, unless that is mine, until its claim is over or
// ctx ends.
func (s *claims) yield(ctx context.Context, mine *claim) {
	s.mu.Lock()
	first := s.first
	s.mu.Unlock()
	if first == nil || first == mine {
		return
	}
	select {
	case <-first.over:
	case <-ctx.Done():
	}
}
