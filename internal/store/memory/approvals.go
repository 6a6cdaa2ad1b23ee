package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
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
		if s := same.At(op.When()).State; s == approvals.Pending || s == approvals.Approved {
			return it, conflict("the same question is in the queue")
		}
	}
	if q.usage(it.Kind, it.By, op.When()).Full(op.Quota) {
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

func (q queue) usage(kind approvals.Kind, by approvals.Requester, now leases.Instant) (u approvals.Usage) {
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

func (q queue) holders(kind approvals.Kind, credential string, now leases.Instant) (out []approvals.Holder) {
	for _, it := range q {
		if it.Kind != kind || it.By.Credential != credential || it.At(now).State != approvals.Pending {
			continue
		}
		n := slices.IndexFunc(out, func(h approvals.Holder) bool { return h.By == it.By })
		if n < 0 {
			n, out = len(out), append(out, approvals.Holder{By: it.By, Oldest: it.ID})
		}
		out[n].Pending++
		out[n].Oldest = min(out[n].Oldest, it.ID)
	}
	return out
}

func (q queue) take(changed queue) {
	maps.Copy(q, changed)
	for _, it := range changed {
		if it.State == approvals.Superseded {
			q.trim(it.Kind, it.By.Credential)
		}
	}
}

// trim drops superseded items beyond approvals.KeepSuperseded, the oldest first.
func (q queue) trim(kind approvals.Kind, credential string) {
	var old []approvals.Item
	for _, it := range q {
		if it.State == approvals.Superseded && it.Kind == kind && it.By.Credential == credential {
			old = append(old, it)
		}
	}
	slices.SortFunc(old, func(a, b approvals.Item) int {
		return cmp.Or(b.Closed.Compare(a.Closed), cmp.Compare(b.ID, a.ID))
	})
	for n := approvals.KeepSuperseded; n < len(old); n++ {
		delete(q, old[n].ID)
	}
}

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
func (s *Store) ApprovalUsage(ctx context.Context, kind approvals.Kind, by approvals.Requester,
	now leases.Instant) (approvals.Usage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return approvals.Usage{}, err
	}
	return s.queue.usage(kind, by, now), nil
}

// ApprovalHolders implements approvals.Reader.
func (s *Store) ApprovalHolders(ctx context.Context, kind approvals.Kind, credential string,
	now leases.Instant) ([]approvals.Holder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	return s.queue.holders(kind, credential, now), nil
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
