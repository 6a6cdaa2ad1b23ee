package outside

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/belay-hooks/belay/leases"
)

// claimable returns the lease and all leases above it, or nil when one of them cannot be used.
func (r *rows) claimable(id string, at leases.Instant) (chain []leases.Lease) {
	for id != "" {
		l, ok := r.leases[id]
		if !ok || !l.Usable(at) {
			return nil
		}
		chain, id = append(chain, l), l.Parent
	}
	return chain
}

// changeLeases carries out one change, or refuses it if the stored leases do not allow it.
func (r *rows) changeLeases(op *leases.Op) error {
	at := op.At
	at.High = r.high
	l, known := r.leases[op.ID]
	switch op.Kind {
	case leases.OpMint:
		return r.mint(op, at)
	case leases.OpClaim:
		chain := r.claimable(op.ID, at)
		if chain == nil || !l.Holder.Allows(op.By) {
			return conflict("the lease cannot be claimed")
		}
		for _, c := range chain {
			if c.Uses++; c.Uses >= c.MaxUses {
				c.State = leases.Exhausted
			}
			r.leases[c.ID] = c
		}
	case leases.OpRenew:
		if r.claimable(op.ID, at) == nil || l.Parent != "" && r.leases[l.Parent].ExpiresAt.Before(op.Until) {
			return conflict("the lease cannot be renewed")
		}
		if l.Boot != op.Boot {
			l.BootFrom = 0
		}
		l.ExpiresAt, l.Boot, l.BootUntil = op.Until.UTC().Round(0), op.Boot, op.BootUntil
		r.leases[op.ID] = l
	case leases.OpRevoke, leases.OpRevokePrefix:
		if op.Kind == leases.OpRevoke && (!known || !op.Reaches(&l)) {
			return conflict("there is no such lease")
		}
		for id, l := range r.leases {
			if (id == op.ID || leases.Below(op.ID, id)) && l.State == leases.Active && op.Reaches(&l) {
				l.State = leases.Revoked
				r.leases[id] = l
			}
		}
	default:
		return conflict("a change of leases that is not known")
	}
	return nil
}

func (r *rows) mint(op *leases.Op, at leases.Instant) error {
	l, above := op.Lease.Clone(), ""
	for _, p := range leases.Prefixes(l.ID) {
		if _, ok := r.leases[p]; ok {
			above = p
			break
		}
	}
	live := 0
	for id, o := range r.leases {
		if id == l.ID || leases.Below(l.ID, id) || string(o.Token) == string(l.Token) {
			return conflict("the id or the token is taken")
		}
		if o.Holder.Credential == l.Holder.Credential && o.StateAt(at) == leases.Active {
			live++
		}
	}
	switch parent := r.leases[above]; {
	case above != l.Parent:
		return conflict("the lease above is another one")
	case l.Holder.Credential != "" && live >= op.Quota:
		return conflict("the quota of leases")
	case above != "" && (r.claimable(above, at) == nil || parent.MaxUses-parent.Uses < l.MaxUses ||
		parent.ExpiresAt.Before(l.ExpiresAt)):
		return conflict("the lease above has not that much left")
	}
	l.NotBefore, l.ExpiresAt, l.Created = l.NotBefore.UTC().Round(0), l.ExpiresAt.UTC().Round(0), l.Created.UTC().Round(0)
	r.leases[l.ID] = l
	return nil
}

// Lease implements leases.Store.
func (s *Store) Lease(ctx context.Context, id string) (*leases.Lease, error) {
	return s.lease(ctx, func(l *leases.Lease) bool { return l.ID == id })
}

// LeaseByToken implements leases.Store.
func (s *Store) LeaseByToken(ctx context.Context, hash []byte) (*leases.Lease, error) {
	return s.lease(ctx, func(l *leases.Lease) bool { return len(hash) > 0 && string(l.Token) == string(hash) })
}

func (s *Store) lease(ctx context.Context, want func(*leases.Lease) bool) (*leases.Lease, error) {
	return view(ctx, s, func(r *rows) *leases.Lease {
		for _, l := range r.leases {
			if want(&l) {
				l = l.Clone()
				return &l
			}
		}
		return nil
	})
}

// HeldLeases implements leases.Store.
func (s *Store) HeldLeases(ctx context.Context, h leases.Holder, at leases.Instant) ([]leases.Lease, error) {
	return view(ctx, s, func(r *rows) (out []leases.Lease) {
		at.High = r.high
		for id, l := range r.leases {
			if l.Holder.Allows(h) && r.claimable(id, at) != nil {
				out = append(out, l.Clone())
			}
		}
		slices.SortFunc(out, func(a, b leases.Lease) int {
			return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID))
		})
		return out
	})
}

// Leases implements leases.Store.
func (s *Store) Leases(ctx context.Context, q leases.Query) ([]leases.Lease, error) {
	return view(ctx, s, func(r *rows) (out []leases.Lease) {
		q.At.High = r.high
		for _, id := range slices.Sorted(maps.Keys(r.leases)) {
			if l := r.leases[id]; q.Match(&l) && len(out) < q.EffectiveLimit() {
				out = append(out, l.Clone())
			}
		}
		return out
	})
}

// LeaseClock implements leases.Store.
func (s *Store) LeaseClock(ctx context.Context) (time.Time, error) {
	return view(ctx, s, func(r *rows) time.Time { return r.high })
}
