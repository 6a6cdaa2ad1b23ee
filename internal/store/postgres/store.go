package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/uuid/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
)

// Store is a kernel.Store in a PostgreSQL database, as one kernel of those that share it. It is safe for
// concurrent use.
type Store struct {
	o      Options
	access *access
	id     [16]byte // of this process's hold
	kernel int32
	pool   *pgxpool.Pool // of connections that only read
	sets   sets

	doubts atomic.Bool // a reader has found rows that are not those that the log records
	// disbelieved are the rows as they were last believed, by which those that were edited are named
	disbelieved atomic.Pointer[rows]

	bare     atomic.Pointer[error]     // why there is no mark outside of the database although one is wanted
	compared atomic.Pointer[time.Time] // when Probe last compared all rows that restrict, and they were right

	requests chan *request
	circuit  circuit
	need     atomic.Int64  // so many requests are worth a nudge to the writer; 0: none are
	nudge    chan struct{} // gets one when there are
	spare    sync.Pool     // of requests that are over
	writes   *writer       // nil when the store is opened for reading only
	writer   sync.WaitGroup

	wake     chan struct{} // a block of the lookup may be missing
	fresh    fresh
	complete int64         // blocks whose events were there when the indexer was last woken; the writer's
	indexed  chan struct{} // closed when the indexer has ended

	report atomic.Pointer[[]byte] // what the kernel says of itself; nil: nothing
	feed   feed
	stop   chan struct{} // closed when the store is

	ended  sync.Once
	mu     sync.RWMutex // guards closed, and the closing of requests
	closed bool
}

// Open opens the database as one kernel. Its schema has to be there and up to date: see Migrate. The error is
// kernel.ErrUnavailable for errors.Is, with the cause.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := open(ctx, o)
	if err != nil {
		return nil, unavailable("open", err)
	}
	return s, nil
}

func open(ctx context.Context, o Options) (*Store, error) {
	access, o, err := newAccess(o)
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, access: access, id: uuid.Must(uuid.NewV7()), requests: make(chan *request, maxGroup),
		nudge: make(chan struct{}, 1), wake: make(chan struct{}, 1), indexed: make(chan struct{}), stop: make(chan struct{})}
	if err := s.check(ctx, access.config); err != nil {
		return nil, err
	}
	if s.pool, err = s.openPool(ctx); err != nil {
		return nil, err
	}
	if o.ReadOnly {
		close(s.indexed)
		err := s.pool.QueryRow(ctx, "SELECT id FROM kernels WHERE name = $1", o.Kernel).Scan(&s.kernel)
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil // no kernel has written as this one yet: see unwritten
		}
		if err == nil {
			_, _, err = s.lookNow(ctx)
		}
		if err != nil {
			s.pool.Close()
			return nil, err
		}
		go s.watchAccess()
		return s, nil
	}
	s.writes = &writer{store: s}
	if err := s.takeName(ctx); err != nil && !(o.Mark != nil && s.writes.edge != nil && forRecovery(err)) {
		s.writes.end()
		s.pool.Close()
		return nil, err
	}
	s.kernel = s.writes.held.kernel
	s.grown(s.writes.edge.size)
	s.writer.Go(s.writes.run)
	go s.indexer()
	go s.watchAccess()
	go s.watchRows()
	go s.letGo()
	return s, nil
}

// unwritten reports whether the store is opened for reading only, as a kernel that was never there: it has no log, and
// what restricts is that of all kernels.
func (s *Store) unwritten() bool { return s.kernel == 0 }

// hasNone reports whether err says no more than that there is no log, of a kernel that has none.
func (s *Store) hasNone(err error) bool { return s.unwritten() && errors.Is(err, pgx.ErrNoRows) }

// forRecovery reports whether a store with this error is open all the same: everything is blocked, and to recover it
// needs it open.
func forRecovery(err error) bool {
	return errors.Is(err, kernel.ErrRollback) || errors.Is(err, kernel.ErrTampered)
}

// takeName takes the kernel's name. After a crash its last holder counts as being there for a while: that is
// waited for, so that a process that is started again needs no hand.
func (s *Store) takeName(ctx context.Context) error {
	return s.writes.patiently(ctx, func() error { return s.writes.present(ctx) })
}

// connect returns a connection that can write.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	config, _ := s.access.current()
	return connectDirectly(ctx, config)
}

// connectDirectly connects, and refuses a pool of connections in between.
func connectDirectly(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		err = noPooler(ctx, c.PgConn())
	}
	if err != nil && c != nil {
		_ = c.Close(ctx)
	}
	if pooled(err) {
		return nil, fmt.Errorf("%w; %w", errPooler(), inBrief(err)) // before others shorten it, advice and all
	}
	if err != nil {
		return nil, inBrief(err)
	}
	return c, nil
}

func (s *Store) openPool(ctx context.Context) (*pgxpool.Pool, error) {
	// The text is that of Options.config: with none, the client library would read the environment.
	now, _ := s.access.current()
	c, err := pgxpool.ParseConfig(now.ConnString())
	if err != nil {
		return nil, errConfig()
	}
	c.ConnConfig = readingOnly(now)
	c.BeforeConnect = func(_ context.Context, of *pgx.ConnConfig) error {
		now, _ := s.access.current()
		*of = *readingOnly(now)
		return nil
	}
	c.MaxConns = int32(s.o.Readers)
	return pgxpool.NewWithConfig(ctx, c)
}

func readingOnly(c *pgx.ConnConfig) *pgx.ConnConfig {
	c.RuntimeParams["default_transaction_read_only"] = "on"
	return c
}

// check refuses a server or a schema that this program cannot work with.
func (s *Store) check(ctx context.Context, config *pgx.ConnConfig) error {
	c, err := connectDirectly(ctx, config.Copy())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if err := checkServer(ctx, c, s.o.ReadOnly); err != nil {
		return err
	}
	if err := checkSchema(ctx, c, s.o.Schema); err != nil {
		return err
	}
	return s.o.checkRights(ctx, c)
}

// minServer is the oldest version of PostgreSQL that the tests run with.
const minServer = 150000

func checkServer(ctx context.Context, c *pgx.Conn, readOnly bool) error {
	var version int
	var fsync, pages string
	var standby bool
	err := c.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('fsync'),
		current_setting('full_page_writes'), pg_is_in_recovery()`).Scan(&version, &fsync, &pages, &standby)
	switch {
	case err != nil:
		return err
	case version < minServer:
		return fmt.Errorf("the server is PostgreSQL %d; belay needs 15 or later", version/10000)
	case fsync != "on" || pages != "on":
		return fmt.Errorf("the server runs with fsync=%s and full_page_writes=%s: a power cut would lose events that were "+
			"acknowledged; set both to on in postgresql.conf", fsync, pages)
	case standby && !readOnly:
		return errors.New("the server is a replica, which cannot write; name the primary in the DSN")
	}
	return nil
}

func unavailable(op string, err error) error {
	if errors.Is(err, kernel.ErrUnavailable) || errors.Is(err, kernel.ErrConflict) {
		return err
	}
	return fmt.Errorf("postgres store: %s: %w: %w", op, kernel.ErrUnavailable, inBrief(err))
}

// Close implements kernel.Store.
func (s *Store) Close() error {
	s.ended.Do(func() { close(s.stop) })
	<-s.indexed // first: a block that it has begun goes through the writer
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.requests)
	s.mu.Unlock()
	s.writer.Wait()
	s.feed.work.Wait()
	s.pool.Close()
	return nil
}

// on runs f, which only reads, on a connection of the pool. When the connection turns out to be broken, as
// all of them are after the server was away, it runs f again on another one.
func (s *Store) on(ctx context.Context, op string, f func(*pgxpool.Conn) error) error {
	s.mu.RLock()
	closed := s.closed
	s.mu.RUnlock()
	if closed {
		return unavailable(op, errClosed())
	}
	ctx, end := s.circuit.reading(ctx)
	defer end()
	for n := 0; ; n++ {
		c, err := s.pool.Acquire(ctx)
		if err != nil {
			return unavailable(op, troubled(ctx, err))
		}
		wire := c.Conn().PgConn().Conn()
		stop := context.AfterFunc(ctx, func() { _ = wire.Close() })
		err = f(c)
		stop()
		broken := c.Conn().IsClosed()
		c.Release()
		if err == nil {
			return nil
		}
		if !broken || refusal(err) != "" || ctx.Err() != nil || n > s.o.Readers {
			return unavailable(op, troubled(ctx, err))
		}
	}
}

// read runs statements in one read-only transaction, in one round trip. They may be run more than once.
func (s *Store) read(ctx context.Context, op string, queue func(*pgx.Batch)) error {
	return s.on(ctx, op, func(c *pgxpool.Conn) error {
		b := &pgx.Batch{}
		b.Queue(beginView)
		queue(b)
		b.Queue("COMMIT")
		// A transaction that failed on the way is still open, and the pool closes the connection then.
		return c.SendBatch(ctx, b).Close()
	})
}

// view runs f in a transaction that only reads. It may be run more than once.
func (s *Store) view(ctx context.Context, op string, f func(pgx.Tx) error) error {
	return s.on(ctx, op, func(c *pgxpool.Conn) error {
		tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }() // it has only read
		return f(tx)
	})
}

// maxReads bounds how often a read begins anew because the rows that restrict change all the time.
const maxReads = 8

// readRows reads rows that restrict, and believes those that the log covers. queue puts statements into a batch whose
// results check collects; f looks at what was collected.
func (s *Store) readRows(ctx context.Context, op string, queue func(*pgx.Batch), f func(*view) error) error {
	for range maxReads {
		var now shared
		err := s.read(ctx, op, func(b *pgx.Batch) {
			b.Queue(readShared).QueryRow(now.scan)
			queue(b)
		})
		if err != nil {
			return s.doubt(err)
		}
		set, ok := s.sets.at(now.version)
		if !ok {
			if _, _, err := s.lookNow(ctx); err != nil {
				return unavailable(op, s.doubt(err))
			}
			if set, ok = s.sets.at(now.version); !ok {
				continue
			}
		}
		if err = numbered(set, &now); err == nil {
			err = f(&view{set: set, shared: now})
		}
		if err != nil {
			return unavailable(op, s.doubt(err))
		}
		return nil
	}
	return unavailable(op, errGap())
}

// lookNow follows what other kernels have changed, on a connection that reads.
func (s *Store) lookNow(ctx context.Context) (shared, *restrict.Set, error) {
	version, set, ok := s.sets.last()
	if !ok {
		version, set = 0, nil
	}
	var now shared
	err := s.on(ctx, "follow", func(c *pgxpool.Conn) (err error) {
		now, set, err = s.look(ctx, c, version, set)
		if errors.Is(err, errGap()) {
			now, set, err = s.look(ctx, c, 0, nil)
		}
		if err != nil {
			version, set, _ = s.sets.last() // what the next try begins with
		}
		return err
	})
	return now, set, err
}

// view is what a reader compares rows with.
type view struct {
	set    *restrict.Set
	hasher restrict.Hasher
	shared shared
}

// holds checks a row that was read.
func (v *view) holds(r row) error { return v.sealed(holds(v.set, r.place(), r.content(&v.hasher))) }

// missing checks that there is no row.
func (v *view) missing(p place) error {
	if _, there := v.set.Get(p.table, p.key); there {
		return v.sealed(tampered(p, "missing"))
	}
	return nil
}

// sealed says in an error which event records the rows.
func (v *view) sealed(err error) error {
	var t *kernel.Tampered
	if errors.As(err, &t) {
		t.Seq = v.shared.seq
	}
	return err
}

var _ kernel.Store = (*Store)(nil)
