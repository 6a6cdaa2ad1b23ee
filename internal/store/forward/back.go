package forward

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// A belay.db that is an older copy lacks the end of its log, which PostgreSQL has. If the mark says that this machine
// has sent exactly that, the events are brought back. Their rows are not: where those differ, belay.db is blocked, and
// `belay recover` repairs them by the log. Without such a mark another program may have written the events, and the
// kernel is forked.

const chunkBack = 128 // events

// bringBack adds to the local log what PostgreSQL has of it and it lacks.
func (s *Store) bringBack(ctx context.Context, t *postgres.Turn) error {
	size, err := s.Store.LogSize(ctx)
	if err != nil || t.Size() <= size || !t.SentAll() {
		return err
	}
	own, err := s.head(ctx)
	if err != nil {
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
	g := &growing{own: s.Store, from: own.Size, base: tlog.StoredHashCount(own.Size)}
	if err := eachBack(ctx, t, own.Size, func(_ int64, bodies [][]byte) error { return g.add(ctx, bodies) }); err != nil {
		return err
	}
	if same, err := g.leadsTo(ctx, t); err != nil {
		return err
	} else if !same {
		return s.otherBodies(own.Size, t.Size())
	}
	err = eachBack(ctx, t, own.Size, func(size int64, bodies [][]byte) error {
		if !g.has(size, bodies) { // they were changed since
			return s.otherBodies(own.Size, t.Size())
		}
		if err := s.at(stepBack); err != nil {
			return err
		}
		return here(s.Store.BringBack(ctx, size, bodies))
	})
	if err != nil {
		return err
	}
	s.backlog.size.Store(max(s.backlog.size.Load(), t.Size()))
	return nil
}

// eachBack calls f with the contents of the events behind the first size ones, as PostgreSQL has them.
func eachBack(ctx context.Context, t *postgres.Turn, size int64, f func(size int64, bodies [][]byte) error) error {
	for size < t.Size() {
		bodies, err := t.Bodies(ctx, size+1, int(min(chunkBack, t.Size()-size)))
		if err == nil && len(bodies) == 0 {
			err = fmt.Errorf("PostgreSQL does not have the contents of event %d any more", size+1)
		}
		if err == nil {
			err = f(size, bodies)
		}
		if err != nil {
			return err
		}
		size += int64(len(bodies))
	}
	return nil
}

func (s *Store) otherBodies(has, there int64) error {
	return unavailable("bring events back", &postgres.ForkedError{Why: fmt.Sprintf("belay.db lacks events %d to %d of "+
		"kernel %q, and what PostgreSQL has in their place are not the events that were sent", has+1, there, s.there.Kernel)})
}

// hashes are those of the local tree.
type hashes interface {
	LogHashes(ctx context.Context, indexes []int64) ([][32]byte, error)
}

// growing is the local tree with events behind it that are not written yet. PostgreSQL vouches for its tree by hashes
// that it stores; only the contents themselves say that they are those that the tree is over.
type growing struct {
	own   hashes
	from  int64       // events of the local log
	base  int64       // hashes of its tree
	fresh []tlog.Hash // behind those
	size  int64       // events behind from
}

func (g *growing) reader(ctx context.Context) tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		var below []int64
		for i, x := range indexes {
			if x < g.base {
				below = append(below, x)
			} else {
				out[i] = g.fresh[x-g.base]
			}
		}
		if len(below) == 0 {
			return out, nil
		}
		own, err := g.own.LogHashes(ctx, below)
		if err != nil {
			return nil, err
		}
		for i, x := range indexes {
			if x < g.base {
				out[i], own = own[0], own[1:]
			}
		}
		return out, nil
	}
}

func (g *growing) add(ctx context.Context, bodies [][]byte) error {
	for _, body := range bodies {
		more, err := tlog.StoredHashesForRecordHash(g.from+g.size, tlog.RecordHash(body), g.reader(ctx))
		if err != nil {
			return err
		}
		g.fresh, g.size = append(g.fresh, more...), g.size+1
	}
	return nil
}

// has reports whether events behind the first size ones are those that were added.
func (g *growing) has(size int64, bodies [][]byte) bool {
	if size < g.from || size+int64(len(bodies)) > g.from+g.size {
		return false
	}
	for i, body := range bodies {
		if g.fresh[tlog.StoredHashIndex(0, size+int64(i))-g.base] != tlog.RecordHash(body) {
			return false
		}
	}
	return true
}

// leadsTo reports whether this is the tree that the log in PostgreSQL has.
func (g *growing) leadsTo(ctx context.Context, t *postgres.Turn) (bool, error) {
	there, err := t.RootAt(ctx, t.Size())
	if err != nil || g.from+g.size != t.Size() {
		return false, err
	}
	root, err := tlog.TreeHash(t.Size(), g.reader(ctx))
	return err == nil && root == there, err
}

// keepSent brings back what belay.db lacks and the mark says that PostgreSQL has: to recover belay.db would give their
// numbers to others, and the kernel would be forked.
func (s *Store) keepSent(ctx context.Context) error {
	if s.there.Mark == nil {
		return nil
	}
	st, _, err := s.there.Mark.Look()
	if err != nil || st == nil {
		return nil // it is not known what was sent
	}
	size, err := s.Store.LogSize(ctx)
	if err != nil || size >= st.Head.Size {
		return err
	}
	err = s.bringSent(ctx)
	if forked := (*postgres.ForkedError)(nil); wentBack(err) || errors.As(err, &forked) {
		return nil // PostgreSQL has lost them as well, or has others
	}
	if err != nil {
		return fmt.Errorf("belay.db lacks events %d to %d, which come back from PostgreSQL, and is not recovered before: %w",
			size+1, st.Head.Size, err)
	}
	return nil
}

func (s *Store) bringSent(ctx context.Context) error {
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
	return s.bringBack(ctx, t)
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
