package server

import (
	"context"
	"log/slog"
)

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
