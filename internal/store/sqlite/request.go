package sqlite

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/kernel"
)

// A request is one batch on its way through the writer, or other work for it.
type request struct {
	batch  kernel.Batch
	bodies [][]byte          // the encoded events, without their numbers
	work   func(*conn) error // not nil: this instead of the batch, in the same transaction; may be run more than once

	durable bool // the mark is to be durable, too

	recover func(Stand) (*highwater.State, error) // not nil: instead of all that

	uses    []highwater.Use // what the batch uses up; set when it is written
	taken   atomic.Bool     // set by whoever decides first: the writer, or a caller that gave up
	receipt kernel.Receipt
	err     error
	done    chan struct{}
}

// Commit implements kernel.Store.
func (s *Store) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	r := &request{batch: b, done: make(chan struct{})}
	var err error
	if r.bodies, err = encode(b.Events); err == nil {
		err = s.submit(ctx, r)
	}
	if err != nil {
		return kernel.Receipt{}, unavailable("commit", err)
	}
	return r.receipt, nil
}

// do has the writer run f in a transaction.
func (s *Store) do(ctx context.Context, op string, f func(*conn) error) error {
	if err := s.submit(ctx, &request{work: f, done: make(chan struct{})}); err != nil {
		return unavailable(op, err)
	}
	return nil
}

// Prune implements kernel.Store.
func (s *Store) Prune(ctx context.Context, now time.Time) (pruned int, err error) {
	err = s.do(ctx, "prune", func(c *conn) error {
		err := c.exec("DELETE FROM runs WHERE used_ns < ?", now.Add(-kernel.MetadataTTL))
		pruned = int(c.Changes())
		if err != nil {
			return err
		}
		if err := pruneApprovals(c, now); err != nil {
			return err
		}
		return pruneLeases(c, now)
	})
	if err != nil {
		return 0, err
	}
	return pruned, nil
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
