package forward

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
)

// Store is a kernel.Store in a local database, with leases and approvals in PostgreSQL. It is safe for concurrent use.
// What it does not say otherwise is local.
type Store struct {
	*sqlite.Store
	o     Options
	there postgres.Options
	board board

	turns chan struct{} // held by the one that settles or shares

	mu      sync.Mutex
	central *postgres.Store // nil: it was never reached
	refused bool            // no connection is tried any more: the store is being closed

	connection int64 // of the turn that was last compared with the local log; of the one that holds turns
	heads      int64 // id of the last checkpoint that was forwarded; likewise
	hinted     int64 // what the hint says; likewise
	again      bool  // a person has agreed that what PostgreSQL has lost is sent again; likewise

	backlog backlog
	report  atomic.Pointer[[]byte] // what the kernel says of itself
	prune   atomic.Int64           // from when on shared rows are pruned beside a batch that needs none, ns

	wake  chan struct{}
	stop  chan struct{}
	tried chan struct{} // closed when the forwarder has tried once
	ended chan struct{} // closed when it has ended
	once  sync.Once

	fault atomic.Pointer[func(step) error] // of tests
}

// A step is a place at which tests have it fail.
type step string

const (
	stepTurn     step = "turn"     // the turn of the writer to PostgreSQL was taken
	stepForward  step = "forward"  // leaves were read and not sent
	stepSent     step = "sent"     // they are there
	stepDecide   step = "decide"   // the intent is committed, and the local part is prepared
	stepDecided  step = "decided"  // PostgreSQL has decided and not committed
	stepRecord   step = "record"   // the events are made, and PostgreSQL is about to commit
	stepRecorded step = "recorded" // it has committed
	stepSettle   step = "settle"   // it is known what it has, and not written down here
	stepEnd      step = "end"      // both have committed

	stepReset step = "reset" // a recovery was agreed to, and nothing of it is written down
	stepBack  step = "back"  // events of an older copy of belay.db are about to be brought back
	stepAgain step = "again" // what PostgreSQL has lost is there again, and the event of the recovery is not
)

func (s *Store) at(p step) error {
	if f := s.fault.Load(); f != nil {
		return (*f)(p)
	}
	return nil
}

// Open takes the local store and shares with PostgreSQL, which need not be there yet. Close closes both. The error is
// one of the options; then the local store stays the caller's.
func Open(ctx context.Context, local *sqlite.Store, there postgres.Options, o Options) (*Store, error) {
	s, err := open(ctx, local, there, o)
	if err != nil {
		return nil, err
	}
	s.start(ctx)
	return s, nil
}

func open(ctx context.Context, local *sqlite.Store, there postgres.Options, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, unavailable("open", err)
	}
	there.Forwarding, there.ReadOnly = true, false
	if err := there.Check(); err != nil {
		return nil, unavailable("open", err)
	}
	s := &Store{Store: local, o: o, there: there, turns: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		stop: make(chan struct{}), tried: make(chan struct{}),
		ended: make(chan struct{})}
	s.board.state.Kernel, s.board.state.Keep = there.Kernel, o.Keep
	s.board.open(errNotYet(), time.Now())
	if s.hinted, err = local.Forwarded(ctx); err != nil {
		return nil, err
	}
	s.board.change(func(st *State) { st.Forwarded = s.hinted })
	s.backlog.forwarded.Store(s.hinted)
	s.backlog.counted = s.hinted
	if err := s.count(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// start has the forwarder begin. It waits a little for PostgreSQL: it is usually there.
func (s *Store) start(ctx context.Context) {
	go s.run()
	select {
	case <-s.tried:
	case <-ctx.Done():
	case <-time.After(firstWait):
	}
}

func errNotYet() error { return errors.New("it was not reached yet") }

func unavailable(op string, err error) error {
	if errors.Is(err, kernel.ErrUnavailable) || errors.Is(err, kernel.ErrConflict) {
		return err
	}
	return fmt.Errorf("forwarding store: %s: %w: %w", op, kernel.ErrUnavailable, err)
}

// State says how the store stands.
func (s *Store) State() State {
	st := s.board.read()
	size := s.backlog.size.Load()
	st.Forwarded = s.backlog.forwarded.Load()
	st.Waiting = max(0, size-st.Forwarded)
	st.Bytes = s.backlog.bytes()
	st.Full = st.Bytes > s.o.Keep
	return st
}

// Close implements kernel.Store.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.stop) })
	s.mu.Lock()
	s.refused = true
	central := s.central
	s.mu.Unlock()
	<-s.ended
	var err error
	if central != nil {
		err = central.Close()
	}
	return errors.Join(err, s.Store.Close())
}

// MarkTrouble says why belay.db, or else PostgreSQL, is used without a mark although one is wanted; nil when both have
// one, or will have.
func (s *Store) MarkTrouble() error {
	if err := s.Store.MarkTrouble(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.central == nil {
		return nil
	}
	if err := s.central.MarkTrouble(); err != nil {
		return fmt.Errorf("about PostgreSQL: %w", err)
	}
	return nil
}

// backlog is what waits to be forwarded.
type backlog struct {
	forwarded atomic.Int64 // events that PostgreSQL has
	size      atomic.Int64 // events that there are here, as far as counted
	stored    atomic.Int64 // bytes of those in between
	since     atomic.Int64 // bytes that this process has committed since

	mu      sync.Mutex
	counted int64 // the last event that stored covers
}

func (b *backlog) bytes() int64 { return b.stored.Load() + b.since.Load() }

// count brings the backlog up to the local log.
func (s *Store) count(ctx context.Context) error {
	b := &s.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.since.Load()
	size, err := s.Store.LogSize(ctx)
	if err != nil {
		return err
	}
	if from := max(b.counted, b.forwarded.Load()); size > from {
		n, err := s.Store.StoredBytes(ctx, from, size)
		if err != nil {
			return err
		}
		b.stored.Add(n)
	}
	b.counted = max(b.counted, size)
	b.size.Store(size)
	b.since.Add(-own) // what was committed meanwhile may count twice for a moment
	return nil
}

// sent notes that PostgreSQL has events up to size.
func (s *Store) sent(ctx context.Context, size int64) error {
	b := &s.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.forwarded.Load()
	switch {
	case size < was: // it has lost some, or the hint was wrong
		n, err := s.Store.StoredBytes(ctx, size, min(was, b.counted))
		if err != nil {
			return err
		}
		b.stored.Add(n)
	case size >= b.counted:
		b.stored.Store(0)
		b.counted = size
	case size > was:
		n, err := s.Store.StoredBytes(ctx, was, size)
		if err != nil {
			return err
		}
		b.stored.Add(-min(n, b.stored.Load()))
	}
	b.forwarded.Store(size)
	return nil
}

var _ kernel.Store = (*Store)(nil)
