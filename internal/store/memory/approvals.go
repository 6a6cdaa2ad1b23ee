package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// Approval implements approvals.Reader.
func (s *Store) Approval(ctx context.Context, id string) (*approvals.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	it, ok := s.queue[id]
	if !ok {
		return nil, nil
	}
	it = it.Clone()
	return &it, nil
}

// ApprovalByKey implements approvals.Reader.
func (s *Store) ApprovalByKey(ctx context.Context, kind approvals.Kind, key string) (*approvals.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	found := s.queue.Newest(kind, key)
	if found == nil {
		return nil, nil
	}
	it := found.Clone()
	return &it, nil
}

// Approvals implements approvals.Reader.
func (s *Store) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var out []approvals.Item
	for _, it := range s.queue {
		if q.Match(&it) {
			out = append(out, it.Clone())
		}
	}
	slices.SortFunc(out, func(a, b approvals.Item) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(len(out), q.EffectiveLimit())], nil
}

// ApprovalUsage implements approvals.Reader.
func (s *Store) ApprovalUsage(ctx context.Context, kind approvals.Kind, by approvals.Requester,
	now leases.Instant) (approvals.Usage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return approvals.Usage{}, err
	}
	return s.queue.Usage(kind, by, now), nil
}

// ApprovalHolders implements approvals.Reader.
func (s *Store) ApprovalHolders(ctx context.Context, kind approvals.Kind, credential string,
	now leases.Instant) ([]approvals.Holder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	return s.queue.Holders(kind, credential, now), nil
}

// ApprovalCounts implements approvals.Reader.
func (s *Store) ApprovalCounts(ctx context.Context, now leases.Instant) (map[approvals.Kind]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	out := map[approvals.Kind]int{}
	for _, it := range s.queue {
		if it.At(now).State == approvals.Pending {
			out[it.Kind]++
		}
	}
	return out, nil
}
