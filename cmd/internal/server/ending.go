package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// ending holds the undecided actions of a daemon that was told to end. Safe for
// concurrent use.
type ending struct {
	over context.Context // ends undecided actions, so that they are blocked and recorded
	end  context.CancelFunc

	mu      sync.Mutex
	running map[*underway]bool
}

// underway is one action that is being decided.
type underway struct {
	refusal func(*phases.Fault) kernel.Refusal // what to note when it is never decided
}

func newEnding() *ending {
	e := &ending{running: map[*underway]bool{}}
	e.over, e.end = context.WithCancel(context.Background())
	return e
}

// begin notes an action that is about to be decided, until done.
func (e *ending) begin(refusal func(*phases.Fault) kernel.Refusal) (done func()) {
	u := &underway{refusal}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running[u] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.running, u)
	}
}

func (e *ending) left() (all []*underway) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for u := range e.running {
		all = append(all, u)
	}
	return all
}

// drain lets started requests finish. After three quarters of the time it
// cancels undecided actions, which blocks and records them. It notes actions
// that do not end by then as blocked, for the next process. It returns within
// Options.Drain, and a second more if the note cannot be written.
func (s *Server) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Drain)
	defer cancel()
	giveUp := time.AfterFunc(s.o.Drain*3/4, s.ending.end)
	defer giveUp.Stop()
	framed := make(chan error, 1)
	go func() { framed <- s.frames.shutdown(ctx) }()
	err := errors.Join(s.http.Shutdown(ctx), <-framed)
	if err == nil {
		return
	}
	left := s.ending.left()
	s.log.LogAttrs(ctx, slog.LevelWarn, "requests were cut off", slog.Any("error", err), slog.Int("undecided", len(left)))
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		for _, u := range left {
			f := phases.NewFault(phases.KindDeadline, "the daemon was stopped before it had decided", nil)
			if err := belay.Spool(s.o.Dir, u.refusal(f)); err != nil {
				s.log.LogAttrs(ctx, slog.LevelError, "a block is not logged", slog.Any("error", err))
			}
		}
	}()
	select {
	case <-noted:
	case <-time.After(time.Second):
	}
	_ = s.http.Close()
	s.frames.close()
}
