package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belay-hooks/belay/internal/approvals"
	"github.com/belay-hooks/belay/kernel"
)

// queue is the approvals by id.
type queue map[string]approvals.Item

// after returns the items that the steps change, as they are afterwards. The error is
// kernel.ErrConflict, and nothing has changed.
func (q queue) after(ops []approvals.Op) (queue, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	next := maps.Clone(q)
	changed := queue{}
	for _, op := range ops {
		var it approvals.Item
		var err error
		if op.Create != nil {
			it, err = next.create(op)
		} else {
			it, err = next.change(op.Change)
		}
		if err != nil {
			return nil, err
		}
		next[it.ID], changed[it.ID] = it, it
	}
	return changed, nil
}

func conflict(what string) error { return fmt.Errorf("%w: %s", kernel.ErrConflict, what) }

func (q queue) create(op approvals.Op) (approvals.Item, error) {
	it := op.Create.Clone()
	if _, taken := q[it.ID]; taken || it.ID == "" || it.State != approvals.Pending {
		return it, fmt.Errorf("%w: approval id %q is empty or taken, or it is not pending", kernel.ErrUnavailable, it.ID)
	}
	if same := q.newest(it.Kind, it.Key); same != nil {
		if s := same.At(it.Created).State; s == approvals.Pending || s == approvals.Approved {
			return it, conflict("the same question is in the queue")
		}
	}
	if q.usage(it.Kind, it.By, it.Created).Full(op.Quota) {
		return it, conflict("quota of undecided approvals")
	}
	return it, nil
}

func (q queue) change(c *approvals.Change) (approvals.Item, error) {
	it, ok := q[c.ID]
	if !ok || !c.Applies(&it) {
		return it, conflict("approval")
	}
	return c.Apply(it.Clone()).Clone(), nil
}

func (q queue) newest(kind approvals.Kind, key string) *approvals.Item {
	var found *approvals.Item
	for _, it := range q {
		if it.Kind == kind && it.Key == key && (found == nil || it.ID > found.ID) {
			found = &it
		}
	}
	return found
}

func (q queue) usage(kind approvals.Kind, by approvals.Requester, now time.Time) (u approvals.Usage) {
	for _, it := range q {
		if it.Kind != kind || it.By.Credential != by.Credential || it.At(now).State != approvals.Pending {
			continue
		}
		u.Credential++
		if it.By == by {
			u.Agent++
		}
	}
	return u
}

func (q queue) take(changed queue) { maps.Copy(q, changed) }

func (q queue) prune(now time.Time) {
	maps.DeleteFunc(q, func(_ string, it approvals.Item) bool { return it.Forgettable(now) })
}

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
	found := s.queue.newest(kind, key)
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
func (s *Store) ApprovalUsage(ctx context.Context, kind approvals.Kind, by approvals.Requester, now time.Time) (approvals.Usage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return approvals.Usage{}, err
	}
	return s.queue.usage(kind, by, now), nil
}
