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
	ctx = context.WithoutCancel(ctx)
	s.background.Go(func() {
		var err error
		if n := s.gate.calm(); n > 0 {
			if err = s.host.OverloadEnded(ctx); err == nil {
				s.gate.recorded(n)
				s.health.Changed()
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
