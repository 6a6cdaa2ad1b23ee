package kernel

import (
	"cmp"
	"context"
	"slices"

	"github.com/belay-hooks/belay/leases"
)

// desk is the store with changes on top that are planned and not carried out yet.
// It is used by one goroutine.
type desk struct {
	Store
	ops []*leases.Op
}

// after returns the lease as the planned changes leave it.
func (d *desk) after(lease *leases.Lease) *leases.Lease {
	for _, op := range d.ops {
		if lease == nil {
			return nil
		}
		switch at := op.ID == lease.ID; op.Kind {
		case leases.OpRevoke, leases.OpRevokePrefix:
			if (at || leases.Below(op.ID, lease.ID)) && lease.State == leases.Active && op.Reaches(lease) {
				lease.State = leases.Revoked
			}
		case leases.OpRenew:
			if at {
				lease.ExpiresAt, lease.Boot, lease.BootUntil = op.Until, op.Boot, op.BootUntil
			}
		case leases.OpClaim:
			if at {
				lease.Uses++
			}
		}
	}
	return lease
}

// minted returns the leases that are about to be made.
func (d *desk) minted(keep func(*leases.Lease) bool) []leases.Lease {
	var out []leases.Lease
	for _, op := range d.ops {
		if op.Kind != leases.OpMint {
			continue
		}
		if l := op.Lease.Clone(); keep(&l) {
			out = append(out, *d.after(&l))
		}
	}
	return out
}

// Lease implements leases.Store.
func (d *desk) Lease(ctx context.Context, id string) (*leases.Lease, error) {
	if list := d.minted(func(l *leases.Lease) bool { return l.ID == id }); len(list) > 0 {
		return &list[0], nil
	}
	l, err := d.Store.Lease(ctx, id)
	return d.after(l), err
}

// LeaseByToken implements leases.Store.
func (d *desk) LeaseByToken(ctx context.Context, hash []byte) (*leases.Lease, error) {
	if list := d.minted(func(l *leases.Lease) bool { return string(l.Token) == string(hash) }); len(list) > 0 {
		return &list[0], nil
	}
	l, err := d.Store.LeaseByToken(ctx, hash)
	return d.after(l), err
}

// HeldLeases implements leases.Store. Where it shows too much, the commit says so.
func (d *desk) HeldLeases(ctx context.Context, h leases.Holder, at leases.Instant) ([]leases.Lease, error) {
	list, err := d.Store.HeldLeases(ctx, h, at)
	if err != nil {
		return nil, err
	}
	for n := range list {
		list[n] = *d.after(&list[n])
	}
	list = append(list, d.minted(func(l *leases.Lease) bool { return l.Holder.Allows(h) })...)
	list = slices.DeleteFunc(list, func(l leases.Lease) bool { return !l.Usable(at) })
	slices.SortStableFunc(list, func(a, b leases.Lease) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Leases implements leases.Store, but for the order and the limit.
func (d *desk) Leases(ctx context.Context, q leases.Query) ([]leases.Lease, error) {
	list, err := d.Store.Leases(ctx, q)
	if err != nil {
		return nil, err
	}
	for n := range list {
		list[n] = *d.after(&list[n])
	}
	return append(list, d.minted(func(l *leases.Lease) bool { return q.Match(l) })...), nil
}
