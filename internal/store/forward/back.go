package forward

import (
	"context"
	"fmt"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// A belay.db that is an older copy lacks the end of its log, which PostgreSQL has. If the mark says that this machine
// has sent exactly that, the events are brought back. Their rows are not: where those differ, belay.db is blocked, and
// `belay recover` repairs them by the log. Without such a mark another program may have written the events, and the
// kernel is forked.

const chunkBack = 128 // events

// bringBack adds to the local log what PostgreSQL has of it and it lacks.
func (s *Store) bringBack(ctx context.Context, t *postgres.Turn) error {
	own, err := s.head(ctx)
	if err != nil || t.Size() <= own.Size || !t.SentAll() {
		return err
	}
	u, err := s.Store.Unsettled(ctx)
	if err != nil || u != nil && u.First == own.Size+1 && t.Size() == u.First+int64(len(u.IDs))-1 {
		return err // of a batch that waits to be settled
	}
	root, err := t.RootAt(ctx, own.Size)
	if err != nil || root != own.Root {
		return err // forked
	}
	for size := own.Size; size < t.Size(); {
		bodies, err := t.Bodies(ctx, size+1, int(min(chunkBack, t.Size()-size)))
		if err == nil && len(bodies) == 0 {
			err = fmt.Errorf("PostgreSQL does not have the contents of event %d any more", size+1)
		}
		if err == nil {
			err = s.at(stepBack)
		}
		if err == nil {
			err = s.Store.BringBack(ctx, size, bodies)
		}
		if err != nil {
			return err
		}
		size += int64(len(bodies))
	}
	s.backlog.size.Store(max(s.backlog.size.Load(), t.Size()))
	return nil
}

// keepUnsettled brings back the events of a batch that is not settled, if PostgreSQL has them: to recover belay.db
// would give their numbers to others.
func (s *Store) keepUnsettled(ctx context.Context) error {
	u, err := s.Store.Unsettled(ctx)
	if err != nil || u == nil {
		return err
	}
	unknown := func(err error) error {
		return fmt.Errorf("it is not known whether PostgreSQL has event %d, and belay.db is not recovered before: %w",
			u.First, err)
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	central, err := s.reach(ctx)
	if err != nil {
		return unknown(err)
	}
	t, err := central.RecoveryTurn(ctx)
	if err != nil {
		return unknown(err)
	}
	defer t.End()
	if t.Size() < u.First || len(u.IDs) == 0 {
		return nil
	}
	bodies, err := t.Bodies(ctx, u.First, len(u.IDs))
	if err != nil {
		return unknown(err)
	}
	if len(bodies) < len(u.IDs) || s.foreign(u, bodies) != nil {
		return nil // forked: see settle
	}
	if s.Store.Settle(ctx, u.First, bodies) == nil {
		return nil
	}
	return s.Store.BringBack(ctx, u.First-1, bodies)
}
