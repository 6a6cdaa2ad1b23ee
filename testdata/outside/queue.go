package outside

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// changeQueue carries out the steps in order.
func (r *rows) changeQueue(ops []approvals.Op) error {
	for _, op := range ops {
		it, err := r.step(&op)
		if err != nil {
			return err
		}
		r.queue[it.ID] = it
		if it.State == approvals.Superseded {
			r.trim(&it)
		}
	}
	return nil
}

// step returns the item as it is after the step.
func (r *rows) step(op *approvals.Op) (approvals.Item, error) {
	if c := op.Change; c != nil {
		it, ok := r.queue[c.ID]
		if !ok || !c.Applies(&it) {
			return it, conflict("the item is not in the state from which it would change")
		}
		return c.Apply(it.Clone()).Clone(), nil
	}
	it := op.Create.Clone()
	if _, taken := r.queue[it.ID]; taken || it.ID == "" || it.State != approvals.Pending {
		return it, fmt.Errorf("%w: item %q is taken or not pending", kernel.ErrUnavailable, it.ID)
	}
	if old := r.newest(it.Kind, it.Key); old != nil {
		if st := old.At(op.When()).State; st == approvals.Pending || st == approvals.Approved {
			return it, conflict("the same question is in the queue")
		}
	}
	if r.usage(it.Kind, it.By, op.When()).Full(op.Quota) {
		return it, conflict("the quota of undecided items")
	}
	return it, nil
}

// trim drops superseded items beyond approvals.KeepSuperseded, the oldest first.
func (r *rows) trim(like *approvals.Item) {
	var old []approvals.Item
	for _, it := range r.queue {
		if it.State == approvals.Superseded && it.Kind == like.Kind && it.By.Credential == like.By.Credential {
			old = append(old, it)
		}
	}
	slices.SortFunc(old, func(a, b approvals.Item) int {
		return cmp.Or(b.Closed.Compare(a.Closed), cmp.Compare(b.ID, a.ID))
	})
	for n := approvals.KeepSuperseded; n < len(old); n++ {
		delete(r.queue, old[n].ID)
	}
}

// pending returns the undecided items of a kind and credential.
func (r *rows) pending(kind approvals.Kind, credential string, now leases.Instant) (out []approvals.Item) {
	for _, it := range r.queue {
		if it.Kind == kind && it.By.Credential == credential && it.At(now).State == approvals.Pending {
			out = append(out, it)
		}
	}
	return out
}

func (r *rows) usage(kind approvals.Kind, by approvals.Requester, now leases.Instant) (use approvals.Usage) {
	for _, it := range r.pending(kind, by.Credential, now) {
		use.Credential++
		if it.By == by {
			use.Agent++
		}
	}
	return use
}

func (r *rows) newest(kind approvals.Kind, key string) (found *approvals.Item) {
	for _, it := range r.queue {
		if it.Kind == kind && it.Key == key && (found == nil || it.ID > found.ID) {
			c := it.Clone()
			found = &c
		}
	}
	return found
}

// Approval implements approvals.Reader.
func (s *Store) Approval(ctx context.Context, id string) (*approvals.Item, error) {
	return view(ctx, s, func(r *rows) *approvals.Item {
		if it, ok := r.queue[id]; ok {
			it = it.Clone()
			return &it
		}
		return nil
	})
}

// ApprovalByKey implements approvals.Reader.
func (s *Store) ApprovalByKey(ctx context.Context, kind approvals.Kind, key string) (*approvals.Item, error) {
	return view(ctx, s, func(r *rows) *approvals.Item { return r.newest(kind, key) })
}

// Approvals implements approvals.Reader.
func (s *Store) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	return view(ctx, s, func(r *rows) (out []approvals.Item) {
		for _, id := range slices.Backward(slices.Sorted(maps.Keys(r.queue))) {
			if it := r.queue[id]; q.Match(&it) && len(out) < q.EffectiveLimit() {
				out = append(out, it.Clone())
			}
		}
		return out
	})
}

// ApprovalUsage implements approvals.Reader.
func (s *Store) ApprovalUsage(ctx context.Context, kind approvals.Kind, by approvals.Requester,
	now leases.Instant) (approvals.Usage, error) {
	return view(ctx, s, func(r *rows) approvals.Usage { return r.usage(kind, by, now) })
}

// ApprovalHolders implements approvals.Reader.
func (s *Store) ApprovalHolders(ctx context.Context, kind approvals.Kind, credential string,
	now leases.Instant) ([]approvals.Holder, error) {
	return view(ctx, s, func(r *rows) []approvals.Holder {
		holders := map[approvals.Requester]approvals.Holder{}
		for _, it := range r.pending(kind, credential, now) {
			h := holders[it.By]
			h.By, h.Pending = it.By, h.Pending+1
			if h.Oldest == "" || it.ID < h.Oldest {
				h.Oldest = it.ID
			}
			holders[it.By] = h
		}
		return slices.Collect(maps.Values(holders))
	})
}

// ApprovalCounts implements approvals.Reader.
func (s *Store) ApprovalCounts(ctx context.Context, now leases.Instant) (map[approvals.Kind]int, error) {
	return view(ctx, s, func(r *rows) map[approvals.Kind]int {
		out := map[approvals.Kind]int{}
		for _, it := range r.queue {
			if it.At(now).State == approvals.Pending {
				out[it.Kind]++
			}
		}
		return out
	})
}
