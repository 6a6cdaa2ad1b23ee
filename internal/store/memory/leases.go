package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/leasetable"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
)

// lent returns the leases as they are after the changes. The error is
// kernel.ErrConflict, and nothing has changed. Preconditions: s.mu is held.
func (s *Store) lent(b *kernel.Batch) (*leasetable.Table, error) {
	if len(b.Leases) == 0 {
		return &s.lease, nil
	}
	next := s.lease.Clone()
	for i := range b.Leases {
		if err := next.Apply(&b.Leases[i]); err != nil {
			return nil, fmt.Errorf("%w: %w", kernel.ErrConflict, err)
		}
	}
	return next, nil
}

// Lease implements leases.Store.
func (s *Store) Lease(ctx context.Context, id string) (*leases.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	return s.lease.Lease(id), nil
}

// LeaseByToken implements leases.Store.
func (s *Store) LeaseByToken(ctx context.Context, hash []byte) (*leases.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	return s.lease.LeaseByToken(hash), nil
}

// HeldLeases implements leases.Store.
func (s *Store) HeldLeases(ctx context.Context, h leases.Holder, at leases.Instant) ([]leases.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	return s.lease.Held(h, at), nil
}

// Leases implements leases.Store.
func (s *Store) Leases(ctx context.Context, q leases.Query) ([]leases.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	return s.lease.Leases(q), nil
}

// LeaseClock implements leases.Store.
func (s *Store) LeaseClock(ctx context.Context) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return time.Time{}, err
	}
	return s.lease.High(), nil
}
