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
	feedRetry = 5 * time.Second        // until it tries to listen again
	feedGap   = 200 * time.Millisecond // between two times that it tells of changes: each who waits reads then
)

// feed tells those who wait in this process. It carries nothing: they read what they need.
type feed struct {
	begun sync.Once
	work  sync.WaitGroup
	news  chan struct{} // what restricts has changed, and is to be told

	changes, denials topic
}

// topic is what a feed tells of. It is safe for concurrent use.
type topic struct {
	mu   sync.Mutex
	next chan struct{}
	over bool
}

// Changed returns a channel that is closed when rows that restrict have changed, which takes up to two seconds, and at
// times when a kernel comes or goes. It may be closed without a change, and it is closed when the store is.
func (s *Store) Changed() <-chan struct{} { return s.listens().changes.wait() }

// Denied returns a channel that is closed when a denial was added, or the table of them was changed by hand. That takes
// up to two seconds, and for an edit without a notice longer. It may be closed without a change, and it is closed when
// the store is.
func (s *Store) Denied() <-chan struct{} { return s.listens().denials.wait() }

// listens returns the feed, which begins with its first use.
func (s *Store) listens() *feed {
	f := &s.feed
	s.mu.RLock() // Close waits for what is begun here
	defer s.mu.RUnlock()
	f.begun.Do(func() {
		f.news = make(chan struct{}, 1)
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
		f.work.Go(func() { f.pass(ctx) })
	})
	return f
}

func (f *feed) end() {
	f.changes.end()
	f.denials.end()
}

// changed has the feed tell of changes, soon.
func (f *feed) changed() {
	select {
	case f.news <- struct{}{}:
	default: // it does so anyway
	}
}

// pass tells of changes, at once where it was quiet before: kernels may change something all the time.
func (f *feed) pass(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.news:
			f.changes.tell()
		}
		select {
		case <-ctx.Done():
		case <-time.After(feedGap):
		}
	}
}

// wait returns a channel that is closed by the next tell.
func (t *topic) wait() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == nil {
		t.next = make(chan struct{})
		if t.over {
			close(t.next)
		}
	}
	return t.next
}

// tell closes the channel; the next one is made when it is asked for.
func (t *topic) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next != nil && !t.over {
		close(t.next)
		t.next = nil
	}
}

func (t *topic) end() {
	t.tell()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.next != nil { // it was asked for in between
		close(t.next)
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
		if err == nil && v != version {
			version = v
			s.feed.changed()
		}
		if err == nil && d != denial {
			denial = d
			s.feed.denials.tell()
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
		n, err := c.WaitForNotification(of)
		switch {
		case err != nil:
			return err
		case n.Payload == "denials": // the table
			s.feed.denials.tell()
		default:
			s.feed.changed()
		}
	}
}
