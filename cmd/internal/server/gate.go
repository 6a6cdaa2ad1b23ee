package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// gate bounds how many invocations are decided at once and how many may wait
// for their turn. It refuses a caller that finds the queue full or waits too
// long: a refusal at once serves the caller better than a timeout. Safe for
// concurrent use.
type gate struct {
	slots    chan struct{}
	large    chan struct{} // questions above smallBytes that are decided at once; nil: as many as others
	refusing chan struct{} // of them, those that are refused for want of a place; nil: no bound
	queue    int64         // how many may wait
	patience time.Duration
	share    *Share // of the turns that all users of a machine have; nil: this server has the processors for itself

	away func() <-chan struct{} // closed while nothing can be recorded: who has a turn may keep it; nil: not known

	waiting, decided, refused atomic.Int64

	turnedAway atomic.Int64 // refusals that are recorded, and the end of their overload is not
}

func newGate(running, queue int, patience time.Duration) *gate {
	return &gate{slots: make(chan struct{}, running), queue: int64(queue), patience: patience}
}

// among has the gate share the machine with those of other users. Large questions take long, and cannot be stopped in
// the middle: one of a user's is decided at a time, so that processors stay free for others. So is one refusal, which
// is recorded as a decision is.
func (g *gate) among(share *Share) {
	g.share = share
	g.large, g.refusing = make(chan struct{}, 1), make(chan struct{}, 1)
}

// enter waits for a turn to decide a question of so many bytes. Where no is not nil there is none, and leave is nil.
func (g *gate) enter(ctx context.Context, size int) (leave func(), no *phases.Fault) {
	var large chan struct{}
	if size > smallBytes {
		large = g.large
	}
	t := &spareTurn{share: g.share}
	leave = func() {
		t.leave()
		<-g.slots
		if large != nil {
			<-large
		}
		g.decided.Add(1)
	}
	if g.place(ctx, large, nil, nil) {
		if g.turn(ctx, 0, nil) {
			t.begin(ctx)
			return leave, nil
		}
		g.giveUp(large)
	}
	away := g.awayNow()
	if g.waiting.Add(1) > g.queue {
		g.waiting.Add(-1)
		return nil, g.refusal(away)
	}
	defer g.waiting.Add(-1)
	began, timer := time.Now(), time.NewTimer(g.patience)
	defer timer.Stop()
	if g.place(ctx, large, timer.C, away) {
		if g.turn(ctx, max(0, g.patience-time.Since(began)), away) {
			t.begin(ctx)
			return leave, nil
		}
		g.giveUp(large)
	}
	return nil, g.refusal(away)
}

// awayNow returns a channel that is closed while nothing can be recorded; nil where that is not known.
func (g *gate) awayNow() <-chan struct{} {
	if g.away == nil {
		return nil
	}
	return g.away()
}

// refusal says why there is no turn. It is no overload while those who have the turns wait for the store.
func (g *gate) refusal(away <-chan struct{}) *phases.Fault {
	select {
	case <-away:
		return phases.NewFault(phases.KindStore, "the store cannot be reached", nil)
	default:
	}
	g.refused.Add(1)
	return overloaded()
}

// place waits until over or away for a place among the running ones, and before that among the large ones, where large
// is not nil. With a nil over it does not wait.
func (g *gate) place(ctx context.Context, large chan struct{}, over <-chan time.Time, away <-chan struct{}) bool {
	if large != nil && !put(ctx, large, over, away) {
		return false
	}
	if put(ctx, g.slots, over, away) {
		return true
	}
	if large != nil {
		<-large
	}
	return false
}

// giveUp gives back what place took.
func (g *gate) giveUp(large chan struct{}) {
	<-g.slots
	if large != nil {
		<-large
	}
}

// put takes one of the places, and waits for it until over or away, or not at all where over is nil.
func put(ctx context.Context, places chan struct{}, over <-chan time.Time, away <-chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	if over == nil {
		return false
	}
	select {
	case places <- struct{}{}:
		return true
	case <-over:
	case <-away:
	case <-ctx.Done():
	}
	return false
}

// enterRefusal waits for a turn to record that a question is refused for want of a place. It costs what a decision
// costs, and those who flood are refused the most. Without other users it waits for nothing; it is refused in any case.
// While the store is away it waits for no turn either: who has one may keep it, and nothing is recorded.
func (g *gate) enterRefusal(ctx context.Context) (leave func()) {
	if g.share == nil {
		return func() {}
	}
	select {
	case g.refusing <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	turn := g.share.enterUnless(ctx, g.awayNow())
	return func() {
		if turn {
			g.share.leave()
		}
		<-g.refusing
	}
}

// turn waits so long for a turn among the users of the machine, and not while the store is away.
func (g *gate) turn(ctx context.Context, patience time.Duration, away <-chan struct{}) bool {
	if g.share == nil {
		return true
	}
	if patience == 0 {
		return g.share.enterNow()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return g.share.enterUnless(ctx, away)
}

// inTurn does the work of one who has a turn, which is given back also where the work panics.
func inTurn(leave, work func()) {
	defer leave()
	work()
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
