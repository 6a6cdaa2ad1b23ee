package forward

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
)

// run forwards what is committed, until the store is closed.
func (s *Store) run() {
	defer close(s.ended)
	s.pass()
	close(s.tried)
	for {
		pause := s.o.Probe
		t := time.NewTimer(pause)
		wake := s.wake
		if s.board.trouble() != nil {
			wake = nil // commits do not make it try more often
		}
		select {
		case <-s.stop:
			t.Stop()
			s.last()
			return
		case <-wake:
			t.Stop()
		case <-t.C: // other processes may have committed
		}
		s.pass()
	}
}

// last forwards what it can in short time, so that a process that ends at once leaves little, and notes how far it
// came.
func (s *Store) last() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWait)
	defer cancel()
	if s.board.trouble() == nil {
		_ = s.forwardAll(ctx) // the next process goes on from where it ends
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return
	}
	defer leave()
	if n := s.backlog.forwarded.Load(); n != s.hinted {
		_ = s.Store.SetForwarded(ctx, n) // a hint
	}
}

// nudge has the forwarder look.
func (s *Store) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// enter takes what settles and shares.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func errClosed() error { return errors.New("closed") }

// background is the context of work that the closing of the store ends.
func (s *Store) background() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// pass tries to bring the log there up to the one here.
func (s *Store) pass() {
	ctx, cancel := s.background()
	defer cancel()
	err := s.count(ctx)
	if err == nil {
		err = s.forwardAll(ctx)
	}
	if err == nil {
		s.board.close()
	} else if ctx.Err() == nil {
		s.failed(err)
	}
}

// failed opens the circuit.
func (s *Store) failed(err error) {
	s.board.open(err, time.Now()) // first: who sees the fork sees the trouble
	var forked *postgres.ForkedError
	switch {
	case errors.As(err, &forked):
		s.board.change(func(st *State) { st.Forked = forked.Error() + "; " + whatToDoForked })
	case wentBack(err):
		s.board.change(func(st *State) { st.Lost = highwater.Reason(err) + "; " + whatToDo })
	}
}

// reach returns the connections to PostgreSQL.
func (s *Store) reach(ctx context.Context) (*postgres.Store, error) {
	s.mu.Lock()
	central, refused := s.central, s.refused
	s.mu.Unlock()
	switch {
	case central != nil:
		return central, nil
	case refused:
		return nil, errClosed()
	}
	central, err := postgres.Open(ctx, s.there)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused {
		_ = central.Close()
		return nil, errClosed()
	}
	if s.central != nil { // another reader was faster
		_ = central.Close()
		return s.central, nil
	}
	s.central = central
	if body := s.report.Load(); body != nil {
		central.SetReport(*body)
	}
	return central, nil
}

// forwardAll forwards all that there is.
func (s *Store) forwardAll(ctx context.Context) error {
	if st := s.board.read(); st.Forked != "" {
		return s.board.trouble() // until the program is started anew
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	central, err := s.reach(ctx)
	if err != nil {
		return err
	}
	t, err := central.Turn(ctx)
	if err != nil {
		return err
	}
	defer t.End()
	if err := s.at(stepTurn); err != nil {
		return err
	}
	if err := s.catchUp(ctx, t); err != nil {
		return err
	}
	return s.forwardHeads(ctx, t)
}

// catchUp settles what is not settled, and forwards what the local log has. Preconditions: the caller holds turns.
func (s *Store) catchUp(ctx context.Context, t *postgres.Turn) error {
	err := s.bringUp(ctx, t)
	if wentBack(err) {
		t.Lose(err)
	}
	return err
}

func (s *Store) bringUp(ctx context.Context, t *postgres.Turn) error {
	if err := s.bringBack(ctx, t); err != nil {
		return err
	}
	if err := s.settle(ctx, t); err != nil {
		return err
	}
	size, err := s.Store.LogSize(ctx)
	if err != nil {
		return err
	}
	if err := s.forwardTo(ctx, t, size); err != nil {
		return err
	}
	if err := s.begun(ctx, t); err != nil {
		return err
	}
	if err := s.due(ctx, t, nil); err != nil {
		return err
	}
	if t.Size()-s.hinted >= hintEvery { // not in forwardTo, which is also called in the turn of the local writer
		if err := s.Store.SetForwarded(ctx, t.Size()); err == nil {
			s.hinted = t.Size()
		}
	}
	return nil
}

// forwardTo forwards the first size events.
func (s *Store) forwardTo(ctx context.Context, t *postgres.Turn, size int64) error {
	if err := s.compare(ctx, t, size); err != nil {
		return err
	}
	for t.Size() < size {
		bodies, err := s.Store.Bodies(ctx, t.Size(), int(min(chunkEvents, size-t.Size())), chunkBytes)
		if err == nil && len(bodies) == 0 {
			err = fmt.Errorf("event %d is not in the log any more", t.Size()+1)
		}
		if err != nil {
			return err
		}
		if err := s.lost(t.Size(), bodies); err != nil && !s.again {
			return err
		}
		if err := s.at(stepForward); err != nil {
			return err
		}
		if err := t.Forward(ctx, bodies, func(peaks map[int64]tlog.Hash) error { return s.same(ctx, peaks) }); err != nil {
			return err
		}
		if err := s.at(stepSent); err != nil {
			return err
		}
		if err := s.sent(ctx, t.Size()); err != nil {
			return err
		}
		s.board.change(func(st *State) { st.Last = time.Now() })
	}
	return nil
}

// compare makes sure, once for each connection, that the log there is a beginning of the one here, of size events.
func (s *Store) compare(ctx context.Context, t *postgres.Turn, size int64) error {
	if t.Connection() == s.connection {
		return nil
	}
	if err := s.compareAnew(ctx, t, size); err != nil {
		return err
	}
	t.Compared()
	return nil
}

func (s *Store) compareAnew(ctx context.Context, t *postgres.Turn, size int64) error {
	if t.Size() > size {
		return unavailable("forward", &postgres.ForkedError{Why: fmt.Sprintf("the log in PostgreSQL has %d events, and this "+
			"one %d: belay.db is an older copy, or another program writes as kernel %q", t.Size(), size, s.there.Kernel)})
	}
	if err := s.same(ctx, t.Peaks()); err != nil {
		return err
	}
	if err := s.sent(ctx, t.Size()); err != nil {
		return err
	}
	var err error
	if s.heads, err = s.headsThere(ctx, t); err != nil {
		return err
	}
	s.connection = t.Connection()
	return nil
}

// headsThere returns the id of the last checkpoint that PostgreSQL has. They get there in their order.
func (s *Store) headsThere(ctx context.Context, t *postgres.Turn) (int64, error) {
	last, err := t.LastHead(ctx)
	if err != nil || last == nil {
		return 0, err
	}
	return s.Store.HeadID(ctx, last.Size, last.Note) // 0 when it is not one of these: all are sent
}

// same compares hashes with those of the local tree.
func (s *Store) same(ctx context.Context, peaks map[int64]tlog.Hash) error {
	var indexes []int64
	for x := range peaks {
		indexes = append(indexes, x)
	}
	if len(indexes) == 0 {
		return nil
	}
	own, err := s.Store.LogHashes(ctx, indexes)
	if err != nil {
		return err
	}
	for i, x := range indexes {
		if own[i] != peaks[x] {
			level, n := tlog.SplitStoredHashIndex(x)
			return unavailable("forward", &postgres.ForkedError{Why: fmt.Sprintf("events %d to %d differ between belay.db and "+
				"the log of kernel %q in PostgreSQL", n<<level+1, (n+1)<<level, s.there.Kernel)})
		}
	}
	return nil
}

// lost looks for an event that PostgreSQL had before this log did.
func (s *Store) lost(after int64, bodies [][]byte) error {
	for i, body := range bodies {
		if _, shared := leaf.SharedOf(body); shared {
			return fmt.Errorf("%w: %w: PostgreSQL has lost event %d of kernel %q, with the leases and approvals that it "+
				"records; it has %d events", kernel.ErrRollback, kernel.ErrUnavailable, after+int64(i)+1, s.there.Kernel, after)
		}
	}
	return nil
}

// forwardHeads forwards checkpoints of what was forwarded.
func (s *Store) forwardHeads(ctx context.Context, t *postgres.Turn) error {
	for {
		heads, err := s.Store.Heads(ctx, s.heads, chunkHeads)
		if err != nil || len(heads) == 0 {
			return err
		}
		list := make([]postgres.Head, len(heads))
		for i, h := range heads {
			list[i] = postgres.Head{Size: h.Size, Note: h.Note}
		}
		n, err := t.ForwardHeads(ctx, list)
		if err != nil {
			return err
		}
		if n > 0 {
			s.heads = heads[n-1].ID
		}
		if n < len(heads) {
			return nil // the next pass has the events
		}
	}
}
