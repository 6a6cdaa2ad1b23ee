package forward

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// share commits a batch with leases or approvals; see the package's comment.
func (s *Store) share(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if err := s.board.trouble(); err != nil {
		return kernel.Receipt{}, s.away(err)
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return kernel.Receipt{}, err
	}
	defer leave()
	if err := s.board.trouble(); err != nil { // it was found out while this one waited
		return kernel.Receipt{}, s.away(err)
	}
	t, err := s.turn(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.failed(err)
		}
		if errors.Is(err, kernel.ErrRollback) {
			err = s.away(err)
		}
		return kernel.Receipt{}, err
	}
	defer t.End()
	m := &middle{store: s, turn: t, batch: &b}
	r, err := s.Store.Share(ctx, b, m)
	if err == nil {
		s.backlog.size.Store(max(s.backlog.size.Load(), r.Last))
		_ = s.sent(context.WithoutCancel(ctx), t.Size()) // it only counts
		s.board.change(func(st *State) { st.Last = time.Now() })
		return r, s.at(stepEnd)
	}
	return s.undone(ctx, m, err)
}

// turn takes the turn to PostgreSQL, and brings the log there up to this one.
func (s *Store) turn(ctx context.Context) (*postgres.Turn, error) {
	central, err := s.reach(ctx)
	if err != nil {
		return nil, err
	}
	t, err := central.Turn(ctx)
	if err != nil {
		return nil, err
	}
	if err = s.at(stepTurn); err == nil {
		err = s.catchUp(ctx, t)
	}
	if err != nil {
		t.End()
		return nil, err
	}
	return t, nil
}

// undone is what comes of a shared batch that was not committed here.
func (s *Store) undone(ctx context.Context, m *middle, err error) (kernel.Receipt, error) {
	switch m.outcome {
	case sqlite.NotRecorded:
		if m.broken != nil {
			s.failed(m.broken)
		}
		return kernel.Receipt{}, err
	case sqlite.Unknown:
		s.failed(err)
		written, rerr := m.turn.Resolve()
		if rerr != nil {
			return kernel.Receipt{}, rerr // the store is being closed; the next one settles it
		}
		if !written {
			m.bodies = nil
		}
	}
	if err := s.at(stepSettle); err != nil {
		return kernel.Receipt{}, err
	}
	if serr := s.Store.Settle(context.WithoutCancel(ctx), m.first, m.bodies); serr != nil {
		s.failed(here(serr))
		return kernel.Receipt{}, serr // the forwarder tries it again
	}
	s.nudge()
	if m.bodies == nil {
		return kernel.Receipt{}, err
	}
	return kernel.Receipt{First: m.first, Last: m.first + int64(len(m.bodies)) - 1}, nil
}

// middle is PostgreSQL's part of a shared batch, in the turn of the local writer. It implements sqlite.Sharing.
type middle struct {
	store   *Store
	turn    *postgres.Turn
	batch   *kernel.Batch
	until   time.Time
	first   int64
	bodies  [][]byte
	dues    bool  // it is no batch of a caller, but what is due
	after   int64 // what is due counts behind so many events only; -1: wherever
	outcome sqlite.Outcome
	refused bool  // an error is not of belay.db
	broken  error // why PostgreSQL cannot be used
}

func (m *middle) bounded() (context.Context, context.CancelFunc) {
	return context.WithDeadline(context.Background(), m.until)
}

// Decide implements sqlite.Sharing.
func (m *middle) Decide(size int64, high time.Time) (d restrict.Digest, err error) {
	m.until, m.first = time.Now().Add(m.store.o.Turn), size+1
	ctx, cancel := m.bounded()
	defer cancel()
	if err = m.store.at(stepDecide); err == nil {
		err = m.store.forwardTo(ctx, m.turn, size)
	}
	switch {
	case err != nil:
	case m.dues && m.after >= 0 && m.after != size:
		err = grownError{}
	case m.dues:
		d, err = m.turn.DecideDues(ctx, m.batch.Events)
	default:
		d, err = m.turn.Decide(ctx, m.batch, high)
	}
	if err == nil {
		err = m.store.at(stepDecided)
	}
	return d, m.note(err)
}

// note remembers an error that says that PostgreSQL cannot be used.
func (m *middle) note(err error) error {
	m.refused = m.refused || err != nil
	if err != nil && postgres.Away(err) {
		m.broken = err
	}
	return err
}

// Record implements sqlite.Sharing.
func (m *middle) Record(bodies [][]byte) (sqlite.Outcome, error) {
	ctx, cancel := m.bounded()
	defer cancel()
	m.bodies = bodies
	if err := m.store.at(stepRecord); err != nil {
		return m.outcome, err
	}
	err := m.turn.Commit(ctx, bodies)
	switch {
	case err == nil:
		m.outcome = sqlite.Recorded
		err = m.store.at(stepRecorded)
	case postgres.Undecided(err):
		m.outcome = sqlite.Unknown
	}
	return m.outcome, m.note(err)
}

// settle finds out what became of a shared batch that another process, or an earlier call, has left. Preconditions: the
// caller holds turns.
func (s *Store) settle(ctx context.Context, t *postgres.Turn) error {
	u, err := s.Store.Unsettled(ctx)
	s.board.change(func(st *State) {
		if st.Unsettled = 0; u != nil {
			st.Unsettled = u.First
		}
	})
	if err != nil || u == nil {
		return err
	}
	var bodies [][]byte
	if t.Size() >= u.First {
		if len(u.IDs) == 0 || t.Size() != u.First+int64(len(u.IDs))-1 {
			return unavailable("settle", &postgres.ForkedError{Why: fmt.Sprintf("the log of kernel %q in PostgreSQL has %d "+
				"events; this one waits for %d from %d on", s.there.Kernel, t.Size(), len(u.IDs), u.First)})
		}
		if bodies, err = t.Bodies(ctx, u.First, len(u.IDs)); err != nil {
			return err
		}
	}
	foreign := s.foreign(u, bodies)
	if foreign != nil {
		bodies = nil // numbers are given once: what was to be written here is not there
	}
	if err := s.at(stepSettle); err != nil {
		return err
	}
	if err := s.Store.Settle(ctx, u.First, bodies); err != nil {
		return here(err)
	}
	s.board.change(func(st *State) { st.Unsettled = 0 })
	return foreign
}

// foreign returns an error if the events there are not those of the shared batch.
func (s *Store) foreign(u *sqlite.Unsettled, bodies [][]byte) error {
	for i, body := range bodies {
		var e phases.Event
		if eventbytes.Head(body, &e) != nil || e.ID != u.IDs[i] {
			return unavailable("settle", &postgres.ForkedError{Why: fmt.Sprintf("event %d of kernel %q in PostgreSQL is of "+
				"another program than the one with this belay.db", u.First+int64(i), s.there.Kernel)})
		}
	}
	return nil
}
