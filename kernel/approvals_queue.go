package kernel

import (
	"context"
	"errors"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// RequestApproval puts a question into the queue and records it. When the same
// question (kind and key) is there already and has not run out, or was denied and
// the denial still holds, that item is returned instead. The item's ID, State,
// Created and Expires are set here; everything in it must be redacted. A new item
// supersedes those named, if they are pending. Errors are approvals.ErrQuota or
// ErrUnavailable.
func (k *Kernel) RequestApproval(ctx context.Context, item approvals.Item,
	supersedes ...string) (approvals.Item, error) {
	item = item.Clone()
	snap := k.snapshot()
	if snap == nil {
		return item, ErrClosed
	}
	defer k.releaseSnapshot(ctx, snap)
	for attempt := 1; ; attempt++ {
		at := k.at(ctx)
		now := at.Wall
		batch := Batch{Now: now}
		have, err := k.options.Store.ApprovalByKey(ctx, item.Kind, item.Key)
		if err != nil {
			return item, err
		}
		if have != nil && !queue.Over(have, at) {
			var q question
			if have, err = k.orAside(ctx, have, item.Key, &q, at, snap.revision); err != nil {
				return item, err
			}
			batch.Approvals, batch.Events = append(batch.Approvals, q.ops...), append(batch.Events, q.events...)
		}
		if have != nil {
			st := have.At(at)
			if st.State == approvals.Pending || st.State == approvals.Approved || queue.Holds(&st, at) {
				return st, nil
			}
			if st.State == approvals.Expired && have.State != approvals.Expired {
				op, e := k.expireApproval(have, at, snap.revision)
				batch.Approvals, batch.Events = append(batch.Approvals, op), append(batch.Events, e)
			}
		}
		u, err := k.options.Store.ApprovalUsage(ctx, item.Kind, item.By, at)
		if err != nil {
			return item, err
		}
		gone, err := k.supersede(ctx, &batch, at, supersedes, snap.revision)
		if err != nil {
			return item, err
		}
		u.Agent, u.Credential = u.Agent-gone, u.Credential-gone
		ops, events, err := k.evictForQuota(ctx, item.Kind, item.By, u, snap.approvals.Quota, at, snap.revision,
			batch.Approvals...)
		if errors.Is(err, ErrConflict) && attempt < maxFilings {
			continue
		}
		if err != nil {
			return item, err
		}
		batch.Approvals, batch.Events = append(batch.Approvals, ops...), append(batch.Events, events...)
		item.ID, item.State = k.options.NewID(now), approvals.Pending
		item.Created, item.Expires = now.UTC(), now.Add(snap.approvals.Timeout).UTC()
		item.Clock = at.Stamp()
		batch.Approvals = append(batch.Approvals, approvals.Op{Create: &item, Quota: snap.approvals.Quota, At: at})
		batch.Events = append(batch.Events, k.approvalEvent(&item, "requested", now, snap.revision))
		_, err = k.commit(ctx, batch)
		if !errors.Is(err, ErrConflict) || attempt == maxFilings {
			return item, err
		}
	}
}

// maxFilings is how often a question is tried to be filed. Where a queue is full,
// everybody who files something wants the place of the same item.
const maxFilings = 4 * maxAttempts

// supersede adds the steps that put pending items aside, and says how many there are.
func (k *Kernel) supersede(ctx context.Context, batch *Batch, at leases.Instant, ids []string,
	revision string) (n int, err error) {
	for _, id := range ids {
		old, err := k.options.Store.Approval(ctx, id)
		if err != nil {
			return n, err
		}
		if old == nil || old.At(at).State != approvals.Pending {
			continue
		}
		n++
		batch.Approvals = append(batch.Approvals,
			approvals.Op{Change: &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Superseded, At: at}})
		batch.Events = append(batch.Events, k.approvalEvent(old, string(approvals.Superseded), batch.Now, revision))
	}
	return n, nil
}

// Approval returns an item as it stands now. Errors are approvals.ErrUnknown or ErrUnavailable.
func (k *Kernel) Approval(ctx context.Context, id string) (approvals.Item, error) {
	it, err := k.storedItem(ctx, id)
	if err != nil {
		return approvals.Item{}, err
	}
	st := it.At(k.at(ctx))
	if st.State != it.State {
		_ = k.SweepApprovals(ctx) // the answer holds even if the sweep fails
	}
	return st, nil
}

// Approvals returns items as they stand now, newest first, after writing down
// which have run out. The error is ErrUnavailable.
func (k *Kernel) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	if err := k.SweepApprovals(ctx); err != nil && !errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	list, err := k.options.Store.Approvals(ctx, q)
	if err == nil {
		list, err = k.soundOnly(ctx, list)
	}
	at := k.at(ctx)
	for n := range list {
		list[n] = list[n].At(at)
	}
	return list, err
}

// sweep is how many items that have run out are written down in one transaction.
const sweep = 64

// SweepApprovals records which items have run out: no person has decided about them, or
// no agent has used them. That they count as denied does not depend on it.
func (k *Kernel) SweepApprovals(ctx context.Context) error {
	for {
		at := k.at(ctx)
		due, err := k.options.Store.Approvals(ctx, approvals.Query{DueAt: at, Limit: sweep})
		if err != nil || len(due) == 0 {
			return err
		}
		b := Batch{Now: at.Wall, Calm: k.CalmTime()}
		for n := range due {
			if due[n].Damaged {
				continue // no step fits a damaged item; it is not shown, and UnsoundApprovals reports it
			}
			op, e := k.expireApproval(&due[n], at, k.Revision())
			b.Approvals, b.Events = append(b.Approvals, op), append(b.Events, e)
		}
		if len(b.Approvals) == 0 {
			return nil
		}
		if _, err := k.options.Store.Commit(ctx, b); err != nil {
			if errors.Is(err, ErrConflict) { // another process was faster
				return nil
			}
			return err
		}
		if len(due) < sweep {
			return nil
		}
	}
}

func (k *Kernel) expireApproval(it *approvals.Item, at leases.Instant, revision string) (approvals.Op, phases.Event) {
	op := approvals.Op{Change: &approvals.Change{ID: it.ID, From: it.State, To: approvals.Expired, At: at}}
	return op, k.approvalEvent(it, string(approvals.Expired), at.Wall, revision)
}

// Protected reports whether deciding takes a reviewer's key.
func (k *Kernel) Protected() bool {
	s := k.current.Load()
	return s != nil && s.authority.Protected()
}
