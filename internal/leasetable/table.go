package leases

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"
)

// ErrStale: what an Op rests on does not hold any more.
var ErrStale = errors.New("the lease has changed")

// Table is leases in memory: what every Op means, without a database. It is not
// safe for concurrent use.
type Table struct {
	rows map[string]Lease
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

// All returns every lease, in no order. They share what is in the table: do not change them.
func (t *Table) All() iter.Seq[Lease] { return maps.Values(t.rows) }

// Lease returns the lease, or nil.
func (t *Table) Lease(id string) *Lease {
	if l, ok := t.rows[id]; ok {
		l = l.Clone()
		return &l
	}
	return nil
}

// LeaseByToken returns the lease with the keyed hash, or nil.
func (t *Table) LeaseByToken(hash []byte) *Lease {
	for _, l := range t.rows {
		if len(hash) > 0 && string(l.Token) == string(hash) {
			l = l.Clone()
			return &l
		}
	}
	return nil
}

// Held is Store.HeldLeases.
func (t *Table) Held(h Holder, at Instant) []Lease {
	at.High = t.high
	var out []Lease
	for id, l := range t.rows {
		if l.Holder.Allows(h) && t.usable(id, at) != nil {
			out = append(out, l.Clone())
		}
	}
	slices.SortFunc(out, func(a, b Lease) int { return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID)) })
	return out
}

// Leases is Store.Leases.
func (t *Table) Leases(q Query) []Lease {
	q.At.High = t.high
	var out []Lease
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

// usable returns the ids of the lease and all above it if every one can be claimed, else nil.
func (t *Table) usable(id string, at Instant) []string {
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

// Apply carries out one Op. With an error, ErrStale, nothing has changed.
func (t *Table) Apply(op *Op) error {
	at := op.At
	at.High = t.high
	if t.rows == nil {
		t.rows = map[string]Lease{}
	}
	switch op.Kind {
	case OpMint:
		return t.mint(op, at)
	case OpClaim:
		l, ok := t.rows[op.ID]
		chain := t.usable(op.ID, at)
		if !ok || chain == nil || !l.Holder.Allows(op.By) {
			return ErrStale
		}
		for _, id := range chain {
			l := t.rows[id]
			if l.Uses++; l.Uses >= l.MaxUses {
				l.State = Exhausted
			}
			t.rows[id] = l
		}
	case OpRenew:
		l, ok := t.rows[op.ID]
		if !ok || t.usable(op.ID, at) == nil || l.Parent != "" && t.rows[l.Parent].ExpiresAt.Before(op.Until) {
			return ErrStale
		}
		if l.Boot != op.Boot {
			l.BootFrom = 0
		}
		l.ExpiresAt, l.Boot, l.BootUntil = op.Until.UTC().Round(0), op.Boot, op.BootUntil
		t.rows[op.ID] = l
	case OpRevoke, OpRevokePrefix:
		if l, ok := t.rows[op.ID]; op.Kind == OpRevoke && (!ok || !op.Reaches(&l)) {
			return ErrStale
		}
		for id, l := range t.rows {
			if (id == op.ID || Below(op.ID, id)) && l.State == Active && op.Reaches(&l) {
				l.State = Revoked
				t.rows[id] = l
			}
		}
	default:
		return ErrStale
	}
	return nil
}

func (t *Table) mint(op *Op, at Instant) error {
	l := op.Lease.Clone()
	parent := ""
	for _, p := range Prefixes(l.ID) {
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
		if id == l.ID || Below(l.ID, id) || string(o.Token) == string(l.Token) {
			return ErrStale
		}
		if l.Holder.Credential != "" && o.Holder.Credential == l.Holder.Credential && o.StateAt(at) == Active {
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
	maps.DeleteFunc(t.rows, func(_ string, l Lease) bool { return l.ExpiresAt.Before(before) })
}

// SetHigh sets the highest wall time seen.
func (t *Table) SetHigh(wall time.Time) { t.high = wall }
