package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// gate bounds how many invocations are decided at once and how many may wait
// for their turn. It refuses a caller that finds the queue full or waits too
// long: a refusal at once serves the caller better than a timeout. Safe for
// concurrent use.
type gate struct {
	slots    chan struct{}
	queue    int64 // how many may wait
	patience time.Duration
	share    *Share // of the turns that all users of a machine have; nil: this server has the processors for itself

	waiting, decided, refused atomic.Int64

	turnedAway atomic.Int64 // refusals that are recorded, and the end of their overload is not
}

func newGate(running, queue int, patience time.Duration) *gate {
	return &gate{slots: make(chan struct{}, running), queue: int64(queue), patience: patience}
}

// enter waits for a turn. Without ok there is none, and leave is nil.
func (g *gate) enter(ctx context.Context) (leave func(), ok bool) {
	leave = func() {
		if g.share != nil {
			g.share.leave()
		}
		<-g.slots
		g.decided.Add(1)
	}
	select {
	case g.slots <- struct{}{}:
		if g.turn(ctx, 0) {
			return leave, true
		}
		<-g.slots
	default:
	}
	if g.waiting.Add(1) > g.queue {
		g.waiting.Add(-1)
		g.refused.Add(1)
		return nil, false
	}
	defer g.waiting.Add(-1)
	began, timer := time.Now(), time.NewTimer(g.patience)
	defer timer.Stop()
	select {
	case g.slots <- struct{}{}:
		if g.turn(ctx, max(0, g.patience-time.Since(began))) {
			return leave, true
		}
		<-g.slots
	case <-timer.C:
	case <-ctx.Done():
	}
	g.refused.Add(1)
	return nil, false
}

// turn waits so long for a turn among the users of the machine.
func (g *gate) turn(ctx context.Context, patience time.Duration) bool {
	if g.share == nil {
		return true
	}
	if patience == 0 {
		return g.share.enterNow()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return g.share.enter(ctx)
}

// calm returns how many were turned away in an overload that has ended: there is room
// again, and none waits. 0 while it lasts, or when there was none.
func (g *gate) calm() int64 {
	if g.waiting.Load() > 0 || len(g.slots) == cap(g.slots) {
		return 0
	}
	return g.turnedAway.Load()
}

// recorded tells that the end of the overload is recorded for so many.
func (g *gate) recorded(n int64) { g.turnedAway.Add(-n) }

// calm records the end of an overload, with the latches that end with it, once there is
// room again. Every request that was decided or turned away calls it last.
func (s *Server) calm(ctx context.Context) {
	if s.gate.calm() == 0 || !s.calming.TryLock() {
		return // who holds the lock looks again
	}
	s.background.Go(func() {
		ctx, cancel := s.untilEnding(ctx)
		defer cancel()
		var err error
		if n := s.gate.calm(); n > 0 {
			if err = s.host.OverloadEnded(ctx); err == nil {
				s.gate.recorded(n)
				s.health.changed()
			}
		}
		s.calming.Unlock()
		if err != nil { // the next request tries again
			s.log.LogAttrs(ctx, slog.LevelWarn, "the end of the overload could not be recorded", slog.Any("error", err))
			return
		}
		s.calm(ctx)
	})
}

// begin ends the latches whose cause has ended with the process before, and those that
// wait for the verdict on what only that one retained.
func (s *Server) begin(ctx context.Context) {
	s.background.Go(func() {
		ctx, cancel := s.untilEnding(ctx)
		defer cancel()
		if err := s.host.OverloadEnded(ctx); err != nil { // status and the next overload try again
			s.log.LogAttrs(ctx, slog.LevelWarn, "latches whose cause has ended could not be lifted", slog.Any("error", err))
		}
	})
}

// untilEnding is a context that ends when the daemon abandons its undecided
// actions.
func (s *Server) untilEnding(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(s.ending.over, cancel)
	return ctx, func() { stop(); cancel() }
}
