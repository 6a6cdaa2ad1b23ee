package server

import (
	"context"
	"sync/atomic"
	"time"
)

// gate bounds how many invocations are decided at once and how many may wait for
// their turn. Whoever finds the queue full, or waits too long, is turned away:
// a caller that is told no at once is better off than one that times out.
// Safe for concurrent use.
type gate struct {
	slots    chan struct{}
	queue    int64 // how many may wait
	patience time.Duration

	waiting, decided, refused atomic.Int64
}

func newGate(running, queue int, patience time.Duration) *gate {
	return &gate{slots: make(chan struct{}, running), queue: int64(queue), patience: patience}
}

// enter waits for a turn. Without ok there is none, and leave is nil.
func (g *gate) enter(ctx context.Context) (leave func(), ok bool) {
	leave = func() { <-g.slots; g.decided.Add(1) }
	select {
	case g.slots <- struct{}{}:
		return leave, true
	default:
	}
	if g.waiting.Add(1) > g.queue {
		g.waiting.Add(-1)
		g.refused.Add(1)
		return nil, false
	}
	defer g.waiting.Add(-1)
	timer := time.NewTimer(g.patience)
	defer timer.Stop()
	select {
	case g.slots <- struct{}{}:
		return leave, true
	case <-timer.C:
	case <-ctx.Done():
	}
	g.refused.Add(1)
	return nil, false
}
