package mcptools

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// use counts callers of a server. Safe for concurrent use.
type use struct {
	callers atomic.Int64
	last    atomic.Int64 // when the last one left, in nanoseconds of Unix time

	mu    sync.Mutex
	timer *time.Timer // retires the server; nil: no caller has left yet
}

// retireAfter has the server retired later, in place of an earlier time.
func (u *use) retireAfter(idle time.Duration, retire func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.timer == nil {
		u.timer = time.AfterFunc(idle, retire)
		return
	}
	u.timer.Reset(idle)
}

// begin says that a caller needs the server until done. Where servers without callers are ended, done sees to that.
func (s *server) begin() (done func()) {
	s.use.callers.Add(1)
	return func() {
		s.use.last.Store(time.Now().UnixNano())
		if s.use.callers.Add(-1) == 0 && s.o.Idle > 0 {
			s.use.retireAfter(s.o.Idle, s.retire)
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
