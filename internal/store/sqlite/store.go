package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/eventpack"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const (
	busyTimeout = 5 * time.Second // how long a write waits for other processes
	maxGroup    = 64              // batches in one transaction
)

// Options are the ways to open a database. The zero value is the usual one.
type Options struct {
	ReadOnly bool        // no migration, no writer: every Commit answers ErrUnavailable
	VFS      string      // name of a registered file system layer; for fault tests
	Mark     marked.Mark // how far the database has come, kept outside of it; nil: nothing does
	Unproven bool        // rows are believed without the log; only for tests of the defences behind that
	LogPages int         // pages after which the write-ahead log is moved in any case; 0 means 4,000
}

// Store is a kernel.Store in a SQLite database. It is safe for concurrent use,
// and several processes may have the same database open.
type Store struct {
	path     string
	vfs      string
	mark     marked.Mark
	bare     atomic.Pointer[error] // why the database could not be given a mark; nil when it has one, or needs none
	era      atomic.Int64          // counts files that took the place of the database
	readOnly bool
	unproven bool
	logPages int

	immutable bool   // the file is read as it is, without companions
	temp      string // directory of a copy; "" when there is none

	heads heads

	buffers eventbytes.Pool // of the events of commits
	packs   *eventpack.Codec

	readers  readers
	borrowed atomic.Int64 // reads that went over the writer's connection; see borrow
	watch    watch

	requests chan *request
	writer   sync.WaitGroup
	writes   *writer // nil when the store is opened for reading only

	wake     chan struct{} // a block of the lookup may be missing
	stop     chan struct{} // closed when the store is
	indexed  chan struct{} // closed when the indexer has ended
	complete int64         // blocks whose events were there when the indexer was last woken; the writer's

	ended  sync.Once
	mu     sync.RWMutex // guards closed, and the closing of requests
	closed bool
}

// Open opens the database at path, creates it (mode 0600) when it is missing,
// and brings its schema up to date. The error is kernel.ErrUnavailable for
// errors.Is, with the cause.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, unavailable("open", err)
	}
	s := &Store{path: abs, vfs: o.VFS, mark: o.Mark, readOnly: o.ReadOnly, unproven: o.Unproven,
		logPages: cmp.Or(o.LogPages, busyLog), readers: newReaders(),
		requests: make(chan *request, maxGroup),
		packs:    eventpack.New(),
		wake:     make(chan struct{}, 1), stop: make(chan struct{}), indexed: make(chan struct{})}
	if o.VFS == "" {
		if err := checkFiles(abs); err != nil {
			return nil, unavailable("open", err)
		}
	}
	if !o.ReadOnly && o.VFS == "" {
		if err := createFiles(abs); err != nil {
			return nil, unavailable("create", err)
		}
	}
	c, err := s.open(ctx)
	if o.ReadOnly && o.VFS == "" && unwritable(err) {
		c, err = s.openAside(ctx)
	}
	if err != nil {
		return nil, unavailable("open", err)
	}
	if o.ReadOnly {
		s.readers.idle = append(s.readers.idle, c)
		return s, nil
	}
	s.writes = &writer{store: s, grown: make(chan struct{}, 1)}
	s.writes.use(c)
	s.writer.Add(1)
	go func() {
		defer s.writer.Done()
		s.writes.run()
	}()
	go s.indexer()
	return s, nil
}

// open returns a checked connection. Several processes that create the same
// database at once may find it locked for a moment in ways that SQLite's own
// timeout does not cover, so that opening is tried for busyTimeout. One that
// closes last removes the log's files while another is about to map them, which
// shows as an I/O error: that is tried again too, but not for long, since a disk
// that really fails should be reported at once. Nothing has been written by then.
func (s *Store) open(ctx context.Context) (*conn, error) {
	deadline := time.Now().Add(busyTimeout)
	for ioErrors := 0; ; {
		c, err := openConn(s.path, s.vfs, s.readOnly, s.immutable, s.packs)
		if err == nil {
			if err = migrate(c.Conn, s.readOnly); err == nil {
				return c, nil
			}
			c.close()
		}
		switch {
		case errors.Is(err, sqlite3.IOERR) && ioErrors < 20:
			ioErrors++
		case !errors.Is(err, sqlite3.BUSY) || time.Now().After(deadline):
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func unavailable(op string, err error) error {
	if errors.Is(err, kernel.ErrUnavailable) || errors.Is(err, kernel.ErrConflict) {
		return err
	}
	return fmt.Errorf("sqlite store: %s: %w: %w", op, kernel.ErrUnavailable, err)
}

// read runs f, which reads little, on a connection that nothing else uses meanwhile.
func (s *Store) read(ctx context.Context, op string, f func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return unavailable(op, err)
	}
	done, err := s.borrow(f)
	switch {
	case !done:
		return s.readApart(ctx, op, f)
	case err != nil:
		return unavailable(op, err)
	}
	return nil
}

// readApart is read for what may take long: the writer does not wait for it.
func (s *Store) readApart(ctx context.Context, op string, f func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return unavailable(op, err)
	}
	c, err := s.readers.take(ctx)
	if err != nil {
		return unavailable(op, err)
	}
	if c != nil && c.era != s.era.Load() {
		c.close() // of a file that is the database no more
		c = nil
	}
	if c == nil {
		if c, err = openConn(s.path, s.vfs, s.readOnly, s.immutable, s.packs); err != nil {
			s.readers.put(nil)
			return unavailable(op, err)
		}
		c.era = s.era.Load()
	}
	err = f(c)
	if err != nil && !errors.Is(err, sqlite3.BUSY) {
		c.close() // whatever went wrong, the next reader starts anew
		c = nil
	}
	s.readers.put(c)
	if err != nil {
		return unavailable(op, err)
	}
	return nil
}

var errClosed = errors.New("closed")

// Close implements kernel.Store.
func (s *Store) Close() error {
	s.ended.Do(func() { close(s.stop) })
	if !s.readOnly {
		<-s.indexed // first: a block that it has begun goes through the writer
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.requests)
	s.mu.Unlock()
	s.writer.Wait()
	s.watch.close()
	return errors.Join(s.readers.close(), s.removeTemp())
}

// readRows runs f on rows that restrict, and on what the log says about them, as one
// transaction sees both.
func (s *Store) readRows(ctx context.Context, op string, f func(*view) error) error {
	return s.read(ctx, op, func(c *conn) (err error) {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = c.exec("ROLLBACK") // the connection is closed anyway, or was only busy
				return
			}
			err = c.exec("COMMIT")
		}()
		v, err := s.look(c)
		if err != nil {
			return err
		}
		return f(v)
	})
}

// RunState implements kernel.Store.
func (s *Store) RunState(ctx context.Context, key phases.RunKey, now time.Time) (kernel.RunState, error) {
	var out kernel.RunState
	if ctx.Err() == nil && s.absent(restrict.Runs, restrict.Key(key.Runtime, key.Session, key.Run)) {
		return out, nil
	}
	err := s.readRows(ctx, "read run", func(v *view) error {
		found := false
		err := v.query(v.oneRow[restrict.Runs], func(st *sqlite3.Stmt) error {
			found = true
			if err := v.row(restrict.Runs, st); err != nil {
				return err
			}
			out.Version = st.ColumnInt64(3)
			if now.Sub(time.Unix(0, st.ColumnInt64(4))) > kernel.MetadataTTL {
				return nil
			}
			if err := json.Unmarshal(st.ColumnBlob(5, nil), &out.Metadata); err != nil {
				return err
			}
			return json.Unmarshal(st.ColumnBlob(6, nil), &out.Retries)
		}, key.Runtime, key.Session, key.Run)
		if err != nil || found {
			return err
		}
		return v.missing(restrict.Runs, key.Runtime, key.Session, key.Run)
	})
	return out, err
}

// RunsOf implements kernel.Store.
func (s *Store) RunsOf(ctx context.Context, session wire.Session, prefix string,
	now time.Time) ([]kernel.NamedRun, error) {
	var out []kernel.NamedRun
	last := len(prefix) - 1
	end := prefix[:last] + string(rune(prefix[last]+1)) // behind every name with the prefix
	err := s.readRows(ctx, "read runs of a session", func(v *view) error {
		out = nil
		return v.query("SELECT "+runColumns+" FROM runs WHERE runtime=? AND session=? AND run>=? AND run<? "+
			"AND used_ns>=? AND length(metadata)>2 ORDER BY run LIMIT ?", func(st *sqlite3.Stmt) error {
			r := kernel.NamedRun{Run: st.ColumnText(2)}
			if err := v.row(restrict.Runs, st); err != nil {
				return err
			}
			r.Version = st.ColumnInt64(3)
			if err := json.Unmarshal(st.ColumnBlob(5, nil), &r.Metadata); err != nil {
				return err
			}
			out = append(out, r)
			return json.Unmarshal(st.ColumnBlob(6, nil), &r.Retries)
		}, session.Runtime, session.Session, prefix, end, now.Add(-kernel.MetadataTTL), kernel.MaxRunsOf)
	})
	return out, err
}

// HookState implements kernel.Store.
func (s *Store) HookState(ctx context.Context, namespace, key string) (kernel.StateValue, error) {
	var out kernel.StateValue
	if ctx.Err() == nil && s.absent(restrict.State, restrict.Key(namespace, key)) {
		return out, nil
	}
	err := s.readRows(ctx, "read state", func(v *view) error {
		found := false
		err := v.query(v.oneRow[restrict.State], func(st *sqlite3.Stmt) error {
			found = true
			out = kernel.StateValue{Version: st.ColumnInt64(2), Value: st.ColumnBlob(3, nil)}
			return v.row(restrict.State, st)
		}, namespace, key)
		if err != nil || found {
			return err
		}
		return v.missing(restrict.State, namespace, key)
	})
	return out, err
}

// StateUsage implements kernel.Store.
func (s *Store) StateUsage(ctx context.Context, namespace string) (kernel.StateUsage, error) {
	var out kernel.StateUsage
	err := s.read(ctx, "read state usage", func(c *conn) error {
		return c.query(
			"SELECT count(*), coalesce(sum(octet_length(key) + octet_length(value)), 0) FROM state WHERE namespace=?",
			func(st *sqlite3.Stmt) error {
				out = kernel.StateUsage{Keys: st.ColumnInt(0), Bytes: st.ColumnInt64(1)}
				return nil
			}, namespace)
	})
	return out, err
}

const latchRows = "SELECT " + latchColumns + " FROM latches "

func (v *view) latch(st *sqlite3.Stmt) (kernel.Latch, error) {
	var l kernel.Latch
	if err := v.row(restrict.Latches, st); err != nil {
		return l, err
	}
	return l, json.Unmarshal(st.ColumnBlob(3, nil), &l)
}

// Latch implements kernel.Store.
func (s *Store) Latch(ctx context.Context, key wire.Session) (*kernel.Latch, error) {
	if ctx.Err() == nil &&
		s.absent(restrict.Latches, restrict.Key(key.Runtime, key.Session), restrict.Key(key.Runtime, "")) {
		return nil, nil
	}
	var out *kernel.Latch
	err := s.readRows(ctx, "read latch", func(v *view) error {
		out = nil
		missing := map[string]bool{key.Session: true, "": true} // that of the session, and that of its runtime
		err := v.query(latchRows+"WHERE runtime=? AND session IN (?, '') ORDER BY session", func(st *sqlite3.Stmt) error {
			l, err := v.latch(st)
			if err != nil || l.Holds(key) {
				out = &l // the session's own comes last
			}
			delete(missing, st.ColumnText(1))
			return err
		}, key.Runtime, key.Session)
		for session := range missing {
			if err == nil {
				err = v.missing(restrict.Latches, key.Runtime, session)
			}
		}
		return err
	})
	return out, err
}

// Latches implements kernel.Store.
func (s *Store) Latches(ctx context.Context) ([]kernel.Latch, error) {
	var out []kernel.Latch
	err := s.readRows(ctx, "read latches", func(v *view) error {
		out = nil
		return v.query(latchRows+"ORDER BY since_ns, runtime, session", func(st *sqlite3.Stmt) error {
			l, err := v.latch(st)
			out = append(out, l)
			return err
		})
	})
	return out, err
}

var _ kernel.Store = (*Store)(nil)
