package forward

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
)

// Commit implements kernel.Store.
func (s *Store) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if err := s.room(); err != nil {
		return kernel.Receipt{}, err
	}
	if len(b.Leases) > 0 || len(b.Approvals) > 0 {
		r, err := s.share(ctx, b)
		if err != nil {
			return kernel.Receipt{}, unavailable("commit", err)
		}
		return r, nil
	}
	if b.Prune && len(b.Events) > 0 && s.board.trouble() == nil && time.Now().UnixNano() >= s.prune.Load() {
		within, cancel := context.WithTimeout(ctx, s.o.Turn)
		r, err := s.share(within, b)
		cancel()
		if err == nil || errors.Is(err, kernel.ErrConflict) {
			return r, err
		}
		// The batch itself needs nothing of PostgreSQL. Leases and approvals that have had their time are dropped another
		// time. If PostgreSQL may have the batch, the local store refuses it until that is known.
		s.prune.Store(time.Now().Add(pruneAgain).UnixNano())
	}
	r, err := s.Store.Commit(ctx, b)
	if err == nil && r.First > 0 {
		s.backlog.size.Store(max(s.backlog.size.Load(), r.Last))
		s.backlog.since.Add(sizeOf(&b))
		s.nudge()
	}
	return r, err
}

// sizeOf is about how many bytes the events of a batch take; they are counted exactly soon.
func sizeOf(b *kernel.Batch) (n int64) {
	const rest = 512
	for i := range b.Events {
		n += int64(rest + len(b.Events[i].Input) + len(b.Events[i].Output))
	}
	return n
}

func (s *Store) isAway() bool { return s.board.trouble() != nil }

// room refuses to commit while more waits to be forwarded than may.
func (s *Store) room() error {
	if n := s.backlog.bytes(); n > s.o.Keep {
		st := s.State()
		why := "it is being forwarded"
		if st.Why != "" {
			why = "PostgreSQL is away: " + st.Why
		}
		return fmt.Errorf("forwarding store: %w: %d events of %d bytes wait to be forwarded, and keep allows %d bytes: %s",
			kernel.ErrUnavailable, st.Waiting, n, s.o.Keep, why)
	}
	return nil
}

const whatToDo = "put the newest database back, or have a person agree to this one: `belay recover`"

// Two logs under one name cannot become one.
const whatToDoForked = "no command joins the two: find out who wrote as this kernel, and give this machine a state " +
	"directory and a kernel name of its own (docs/SCALING.md, a kernel that is forked)"

// wentBackError is what a call gets that needs PostgreSQL, when that went back.
type wentBackError struct{ err error }

func (e *wentBackError) Error() string {
	return "leases and approvals are in PostgreSQL, which went back: " + highwater.Reason(e.err) + "; " + whatToDo
}

func (e *wentBackError) Unwrap() []error { return []error{kernel.ErrUnavailable, e.err} }

// localError is what belay.db has refused in the middle of what needs PostgreSQL.
type localError struct{ err error }

func (e *localError) Error() string { return "belay.db: " + e.err.Error() }

func (e *localError) Unwrap() error { return e.err }

// here makes an error one of belay.db.
func here(err error) error {
	if err == nil {
		return nil
	}
	return &localError{err}
}

// wentBack reports whether an error says that PostgreSQL went back; belay.db may have, too.
func wentBack(err error) bool {
	var local *localError
	return errors.Is(err, kernel.ErrRollback) && !errors.As(err, &local)
}

// away is what a call gets that needs PostgreSQL, while it cannot be used.
func (s *Store) away(err error) error {
	if local := (*localError)(nil); errors.As(err, &local) {
		return fmt.Errorf("forwarding store: %w: leases and approvals wait for belay.db: %w", kernel.ErrUnavailable,
			local.err)
	}
	if errors.Is(err, kernel.ErrRollback) {
		return &wentBackError{err}
	}
	if forked := (*postgres.ForkedError)(nil); errors.As(err, &forked) {
		return fmt.Errorf("forwarding store: %w: leases and approvals are in PostgreSQL, and %w; %s", kernel.ErrUnavailable,
			forked, whatToDoForked)
	}
	st := s.board.read()
	return fmt.Errorf("forwarding store: %w: leases and approvals are in PostgreSQL, which cannot be used since %s: %w",
		kernel.ErrUnavailable, st.Away.UTC().Format(time.RFC3339), err)
}

// Probe implements kernel.Store.
func (s *Store) Probe(ctx context.Context, now time.Time) error {
	if err := s.room(); err != nil {
		return err
	}
	return s.Store.Probe(ctx, now)
}

// AddCheckpoint implements kernel.Log.
func (s *Store) AddCheckpoint(ctx context.Context, size int64, note []byte) error {
	err := s.Store.AddCheckpoint(ctx, size, note)
	s.nudge()
	return err
}

// LogRemove implements kernel.Log. Contents that were not forwarded yet stay.
func (s *Store) LogRemove(ctx context.Context, limit int) (int64, error) {
	done, err := s.Store.LogCompacted(ctx)
	if err != nil || done.Left == 0 {
		return 0, err
	}
	first := done.Through - done.Left + 1
	if s.backlog.forwarded.Load() < done.Through && s.board.trouble() == nil {
		if err := s.forwardAll(ctx); err != nil {
			return 0, unavailable("remove events", err)
		}
	}
	free := min(int64(limit), s.backlog.forwarded.Load()-first+1)
	if free <= 0 {
		return 0, fmt.Errorf("forwarding store: %w: event %d waits to be forwarded, and is not removed before",
			kernel.ErrUnavailable, first)
	}
	return s.Store.LogRemove(ctx, int(free))
}

// Restrictions implements kernel.Log. Shared rows are compared as well, while PostgreSQL can be used.
func (s *Store) Restrictions(ctx context.Context) (kernel.Restrictions, error) {
	out, err := s.Store.Restrictions(ctx)
	if err != nil || s.board.trouble() != nil {
		return out, err
	}
	err = s.ask(ctx, func(ctx context.Context, c central) error {
		r, err := c.Restrictions(ctx)
		if err != nil {
			return err
		}
		if out.Shared = r.Recorded; r.Tampered != nil && out.Tampered == nil {
			out.Tampered = r.Tampered
		}
		return nil
	})
	if err != nil && s.isAway() {
		err = nil
	}
	return out, err
}
