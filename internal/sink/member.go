package sink

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// member is one file of a Set and its state.
type member struct {
	set  Setting
	file *File
	log  *slog.Logger

	mu    sync.Mutex
	err   error // nil: the last write worked
	since time.Time

	poke chan struct{} // nil for durable ones, which have no background writer
	quit context.CancelFunc
	done chan struct{}
}

func (s *Set) member(set Setting) *member {
	m := &member{set: set, file: NewFile(s.Store, set.Options), log: s.log, err: errNotTried, since: time.Now()}
	if !set.Durable {
		m.poke, m.done = make(chan struct{}, 1), make(chan struct{})
		var ctx context.Context
		ctx, m.quit = context.WithCancel(context.Background())
		go m.run(ctx, s)
	}
	return m
}

func (m *member) name() string { return "the sink " + m.set.Path + " " }

// proven reports whether the last write worked.
func (m *member) proven() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err == nil
}

func (m *member) follow(ctx context.Context, seq int64) error {
	err := m.file.Follow(ctx, seq)
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(err, errClosed) {
		return err
	}
	switch {
	case err == nil:
		if m.err != nil && !errors.Is(m.err, errNotTried) {
			m.log.LogAttrs(ctx, slog.LevelWarn, "a sink can be written again", slog.String("path", m.set.Path))
		}
		m.since = time.Time{}
	case m.err == nil || errors.Is(m.err, errNotTried):
		m.log.LogAttrs(ctx, slog.LevelError, "a sink cannot be written", slog.String("path", m.set.Path),
			slog.Bool("durable", m.set.Durable), slog.Any("error", err))
		m.since = time.Now()
	}
	m.err = err
	return err
}

func (m *member) state() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return State{Path: m.set.Path, Durable: m.set.Durable, OK: m.err == nil, Seq: m.file.Seq(), Err: m.err, Since: m.since}
}

func (m *member) wake() {
	select {
	case m.poke <- struct{}{}:
	default: // it will see this event, too
	}
}

// run follows in the background. It queues nothing: it reads missing events
// from the store when the file can be written.
func (m *member) run(ctx context.Context, s *Set) {
	defer close(m.done)
	wait := retryFirst
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.poke:
		}
		fresh := m.fresh()
		// Not with ctx: what has begun is finished, and an end is no failure.
		err := m.follow(context.WithoutCancel(ctx), 0)
		if err == nil {
			if wait > retryFirst || fresh {
				s.notice(ctx, m, m.name()+"can be written again", func(last string) bool {
					return strings.HasPrefix(last, m.name()+"cannot")
				})
			}
			wait = retryFirst
			continue
		}
		if wait == retryFirst {
			s.notice(ctx, m, m.name()+"cannot be written: "+err.Error(), func(last string) bool {
				return !strings.HasPrefix(last, m.name()+"cannot")
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, retryMost)
		m.wake()
	}
}

// fresh reports whether the file has not been tried by this process.
func (m *member) fresh() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Is(m.err, errNotTried)
}

// end stops the background, tries a last time where events may be missing, and
// closes the file.
func (m *member) end() {
	if m.quit != nil {
		m.quit()
		<-m.done
		if len(m.poke) > 0 || !m.proven() && !m.fresh() {
			ctx, cancel := context.WithTimeout(context.Background(), lastTry)
			_ = m.follow(ctx, 0) // logged
			cancel()
		}
	}
	_ = m.file.Close()
}
