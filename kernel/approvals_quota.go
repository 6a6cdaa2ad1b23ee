package kernel

import (
	"context"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// evictForQuota finds a place in the queue for another item of a requester. If its quota is
// full, the item of a requester that has more is evicted, by the steps and with the events
// returned. pendingOps are steps of the same transaction: no item is evicted twice. The
// error is approvals.ErrQuota, or the store's.
func (k *Kernel) evictForQuota(ctx context.Context, kind approvals.Kind, by approvals.Requester, usage approvals.Usage,
	quota int, at leases.Instant, revision string,
	pendingOps ...approvals.Op) (ops []approvals.Op, events []phases.Event, err error) {
	if !usage.Full(quota) {
		return nil, nil, nil
	}
	// the latter: the operator has lowered it
	if usage.Agent >= quota || usage.Credential > quota*approvals.CredentialFactor {
		return nil, nil, approvals.ErrQuota
	}
	holders, err := k.options.Store.ApprovalHolders(ctx, kind, by.Credential, at)
	if err != nil {
		return nil, nil, err
	}
	id, ok := queue.Evicted(holders, by)
	if !ok {
		return nil, nil, approvals.ErrQuota
	}
	for _, op := range pendingOps {
		if op.Change != nil && op.Change.ID == id {
			return nil, nil, approvals.ErrQuota
		}
	}
	old, err := k.options.Store.Approval(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if old == nil || old.At(at).State != approvals.Pending {
		return nil, nil, ErrConflict // decided meanwhile
	}
	e := k.approvalEvent(old, string(approvals.Superseded), at.Wall, revision)
	e.Notes = append(e.Notes,
		"the quota of its credential is full, and it gave way to a requester that has less in the queue")
	return []approvals.Op{{Change: &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Superseded, At: at}}},
		[]phases.Event{e}, nil
}

// ApprovalCounts counts what waits for a person, by kind; a kind without any is not
// in it. The error is ErrUnavailable.
func (k *Kernel) ApprovalCounts(ctx context.Context) (map[approvals.Kind]int, error) {
	return k.options.Store.ApprovalCounts(ctx, k.at(ctx))
}
