package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
)

// A request is one batch on its way through the writer, or other work for it.
type request struct {
	batch kernel.Batch
	texts [][]byte // its events, but for their numbers
	bytes int      // of the texts
	work  func(context.Context, *pgx.Conn) error
	turn  *Turn

	recover *marked.Plan // not nil: instead of all that

	mu      sync.Mutex // while the writer looks at the batch, its caller does not return
	decided bool       // by the first: the writer, or a caller that gave up
	receipt kernel.Receipt
	err     error
	done    chan struct{} // gets one when it is decided

	buffer []byte // that texts are in
	given  bool   // up by its caller: the writer may yet look at it
}

// maxKept is how many bytes of a request's texts are kept for the next one.
const maxKept = 256 << 10

// reset makes a request that is over one of no batch.
func (r *request) reset() {
	if cap(r.buffer) > maxKept {
		r.buffer = nil
	}
	clear(r.texts)
	r.batch, r.bytes, r.decided, r.receipt, r.err = kernel.Batch{}, 0, false, kernel.Receipt{}, nil
}

// take reports whether the one who asks is the first to decide about the request.
func (r *request) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.decided
	r.decided = true
	return first
}

// waits calls f while the caller of the request waits, unless one of the two has decided. The caller stays until then.
func (r *request) waits(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.decided {
		f()
	}
}

func errClosed() error { return errors.New("closed") }

// Commit implements kernel.Store.
func (s *Store) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	err := b.Valid()
	if err == nil && s.o.Forwarding {
		err = errors.New("the log of this kernel is in a store of its own")
	}
	if err != nil {
		return kernel.Receipt{}, unavailable("commit", err)
	}
	r, _ := s.spare.Get().(*request)
	if r == nil {
		r = &request{}
	}
	r.batch = b
	if err = r.encode(); err == nil {
		err = s.submit(ctx, r)
	}
	receipt := r.receipt
	if !r.given {
		r.reset()
		s.spare.Put(r)
	}
	if err != nil {
		return kernel.Receipt{}, unavailable("commit", err)
	}
	return receipt, nil
}

// encode makes the texts of the batch's events.
func (r *request) encode() (err error) {
	r.texts, r.buffer, err = leaf.AppendTexts(r.texts[:0], r.buffer[:0], r.batch.Events)
	for _, t := range r.texts {
		r.bytes += len(t)
	}
	return err
}

// do has the writer run f on its connection.
func (s *Store) do(ctx context.Context, op string, f func(context.Context, *pgx.Conn) error) error {
	if err := s.submit(ctx, &request{work: f}); err != nil {
		return unavailable(op, err)
	}
	return nil
}

// doubt has the writer compare all rows anew, where an error says that one of them was edited: it gives the kernel's
// name back then, to those who recover. It returns the error.
func (s *Store) doubt(err error) error {
	if errors.Is(err, kernel.ErrTampered) {
		s.doubts.Store(true)
	}
	return err
}

// watchRows compares all rows that restrict once a minute, until the store is closed: a kernel that decides nothing
// notices as well that they were edited.
func (s *Store) watchRows() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-s.stop
		cancel()
	}()
	every := time.NewTicker(probeAll)
	defer every.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-every.C:
			_, _ = s.Restrictions(ctx) // which has the writer look, if it has to
		}
	}
}

// probeAll is how long a comparison of all rows that restrict counts for Probe. Those that a batch or a
// read names are compared each time.
const probeAll = time.Minute

// Probe implements kernel.Store. A store that is open for reading only is compared, and not written to.
func (s *Store) Probe(ctx context.Context, now time.Time) error {
	if s.writes != nil {
		if err := s.submit(ctx, &request{batch: kernel.Batch{Now: now}}); err != nil {
			return unavailable("probe", err)
		}
	}
	if at := s.compared.Load(); at != nil && time.Since(*at) < probeAll {
		return nil
	}
	r, err := s.Restrictions(ctx)
	if err == nil && r.Tampered != nil {
		err = r.Tampered
	}
	if err != nil {
		s.compared.Store(nil)
		return unavailable("probe", err)
	}
	at := time.Now()
	s.compared.Store(&at)
	return nil
}

// submit has the request decided, and waits for its outcome.
func (s *Store) submit(ctx context.Context, r *request) error {
	now := s.circuit.now()
	if err := s.enqueue(ctx, r, now); err != nil {
		return err
	}
	var err error
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-r.refused(now):
		err = now.why
	}
	if r.take() {
		r.given = true
		return err // the writer will skip it
	}
	<-r.done
	return r.err
}

// refused is closed when the request has to wait for a database that is away. A person who recovers waits for that.
func (r *request) refused(now *reach) <-chan struct{} {
	if r.recover != nil || r.turn != nil {
		return nil
	}
	return now.lasts.Done()
}

func (s *Store) enqueue(ctx context.Context, r *request, now *reach) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.closed:
		return errClosed()
	case s.writes == nil:
		return errors.New("opened for reading only")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if r.done == nil {
		r.done = make(chan struct{}, 1)
	}
	refused := r.refused(now)
	select {
	case <-refused:
		return now.why
	default:
	}
	select {
	case s.requests <- r:
		s.nudged()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-refused:
		return now.why
	}
}

// nudged wakes the writer when it waits for as many requests as there are.
func (s *Store) nudged() {
	if need := s.need.Load(); need > 0 && int64(len(s.requests)) >= need {
		select {
		case s.nudge <- struct{}{}:
		default: // it is awake already
		}
	}
}
