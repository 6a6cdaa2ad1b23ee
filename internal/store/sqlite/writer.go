package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A request is one batch on its way through the writer, or a deletion of old runs.
type request struct {
	batch kernel.Batch
	prune time.Time // not zero: drop what was last used before this, ignore batch
	note  []byte    // not nil: keep this checkpoint of noted leaves, ignore batch
	noted int64

	taken   atomic.Bool // set by whoever decides first: the writer, or a caller that gave up
	receipt kernel.Receipt
	pruned  int
	err     error
	done    chan struct{}
}

// Commit implements kernel.Store.
func (s *Store) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	r := &request{batch: b, done: make(chan struct{})}
	if err := s.submit(ctx, r); err != nil {
		return kernel.Receipt{}, unavailable("commit", err)
	}
	return r.receipt, nil
}

// Prune implements kernel.Store.
func (s *Store) Prune(ctx context.Context, now time.Time) (int, error) {
	r := &request{prune: now.Add(-kernel.MetadataTTL), done: make(chan struct{})}
	if err := s.submit(ctx, r); err != nil {
		return 0, unavailable("prune", err)
	}
	return r.pruned, nil
}

// submit hands the request to the writer and waits for its outcome.
func (s *Store) submit(ctx context.Context, r *request) error {
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		if r.taken.CompareAndSwap(false, true) {
			return ctx.Err() // the writer will skip it
		}
		<-r.done
		return r.err
	}
}

func (s *Store) enqueue(ctx context.Context, r *request) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.closed:
		return errClosed
	case s.readOnly:
		return errors.New("opened for reading only")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	select {
	case s.requests <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writer is the only one in this process that writes. It runs in one goroutine.
type writer struct {
	store *Store
	conn  *conn // nil after a failure of the disk, until recover succeeds
}

func (w *writer) run() {
	group := make([]*request, 0, maxGroup)
	for r := range w.store.requests {
		group = append(group[:0], r)
		// What has come in while the last sync was under way goes together;
		// nobody waits for company that may never come.
	fill:
		for len(group) < maxGroup {
			select {
			case next, ok := <-w.store.requests:
				if !ok {
					break fill
				}
				group = append(group, next)
			default:
				break fill
			}
		}
		w.write(group)
	}
	if w.conn != nil {
		w.conn.close()
	}
}

// write decides about every request of the group and tells the callers.
func (w *writer) write(group []*request) {
	live := group[:0]
	for _, r := range group {
		if r.taken.CompareAndSwap(false, true) {
			live = append(live, r)
		}
	}
	if len(live) == 0 {
		return
	}
	if err := w.transaction(live); err != nil {
		for _, r := range live {
			r.receipt, r.err = kernel.Receipt{}, unavailable("commit", err)
		}
	}
	for _, r := range live {
		close(r.done)
	}
}

// transaction writes the group. A nil error means that the transaction is
// durable and every request has its own outcome; otherwise nothing of it is.
func (w *writer) transaction(group []*request) error {
	if w.conn == nil {
		if err := w.recover(); err != nil {
			return fmt.Errorf("the database failed and could not be opened anew: %w", err)
		}
	}
	err := w.conn.Exec("BEGIN IMMEDIATE")
	if err == nil {
		err = w.apply(group)
		if err == nil {
			err = w.conn.Exec("COMMIT")
		}
	}
	if err == nil {
		return nil
	}
	if !w.conn.GetAutocommit() {
		_ = w.conn.Exec("ROLLBACK") // if this fails, closing the connection undoes it
	}
	if !errors.Is(err, sqlite3.BUSY) {
		w.conn.close()
		w.conn = nil
	}
	return err
}

// recover opens the database anew after a failed write. Frames of the
// write-ahead log whose sync failed may look fine in the page cache and be gone
// after a power cut, and everything appended behind them with them. So the whole
// log is moved into the database file, with a sync of that file, before
// anything more is acknowledged.
func (w *writer) recover() error {
	c, err := w.store.open(context.Background())
	if err != nil {
		return err
	}
	if _, _, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE); err != nil {
		c.close()
		return err
	}
	w.conn = c
	return nil
}

// apply runs each request in its own savepoint. An error means that the
// connection cannot be trusted and the whole transaction has to go.
func (w *writer) apply(group []*request) error {
	c := w.conn
	// The size of the tree counts, not the newest event: a number is never given
	// twice, not even when somebody has removed the tail of the events.
	last, err := treeSize(c)
	if err != nil {
		return err
	}
	first := last
	for _, r := range group {
		r.receipt, r.pruned, r.err = kernel.Receipt{}, 0, nil
		if err := c.exec("SAVEPOINT batch"); err != nil {
			return err
		}
		switch {
		case !r.prune.IsZero():
			r.err = c.exec("DELETE FROM runs WHERE used_ns < ?", r.prune)
			r.pruned = int(c.Changes())
			if r.err == nil {
				r.err = pruneApprovals(c, r.prune.Add(kernel.MetadataTTL))
			}
		case r.note != nil:
			r.err = c.exec("INSERT INTO checkpoints (size, note) VALUES (?, ?)", r.noted, r.note)
		default:
			r.err = writeBatch(c, &r.batch, last)
		}
		if r.err != nil {
			if fatal(r.err) {
				return r.err
			}
			if err := c.Exec("ROLLBACK TO batch"); err != nil {
				return err
			}
		} else if n := int64(len(r.batch.Events)); n > 0 {
			r.receipt = kernel.Receipt{First: last + 1, Last: last + n}
			last += n
		}
		if err := c.exec("RELEASE batch"); err != nil {
			return err
		}
	}
	if last == first {
		return nil
	}
	return c.exec("UPDATE tree_size SET size = ?", last)
}

// fatal reports whether an error says something about the database rather than about the batch.
func fatal(err error) bool {
	var se *sqlite3.Error
	return errors.As(err, &se) && se.Code() != sqlite3.CONSTRAINT && se.Code() != sqlite3.TOOBIG
}

func conflict(what string) error { return fmt.Errorf("sqlite store: %w: %s", kernel.ErrConflict, what) }

// writeBatch checks and writes one batch; last is the newest sequence number.
func writeBatch(c *conn, b *kernel.Batch, last int64) error {
	if err := check(c, b); err != nil {
		return err
	}
	if err := writeRun(c, b); err != nil {
		return err
	}
	for _, sw := range b.StateWrites {
		if err := writeState(c, sw); err != nil {
			return err
		}
	}
	if err := writeLatch(c, b); err != nil {
		return err
	}
	if err := writeApprovals(c, b.Approvals); err != nil {
		return err
	}
	for i := range b.Events {
		if err := writeEvent(c, b.Events[i], last+int64(i)+1); err != nil {
			return err
		}
	}
	return nil
}

// check compares what the batch was computed from with what is stored now.
func check(c *conn, b *kernel.Batch) error {
	if k := b.Unlatched; k != nil {
		latched := false
		err := c.query("SELECT 1 FROM latches WHERE runtime=? AND session=?", func(*sqlite3.Stmt) error {
			latched = true
			return nil
		}, k.Runtime, k.Session)
		if err != nil {
			return err
		}
		if latched {
			return conflict("session latched")
		}
	}
	for _, r := range b.StateReads {
		var version int64
		err := c.query("SELECT version FROM state WHERE namespace=? AND key=?", func(st *sqlite3.Stmt) error {
			version = st.ColumnInt64(0)
			return nil
		}, r.Namespace, r.Key)
		if err != nil {
			return err
		}
		if version != r.Version {
			return conflict("hook state")
		}
	}
	return nil
}

func writeState(c *conn, w kernel.StateWrite) error {
	if w.Delete {
		return c.exec("DELETE FROM state WHERE namespace=? AND key=?", w.Namespace, w.Key)
	}
	if err := c.exec("UPDATE state_version SET version = version + 1"); err != nil {
		return err
	}
	return c.exec(`INSERT INTO state (namespace, key, version, value) VALUES (?, ?, (SELECT version FROM state_version), ?)
		ON CONFLICT DO UPDATE SET version = excluded.version, value = excluded.value`, w.Namespace, w.Key, w.Value)
}

func writeRun(c *conn, b *kernel.Batch) error {
	if r := b.Run; r != nil {
		var version int64
		err := c.query("SELECT version FROM runs WHERE runtime=? AND session=? AND run=?", func(st *sqlite3.Stmt) error {
			version = st.ColumnInt64(0)
			return nil
		}, r.Key.Runtime, r.Key.Session, r.Key.Run)
		if err != nil {
			return err
		}
		if version != r.Version {
			return conflict("run metadata")
		}
		metadata, err := json.Marshal(r.Metadata, json.Deterministic(true))
		if err != nil {
			return err
		}
		retries, err := json.Marshal(r.Retries, json.Deterministic(true))
		if err != nil {
			return err
		}
		err = c.exec(`INSERT INTO runs (runtime, session, run, version, used_ns, metadata, retries) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET version=excluded.version, used_ns=excluded.used_ns, metadata=excluded.metadata, retries=excluded.retries`,
			r.Key.Runtime, r.Key.Session, r.Key.Run, version+1, b.Now, metadata, retries)
		if err != nil {
			return err
		}
	}
	if k := b.TouchRun; k != nil {
		// An expired run stays expired: using it must not bring its contents back.
		return c.exec("UPDATE runs SET used_ns=? WHERE runtime=? AND session=? AND run=? AND used_ns<? AND used_ns>=?",
			b.Now, k.Runtime, k.Session, k.Run, b.Now, b.Now.Add(-kernel.MetadataTTL))
	}
	return nil
}

func writeLatch(c *conn, b *kernel.Batch) error {
	if k := b.ClearLatch; k != nil {
		if err := c.exec("DELETE FROM latches WHERE runtime=? AND session=?", k.Runtime, k.Session); err != nil {
			return err
		}
		if c.Changes() == 0 {
			return conflict("no such latch")
		}
	}
	if b.Latch != nil {
		l := *b.Latch
		l.Since = l.Since.UTC().Round(0)
		body, err := json.Marshal(&l)
		if err != nil {
			return err
		}
		return c.exec("INSERT INTO latches (runtime, session, since_ns, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			l.Runtime, l.Session, l.Since, body)
	}
	return nil
}

func writeEvent(c *conn, e phases.Event, seq int64) error {
	if e.ID == "" {
		return errors.New("event without an id")
	}
	e.Seq = seq
	e.Time = e.Time.UTC()
	body, err := json.Marshal(&e, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if err := grow(c, seq-1, body); err != nil {
		return err
	}
	return c.exec(`INSERT INTO events (seq, id, type, time_ns, phase, runtime, session, agent, invocation, binding, decision, kind, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		seq, e.ID, string(e.Type), e.Time, string(e.Phase), e.Runtime, e.Session, e.Agent, e.Invocation, e.Binding, e.Decision, string(e.Kind), body)
}
