package sqlite

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
)

// A request is one batch on its way through the writer, or other work for it.
type request struct {
	batch  kernel.Batch
	events []encoded         // of the batch
	buffer []byte            // in which they are
	work   func(*conn) error // not nil: this instead of the batch, in the same transaction; may be run more than once
	rows   bool              // work rests on rows that restrict

	durable bool // the mark is to be durable, too

	recover *marked.Plan // not nil: instead of all that

	share   *sharing // not nil: a part of the batch is decided elsewhere
	settles bool     // it may be written while a shared batch is not settled
	back    bool     // it brings back events that were lost, without the rows that they record
	brings  bool     // it stands before events, though it has none

	uses    []highwater.Use // what the batch uses up; set when it is written
	taken   atomic.Bool     // set by the first to decide: the writer, or a caller that gave up
	receipt kernel.Receipt
	err     error
	done    chan struct{} // closed when it is decided; nil when its caller does that
}

// Commit implements kernel.Store.
func (s *Store) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	r := &request{batch: b, buffer: s.buffers.Get()}
	err := b.Valid()
	if err == nil {
		r.events, r.buffer, err = encode(s.packs, r.buffer, b.Events)
	}
	defer func() { s.buffers.Put(r.buffer) }() // the writer has written the events, or does not look at them
	if err == nil {
		err = s.submit(ctx, r)
	}
	if err != nil {
		return kernel.Receipt{}, unavailable("commit", err)
	}
	return r.receipt, nil
}

// do has the writer run f in a transaction.
func (s *Store) do(ctx context.Context, op string, f func(*conn) error) error {
	if err := s.submit(ctx, &request{work: f}); err != nil {
		return unavailable(op, err)
	}
	return nil
}

// doOnRows is do for work that rests on rows that restrict.
func (s *Store) doOnRows(ctx context.Context, op string, f func(*conn) error) error {
	if err := s.submit(ctx, &request{work: f, rows: true}); err != nil {
		return unavailable(op, err)
	}
	return nil
}

// Probe implements kernel.Store.
func (s *Store) Probe(ctx context.Context, now time.Time) error {
	return s.doOnRows(ctx, "probe", func(c *conn) error {
		return c.exec("UPDATE restrictions SET probed_ns=?", now)
	})
}

// prune drops what has had its time.
func prune(c *conn, now time.Time) (runs int, err error) {
	err = c.query("DELETE FROM runs WHERE used_ns < ? RETURNING runtime, session, run", func(st *sqlite3.Stmt) error {
		runs++
		c.touch(restrict.Runs, st.ColumnText(0), st.ColumnText(1), st.ColumnText(2))
		return nil
	}, now.Add(-kernel.MetadataTTL))
	if err != nil {
		return 0, err
	}
	if err := pruneApprovals(c, now); err != nil {
		return 0, err
	}
	return runs, pruneLeases(c, now)
}

// submit has the request decided, and waits for its outcome.
func (s *Store) submit(ctx context.Context, r *request) error {
	if ctx.Err() == nil && s.writes != nil && s.writes.byCaller(r) {
		return r.err
	}
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
	r.done = make(chan struct{})
	s.writes.waiting.Add(1)
	select {
	case s.requests <- r:
		return nil
	case <-ctx.Done():
		s.writes.waiting.Add(-1)
		return ctx.Err()
	}
}
