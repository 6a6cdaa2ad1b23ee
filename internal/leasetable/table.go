// Package leasetable carries out changes to leases in memory: it says what every leases.Op means, without a database.
// The stores in memory and in PostgreSQL decide with one; the suite that each store passes compares stores with one.
//
// It never decides who may mint a lease, and it records nothing.
package leasetable

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/belay-hooks/belay/leases"
)

// ErrStale: a condition of a leases.Op does not hold any more.
var ErrStale = errors.New("the lease has changed")

// Table is leases in memory. The zero value is an empty one. It is not
// safe for concurrent use.
type Table struct {
	rows map[string]leases.Lease
	high time.Time
}

// Clone returns a copy; leases are never changed in place.
func (t *Table) Clone() *Table { return &Table{rows: maps.Clone(t.rows), high: t.high} }

// Saw notes a wall time.
func (t *Table) Saw(wall time.Time) {
	if wall.After(t.high) {
		t.high = wall
	}
}

// High returns the highest wall time seen.
func (t *Table) High() time.Time { return t.high }

// Put puts a lease in as a store has it.
func (t *Table) Put(l leases.Lease) {
	if t.rows == nil {
		t.rows = map[string]leases.Lease{}
	}
	t.rows[l.ID] = l.Clone()
}

// All returns every lease, in no order. They share memory with the table: do not change them.
func (t *Table) All() iter.Seq[leases.Lease] { return maps.Values(t.rows) }

// Lease returns the lease, or nil.
func (t *Table) Lease(id string) *leases.Lease {
	if l, ok := t.rows[id]; ok {
		l = l.Clone()
		return &l
	}
	return nil
}

// LeaseByToken returns the lease with the keyed hash, or nil.
func (t *Table) LeaseByToken(hash []byte) *leases.Lease {
	for _, l := range t.rows {
		if len(hash) > 0 && string(l.Token) == string(hash) {
			l = l.Clone()
			return &l
		}
	}
	return nil
}

// Held is Store.HeldLeases.
func (t *Table) Held(h leases.Holder, at leases.Instant) []leases.Lease {
	at.High = t.high
	var out []leases.Lease
	for id, l := range t.rows {
		if l.Holder.Allows(h) && t.usable(id, at) != nil {
			out = append(out, l.Clone())
		}
	}
	slices.SortFunc(out, func(a, b leases.Lease) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Leases is Store.Leases.
func (t *Table) Leases(q leases.Query) []leases.Lease {
	q.At.High = t.high
	var out []leases.Lease
	for _, id := range slices.Sorted(maps.Keys(t.rows)) {
		if l := t.rows[id]; q.Match(&l) {
			out = append(out, l.Clone())
			if len(out) == q.EffectiveLimit() {
				break
			}
		}
	}
	return out
}

// usable returns the ids of the lease and of all leases above it, or nil if one of them cannot be claimed.
func (t *Table) usable(id string, at leases.Instant) []string {
	var chain []string
	for id != "" {
		l, ok := t.rows[id]
		if !ok || !l.Usable(at) {
			return nil
		}
		chain = append(chain, id)
		id = l.Parent
	}
	return chain
}

// Apply carries out one leases.Op. With an error, ErrStale, nothing has changed.
func (t *Table) Apply(op *leases.Op) error {
	at := op.At
	at.High = t.high
	if t.rows == nil {
		t.rows = map[string]leases.Lease{}
	}
	switch op.Kind {
	case leases.OpMint:
		return t.mint(op, at)
	case leases.OpClaim:
		l, ok := t.rows[op.ID]
		chain := t.usable(op.ID, at)
		if !ok || chain == nil || !l.Holder.Allows(op.By) {
			return ErrStale
		}
		for _, id := range chain {
			l := t.rows[id]
			if l.Uses++; l.Uses >= l.MaxUses {
				l.State = leases.Exhausted
			}
			t.rows[id] = l
		}
	case leases.OpRenew:
		l, ok := t.rows[op.ID]
		if !ok || t.usable(op.ID, at) == nil || l.Parent != "" && t.rows[l.Parent].ExpiresAt.Before(op.Until) {
			return ErrStale
		}
		if l.Boot != op.Boot {
			l.BootFrom = 0
		}
		l.ExpiresAt, l.Boot, l.BootUntil = op.Until.UTC().Round(0), op.Boot, op.BootUntil
		t.rows[op.ID] = l
	case leases.OpRevoke, leases.OpRevokePrefix:
		if l, ok := t.rows[op.ID]; op.Kind == leases.OpRevoke && (!ok || !op.Reaches(&l)) {
			return ErrStale
		}
		for id, l := range t.rows {
			if (id == op.ID || leases.Below(op.ID, id)) && l.State == leases.Active && op.Reaches(&l) {
				l.State = leases.Revoked
				t.rows[id] = l
			}
		}
	default:
		return ErrStale
	}
	return nil
}

func (t *Table) mint(op *leases.Op, at leases.Instant) error {
	l := op.Lease.Clone()
	parent := ""
	for _, p := range leases.Prefixes(l.ID) {
		if _, ok := t.rows[p]; ok {
			parent = p
			break
		}
	}
	if parent != l.Parent {
		return ErrStale
	}
	live := 0
	for id, o := range t.rows {
		if id == l.ID || leases.Below(l.ID, id) || string(o.Token) == string(l.Token) {
			return ErrStale
		}
		if l.Holder.Credential != "" && o.Holder.Credential == l.Holder.Credential && o.StateAt(at) == leases.Active {
			live++
		}
	}
	if l.Holder.Credential != "" && live >= op.Quota {
		return ErrStale
	}
	if parent != "" {
		p := t.rows[parent]
		if t.usable(parent, at) == nil || p.MaxUses-p.Uses < l.MaxUses || p.ExpiresAt.Before(l.ExpiresAt) {
			return ErrStale
		}
	}
	l.NotBefore, l.ExpiresAt, l.Created = l.NotBefore.UTC().Round(0), l.ExpiresAt.UTC().Round(0), l.Created.UTC().Round(0)
	t.rows[l.ID] = l
	return nil
}

// Prune forgets leases that were over before a time.
func (t *Table) Prune(before time.Time) {
	maps.DeleteFunc(t.rows, func(_ string, l leases.Lease) bool { return l.ExpiresAt.Before(before) })
}

// SetHigh sets the highest wall time seen.
func (t *Table) SetHigh(wall time.Time) { t.high = wall }
