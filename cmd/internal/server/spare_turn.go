package server

import (
	"context"
	"sync"
	"time"
)

// spareTime is how long one question keeps its turn, in all, while its caller is waited for. Most callers tell of all
// their files sooner. Those who take longer would keep the turn from other users, and need no processor meanwhile.
const spareTime = 50 * time.Millisecond

// spareTurn is the turn of one question, which others have while its caller is waited for. Safe for concurrent use.
type spareTurn struct {
	share *Share // nil: there are no others

	mu      sync.Mutex
	has     bool
	resting bool
	over    bool          // left for good
	waited  time.Duration // for the caller
}

// begin notes that the turn was taken, and lets the looker of the question spare it.
func (t *spareTurn) begin(ctx context.Context) {
	t.has = t.share != nil
	if l, ok := ctx.Value(lookerKey{}).(*looker); ok {
		l.mu.Lock()
		l.turn = t
		l.mu.Unlock()
	}
}

// rest begins to wait for the caller. That has ended when back is called, which waits for a turn until ctx ends.
// Without one the question goes on: it is at its end.
func (t *spareTurn) rest() (back func(ctx context.Context)) {
	if t == nil || t.share == nil {
		return func(context.Context) {}
	}
	t.mu.Lock()
	t.resting = true
	left := spareTime - t.waited
	t.mu.Unlock()
	began, timer := time.Now(), time.AfterFunc(max(0, left), t.give)
	return func(ctx context.Context) {
		timer.Stop()
		t.mu.Lock()
		t.resting = false
		t.waited += time.Since(began)
		waits := !t.has && !t.over
		t.mu.Unlock()
		if waits && t.share.enter(ctx) {
			t.got()
		}
	}
}

func (t *spareTurn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has && t.resting {
		t.has = false
		t.share.leave()
	}
}

func (t *spareTurn) got() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has = !t.over; t.over {
		t.share.leave()
	}
}

// leave gives the turn back for good, if the question has it.
func (t *spareTurn) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.has {
		t.has = false
		t.share.leave()
	}
}
