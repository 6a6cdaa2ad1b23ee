package forward

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// PostgreSQL went back when it lacks what its mark knows: events that were forwarded, what other kernels have
// recorded, or a use. Then nothing goes there before a person has agreed. The local log has all of its events and
// goes on. To recover sends again what is gone, and adds one batch: the event of the recovery, the uses that the
// mark knows, and what is taken back since a lost event may have used it.

// soundError is a class of errors for errors.Is: belay.db needs no recovery.
type soundError struct{}

func (soundError) Error() string { return "belay.db is as its mark and its log say" }

// Recover recovers belay.db where it went back or its rows were edited, as sqlite.Store.Recover does, and else
// PostgreSQL where that went back. The Stand that plan gets says which it is. The error is that of plan, which
// has changed nothing then, or kernel.ErrUnavailable.
func (s *Store) Recover(ctx context.Context, advise func() (marked.Advice, error),
	plan func(marked.Stand) (marked.Decision, error)) error {
	if err := s.keepUnsettled(ctx); err != nil {
		return unavailable("recover", err)
	}
	if err := s.keepSent(ctx); err != nil {
		return unavailable("recover", err)
	}
	err := s.Store.Recover(ctx, advise, func(now marked.Stand) (marked.Decision, error) {
		if now.Wrong == nil && now.Repair == nil {
			return marked.Decision{}, soundError{}
		}
		return plan(now)
	})
	if !errors.Is(err, soundError{}) {
		return err
	}
	if err := s.recoverCentral(ctx, plan); err != nil {
		if errors.Is(err, marked.ErrRefused) {
			return err
		}
		if forked := (*postgres.ForkedError)(nil); errors.As(err, &forked) {
			return s.away(err)
		}
		return unavailable("recover PostgreSQL; belay.db needs no recovery", err)
	}
	s.nudge()
	return nil
}

func (s *Store) recoverCentral(ctx context.Context, plan recoveryPlan) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	central, err := s.reach(ctx)
	if err != nil {
		return err
	}
	t, err := central.RecoveryTurn(ctx)
	if err != nil {
		return err
	}
	defer t.End()
	if err := s.recoverOnce(ctx, t, plan); err != nil {
		return err
	}
	s.board.close()
	return nil
}

// grownError is a class of errors for errors.Is: other processes have added events to the local log since a recovery
// was planned. What it says is signed, and names the size of the log.
type grownError struct{}

func (grownError) Error() string { return "the log has grown meanwhile" }

// planTries bounds how often a recovery is planned anew beside a process that is busy.
const planTries = 50

// unmarkedError is a class of errors for errors.Is: nothing could say that a recovery was cut off. Uses that were to be
// taken back would count then, and a lost use could be made again.
type unmarkedError struct{}

func (unmarkedError) Error() string {
	return "no high-water mark about PostgreSQL can be kept, so a recovery that is cut off could not be told from one " +
		"that ended: name a directory in belay.yaml first (events: {high_water: DIR})"
}

type recoveryPlan func(marked.Stand) (marked.Decision, error)

func (s *Store) recoverOnce(ctx context.Context, t *postgres.Turn, plan recoveryPlan) error {
	stand, kept, err := s.stand(ctx, t)
	if err != nil {
		return err
	}
	if !kept && stand.Wrong != nil {
		return marked.Refused(unmarkedError{})
	}
	next, err := plan(stand)
	if err != nil {
		return marked.Refused(err)
	}
	if !kept {
		next.Mark = nil
	}
	if err := s.at(stepReset); err != nil {
		return err
	}
	if err := t.Reset(ctx, next.Mark); err != nil {
		return err
	}
	if err := s.carryOut(ctx, t, plan, stand, next); err != nil {
		return fmt.Errorf("%w: %w", marked.ErrBegun, err)
	}
	return nil
}

// carryOut sends again what PostgreSQL has lost, and adds what is due.
func (s *Store) carryOut(ctx context.Context, t *postgres.Turn, plan recoveryPlan, stand marked.Stand,
	next marked.Decision) error {
	if err := s.settle(ctx, t); err != nil { // of a batch that PostgreSQL has lost: it is not there
		return err
	}
	s.again = true
	defer func() { s.again = false }()
	for n := 0; ; n++ {
		now, err := s.head(ctx)
		if err == nil {
			err = s.forwardTo(ctx, t, now.Size)
		}
		if err == nil && now.Size != stand.Next.Size {
			stand.Next = now
			if next, err = plan(stand); err == nil {
				err = t.Replan(ctx, next.Mark)
			}
		}
		if err == nil {
			err = s.at(stepAgain)
		}
		if err == nil {
			err = s.due(ctx, t, &recovery{&next.Event, now.Size})
		}
		if err == nil {
			return t.Finish(ctx)
		}
		if !errors.Is(err, grownError{}) || n == planTries {
			return err
		}
	}
}

// head returns how far the local log has come.
func (s *Store) head(ctx context.Context) (h highwater.Head, err error) {
	if h.Size, err = s.Store.LogSize(ctx); err != nil {
		return h, err
	}
	h.Root, err = tlog.TreeHash(h.Size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		own, err := s.Store.LogHashes(ctx, indexes)
		out := make([]tlog.Hash, len(own))
		for i := range own {
			out[i] = own[i]
		}
		return out, err
	}))
	return h, err
}

// stand says how PostgreSQL stands.
func (s *Store) stand(ctx context.Context, t *postgres.Turn) (now marked.Stand, kept bool, err error) {
	u, err := s.Store.Unsettled(ctx)
	if err == nil && u != nil && t.Size() >= u.First { // it is there, so that nothing is to be decided about it
		err = s.settle(ctx, t)
	}
	if err != nil {
		return now, false, err
	}
	size, err := s.Store.LogSize(ctx)
	if err != nil {
		return now, false, err
	}
	if err := s.compareAnew(ctx, t, size); err != nil { // a fork is not healed by going on
		return now, false, err
	}
	if now, kept, err = t.Stand(ctx); err != nil {
		return now, false, err
	}
	if now.Wrong == nil {
		now.Wrong, err = s.unfinished(ctx, t)
	}
	if now.Wrong == nil && err == nil {
		now.Wrong, err = s.missing(ctx, t.Size(), size)
	}
	if err != nil {
		return now, false, err
	}
	now.Next, err = s.head(ctx)
	return now, kept, err
}

// unfinished returns an error of a recovery that was begun, and whose event the local log does not have.
func (s *Store) unfinished(ctx context.Context, t *postgres.Turn) (wrong, err error) {
	e, err := t.Pending()
	if err != nil || e == nil {
		return nil, err
	}
	return s.unwritten(ctx, e.ID)
}

func (s *Store) unwritten(ctx context.Context, event string) (wrong, err error) {
	there, err := s.logged(ctx, []string{event})
	if err != nil || there[event] {
		return nil, err
	}
	return fmt.Errorf("%w: %w: %w, of PostgreSQL for kernel %q", kernel.ErrRollback, kernel.ErrUnavailable,
		marked.ErrBegun, s.there.Kernel), nil
}

// begun refuses to go on while a recovery has not ended.
func (s *Store) begun(ctx context.Context, t *postgres.Turn) error {
	e, err := t.Pending()
	if err != nil || e == nil || s.again {
		return err
	}
	if wrong, err := s.unfinished(ctx, t); wrong != nil || err != nil {
		return errors.Join(wrong, err)
	}
	return t.Finish(ctx)
}

// missing looks for an event that PostgreSQL had before the local log, and has no more.
func (s *Store) missing(ctx context.Context, after, size int64) (wrong, err error) {
	for after < size && wrong == nil {
		bodies, err := s.Store.Bodies(ctx, after, int(min(chunkEvents, size-after)), chunkBytes)
		if err == nil && len(bodies) == 0 {
			err = fmt.Errorf("event %d is not in the log any more", after+1)
		}
		if err != nil {
			return nil, err
		}
		wrong = s.lost(after, bodies)
		after += int64(len(bodies))
	}
	return wrong, nil
}

// logged returns which events the local log has.
func (s *Store) logged(ctx context.Context, ids []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, id := range ids {
		es, err := s.Store.Events(ctx, wire.Query{ID: id, Limit: 1})
		if err != nil {
			return nil, err
		}
		out[id] = len(es) > 0
	}
	return out, nil
}

// recovery is the event of one, which says how many events are before it.
type recovery struct {
	event *phases.Event
	size  int64
}

// due writes down what is due: in both databases, as one batch. Preconditions: the caller holds turns.
func (s *Store) due(ctx context.Context, t *postgres.Turn, r *recovery) error {
	var event *phases.Event
	if r != nil {
		event = r.event
	}
	for n := 0; ; n++ {
		events, err := t.Dues(ctx, event, func(ids []string) (map[string]bool, error) { return s.logged(ctx, ids) })
		if err != nil || len(events) == 0 {
			return err
		}
		m := &middle{store: s, turn: t, dues: true, batch: &kernel.Batch{Now: time.Now(), Events: events}, after: -1}
		if r != nil {
			m.after = r.size
		}
		got, err := s.Store.Share(ctx, *m.batch, m)
		if err != nil && !m.refused {
			err = here(err)
		}
		if err != nil {
			got, err = s.undone(ctx, m, err)
		}
		if err == nil {
			s.backlog.size.Store(max(s.backlog.size.Load(), got.Last))
			return s.sent(context.WithoutCancel(ctx), t.Size())
		}
		if !errors.Is(err, kernel.ErrConflict) || n == 4 {
			return err
		}
	}
}
