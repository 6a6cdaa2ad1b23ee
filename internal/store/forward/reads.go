package forward

import (
	"context"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// central is what is asked of PostgreSQL.
type central interface {
	approvals.Reader
	leases.Store
	kernel.Elsewhere
	SharedKeys(ctx context.Context) (map[string][]byte, error)
	Restrictions(ctx context.Context) (kernel.Restrictions, error)
	Denials(ctx context.Context) ([]postgres.Denial, error)
	Deny(ctx context.Context, d postgres.Denial) error
}

// ask has PostgreSQL answer. While it is away the answer is ErrUnavailable at once.
func (s *Store) ask(ctx context.Context, f func(context.Context, central) error) error {
	if err := s.board.trouble(); err != nil {
		return s.away(err)
	}
	c, err := s.reach(ctx)
	if err == nil {
		within, cancel := context.WithTimeout(ctx, s.o.Turn)
		defer cancel()
		err = f(within, c)
	}
	if err != nil && ctx.Err() == nil && postgres.Away(err) {
		s.failed(err)
	}
	if err != nil {
		return unavailable("read", err)
	}
	return nil
}

func get[T any](ctx context.Context, s *Store, f func(context.Context, central) (T, error)) (out T, err error) {
	err = s.ask(ctx, func(ctx context.Context, c central) (err error) {
		out, err = f(ctx, c)
		return err
	})
	return out, err
}

// Approval implements approvals.Reader.
func (s *Store) Approval(ctx context.Context, id string) (*approvals.Item, error) {
	return get(ctx, s, func(ctx context.Context, c central) (*approvals.Item, error) { return c.Approval(ctx, id) })
}

// ApprovalByKey implements approvals.Reader.
func (s *Store) ApprovalByKey(ctx context.Context, kind approvals.Kind, key string) (*approvals.Item, error) {
	return get(ctx, s, func(ctx context.Context, c central) (*approvals.Item, error) {
		return c.ApprovalByKey(ctx, kind, key)
	})
}

// Approvals implements approvals.Reader.
func (s *Store) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	return get(ctx, s, func(ctx context.Context, c central) ([]approvals.Item, error) { return c.Approvals(ctx, q) })
}

// ApprovalUsage implements approvals.Reader.
func (s *Store) ApprovalUsage(ctx context.Context, kind approvals.Kind, by approvals.Requester,
	now leases.Instant) (approvals.Usage, error) {
	return get(ctx, s, func(ctx context.Context, c central) (approvals.Usage, error) {
		return c.ApprovalUsage(ctx, kind, by, now)
	})
}

// ApprovalHolders implements approvals.Reader.
func (s *Store) ApprovalHolders(ctx context.Context, kind approvals.Kind, credential string,
	now leases.Instant) ([]approvals.Holder, error) {
	return get(ctx, s, func(ctx context.Context, c central) ([]approvals.Holder, error) {
		return c.ApprovalHolders(ctx, kind, credential, now)
	})
}

// ApprovalCounts implements approvals.Reader.
func (s *Store) ApprovalCounts(ctx context.Context, now leases.Instant) (map[approvals.Kind]int, error) {
	return get(ctx, s, func(ctx context.Context, c central) (map[approvals.Kind]int, error) {
		return c.ApprovalCounts(ctx, now)
	})
}

// EventElsewhere implements kernel.Elsewhere.
func (s *Store) EventElsewhere(ctx context.Context, id string) (*phases.Event, error) {
	return get(ctx, s, func(ctx context.Context, c central) (*phases.Event, error) { return c.EventElsewhere(ctx, id) })
}

// SharedKeys returns the keys of the digests that the kernels of the organisation compare with each other, by their
// use. The error is kernel.ErrUnavailable.
func (s *Store) SharedKeys(ctx context.Context) (map[string][]byte, error) {
	return get(ctx, s, func(ctx context.Context, c central) (map[string][]byte, error) { return c.SharedKeys(ctx) })
}

// Lease implements leases.Store.
func (s *Store) Lease(ctx context.Context, id string) (*leases.Lease, error) {
	return get(ctx, s, func(ctx context.Context, c central) (*leases.Lease, error) { return c.Lease(ctx, id) })
}

// LeaseByToken implements leases.Store.
func (s *Store) LeaseByToken(ctx context.Context, hash []byte) (*leases.Lease, error) {
	return get(ctx, s, func(ctx context.Context, c central) (*leases.Lease, error) { return c.LeaseByToken(ctx, hash) })
}

// HeldLeases implements leases.Store.
func (s *Store) HeldLeases(ctx context.Context, h leases.Holder, at leases.Instant) ([]leases.Lease, error) {
	return get(ctx, s, func(ctx context.Context, c central) ([]leases.Lease, error) { return c.HeldLeases(ctx, h, at) })
}

// Leases implements leases.Store.
func (s *Store) Leases(ctx context.Context, q leases.Query) ([]leases.Lease, error) {
	return get(ctx, s, func(ctx context.Context, c central) ([]leases.Lease, error) { return c.Leases(ctx, q) })
}

// LeaseClock implements leases.Store. Both databases have seen times; items of the shared one rest on both.
func (s *Store) LeaseClock(ctx context.Context) (time.Time, error) {
	if err := s.board.trouble(); err != nil { // asked with each action
		return time.Time{}, s.away(err)
	}
	own, err := s.Store.LeaseClock(ctx)
	if err != nil {
		return own, err
	}
	shared, err := get(ctx, s, func(ctx context.Context, c central) (time.Time, error) { return c.LeaseClock(ctx) })
	if shared.After(own) {
		own = shared
	}
	return own, err
}
