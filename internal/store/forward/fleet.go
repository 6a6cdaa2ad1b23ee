package forward

import (
	"context"
	"slices"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// What kernels tell each other beside leases and approvals.

// SetReport sets what the kernel says of itself; see postgres.Store.SetReport. It is told while PostgreSQL can be used.
func (s *Store) SetReport(body []byte) {
	body = slices.Clone(body)
	s.report.Store(&body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.central != nil {
		s.central.SetReport(body)
	}
}

// Warning says for operators what is not as it should be while PostgreSQL can be used; see postgres.Store.Warning.
func (s *Store) Warning() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.central == nil {
		return ""
	}
	return s.central.Warning()
}

// Changed returns a channel that is closed when leases or approvals have changed; see postgres.Store.Changed. While
// PostgreSQL was never reached it is closed each second.
func (s *Store) Changed() <-chan struct{} { return s.heard((*postgres.Store).Changed) }

// Denied returns a channel that is closed when denials have changed, as Changed does.
func (s *Store) Denied() <-chan struct{} { return s.heard((*postgres.Store).Denied) }

func (s *Store) heard(of func(*postgres.Store) <-chan struct{}) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.central != nil {
		return of(s.central)
	}
	c := make(chan struct{})
	time.AfterFunc(time.Second, func() { close(c) })
	return c
}

// Denials returns all denials, oldest first. The error is ErrUnavailable.
func (s *Store) Denials(ctx context.Context) ([]postgres.Denial, error) {
	return get(ctx, s, func(ctx context.Context, c central) ([]postgres.Denial, error) { return c.Denials(ctx) })
}

// Deny adds a denial, whose event is in the log here. The error is ErrUnavailable.
func (s *Store) Deny(ctx context.Context, d postgres.Denial) error {
	if err := s.board.trouble(); err != nil {
		return s.away(err)
	}
	if err := s.forwardAll(ctx); err != nil { // its event has to be there
		return unavailable("add a denial", err)
	}
	return s.ask(ctx, func(ctx context.Context, c central) error { return c.Deny(ctx, d) })
}
