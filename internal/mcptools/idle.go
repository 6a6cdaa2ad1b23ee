package mcptools

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// use counts callers of a server. Safe for concurrent use.
type use struct {
	callers atomic.Int64
	last    atomic.Int64 // when the last one left, in nanoseconds of Unix time
}

// begin says that a caller needs the server until done. Where servers without callers are ended, done sees to that.
func (s *server) begin() (done func()) {
	s.use.callers.Add(1)
	return func() {
		s.use.last.Store(time.Now().UnixNano())
		if s.use.callers.Add(-1) == 0 && s.o.Idle > 0 {
			time.AfterFunc(s.o.Idle, s.retire)
		}
	}
}

// retire ends the server if no tool of it was called for a while. The next call starts it again.
func (s *server) retire() {
	s.turn <- struct{}{}
	defer s.unlock()
	if s.live == nil || s.use.callers.Load() > 0 || time.Now().UnixNano()-s.use.last.Load() < int64(s.o.Idle) {
		return
	}
	s.live.end()
	s.live = nil
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "an MCP server without calls was ended")
}
