package kernel

import (
	"context"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases/clock"
	"github.com/belay-hooks/belay/phases"
)

// room looks for a place in the queue for another item of a requester: there is
// one, or the item of somebody who has more gives way to it (approvals.MakeRoom), by
// the steps and with the events returned. spoken are steps that are taken in the
// same transaction, or soon: nothing gives way twice. The error is
// approvals.ErrQuota, or the store's.
func (k *Kernel) room(ctx context.Context, kind approvals.Kind, by approvals.Requester, u approvals.Usage, quota int,
	at clock.Instant, revision string, spoken ...approvals.Op) (ops []approvals.Op, events []phases.Event, err error) {
	if !u.Full(quota) {
		return nil, nil, nil
	}
	if u.Agent >= quota || u.Credential > quota*approvals.CredentialFactor { // the latter: the operator has lowered it
		return nil, nil, approvals.ErrQuota
	}
	holders, err := k.o.Store.ApprovalHolders(ctx, kind, by.Credential, at)
	if err != nil {
		return nil, nil, err
	}
	id, ok := approvals.MakeRoom(holders, by)
	if !ok {
		return nil, nil, approvals.ErrQuota
	}
	for _, op := range spoken {
		if op.Change != nil && op.Change.ID == id {
			return nil, nil, approvals.ErrQuota
		}
	}
	old, err := k.o.Store.Approval(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if old == nil || old.At(at).State != approvals.Pending {
		return nil, nil, ErrConflict // decided meanwhile
	}
	e := k.approvalEvent(old, string(approvals.Superseded), at.Wall, revision)
	e.Notes = append(e.Notes, "the quota of its credential is full, and it gave way to somebody who has less in the queue")
	return []approvals.Op{{Change: &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Superseded, At: at}}},
		[]phases.Event{e}, nil
}

// ApprovalCounts counts what waits for a person, by kind; a kind without any is not
// in it. The error is ErrUnavailable.
func (k *Kernel) ApprovalCounts(ctx context.Context) (map[approvals.Kind]int, error) {
	return k.o.Store.ApprovalCounts(ctx, k.at(ctx))
}
