package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Waiting for what other kernels do. PostgreSQL notifies (LISTEN), and each second a feed looks by itself: a notice can
// be lost, and a pool of connections in between may pass none on.
const (
	feedLook  = time.Second
	feedRetry = 5 * time.Second // until it tries to listen again
)

// feed tells those who wait in this process. It carries nothing: they read what they need.
type feed struct {
	begun sync.Once
	work  sync.WaitGroup

	mu   sync.Mutex
	next chan struct{}
	over bool
}

// Changed returns a channel that is closed when rows that all kernels share have changed: those that restrict, or
// denials. That takes up to two seconds. It may be closed without a change, and it is closed when the store is.
func (s *Store) Changed() <-chan struct{} {
	f := &s.feed
	s.mu.RLock() // Close waits for what is begun here
	defer s.mu.RUnlock()
	f.begun.Do(func() {
		if s.closed {
			f.end()
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		f.work.Go(func() {
			<-s.stop
			cancel()
			f.end()
		})
		f.work.Go(func() { s.poll(ctx) })
		f.work.Go(func() { s.listen(ctx) })
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = make(chan struct{})
		if f.over {
			close(f.next)
		}
	}
	return f.next
}

// tell closes the channel; the next one is made when it is asked for.
func (f *feed) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next != nil && !f.over {
		close(f.next)
		f.next = nil
	}
}

func (f *feed) end() {
	f.tell()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	if f.next != nil { // it was asked for in between
		close(f.next)
	}
}

const newestChanges = "SELECT s.version, (SELECT coalesce(max(id), 0) FROM denials) FROM shared s"

// poll looks each second.
func (s *Store) poll(ctx context.Context) {
	tick := time.NewTicker(feedLook)
	defer tick.Stop()
	var version, denial int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var v, d int64
		once, cancel := context.WithTimeout(ctx, s.o.StatementTimeout)
		err := s.read(once, "look for changes", func(b *pgx.Batch) {
			b.Queue(newestChanges).QueryRow(func(r pgx.Row) error { return r.Scan(&v, &d) })
		})
		cancel()
		if err == nil && (v != version || d != denial) {
			version, denial = v, d
			s.feed.tell()
		}
	}
}

// listen waits for notices on a connection of its own.
func (s *Store) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.notices(ctx) // polling goes on meanwhile
		select {
		case <-ctx.Done():
		case <-time.After(feedRetry):
		}
	}
}

func (s *Store) notices(ctx context.Context) error {
	once, cancel := context.WithTimeout(ctx, s.o.ConnectTimeout)
	defer cancel()
	c, err := s.connect(once)
	if err != nil {
		return err
	}
	defer func() {
		closing, done := context.WithTimeout(context.Background(), time.Second)
		defer done()
		_ = c.Close(closing)
	}()
	if _, err := c.Exec(once, "LISTEN "+pgx.Identifier{s.o.Schema}.Sanitize()); err != nil {
		return err
	}
	of, end := context.WithCancel(ctx)
	defer end()
	go func(changed <-chan struct{}) { // the connection is made otherwise then
		select {
		case <-changed:
			end()
		case <-of.Done():
		}
	}(s.access.next())
	for {
		if _, err := c.WaitForNotification(of); err != nil {
			return err
		}
		s.feed.tell()
	}
}
