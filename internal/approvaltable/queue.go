// Package approvaltable carries out changes to approvals in memory: it says what every approvals.Op means, without a
// database. The store in memory holds its queue in one, and the store in PostgreSQL decides with one about the rows
// that it has locked.
//
// It never decides whose signature counts, and it records nothing.
package approvaltable

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// Table is approvals by id.
type Table map[string]approvals.Item

// After returns the items that the steps change, as they are afterwards. The error is
// kernel.ErrConflict, and nothing has changed.
func (t Table) After(ops []approvals.Op) (Table, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	next := maps.Clone(t)
	changed := Table{}
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

func (t Table) create(op approvals.Op) (approvals.Item, error) {
	it := op.Create.Clone()
	if _, taken := t[it.ID]; taken || it.ID == "" || it.State != approvals.Pending {
		return it, fmt.Errorf("%w: approval id %q is empty or taken, or it is not pending", kernel.ErrUnavailable, it.ID)
	}
	if same := t.Newest(it.Kind, it.Key); same != nil {
		if s := same.At(op.When()).State; s == approvals.Pending || s == approvals.Approved {
			return it, conflict("the same question is in the queue")
		}
	}
	if t.Usage(it.Kind, it.By, op.When()).Full(op.Quota) {
		return it, conflict("quota of undecided approvals")
	}
	return it, nil
}

func (t Table) change(c *approvals.Change) (approvals.Item, error) {
	it, ok := t[c.ID]
	if !ok || it.Damaged || !c.Applies(&it) {
		return it, conflict("approval")
	}
	return c.Apply(it.Clone()).Clone(), nil
}

// Newest returns the newest item of a kind and key, or nil.
func (t Table) Newest(kind approvals.Kind, key string) *approvals.Item {
	var found *approvals.Item
	for _, it := range t {
		if it.Kind == kind && it.Key == key && (found == nil || it.ID > found.ID) {
			found = &it
		}
	}
	return found
}

// Usage is approvals.Reader.ApprovalUsage.
func (t Table) Usage(kind approvals.Kind, by approvals.Requester, now leases.Instant) (u approvals.Usage) {
	for _, it := range t {
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

// Holders is approvals.Reader.ApprovalHolders.
func (t Table) Holders(kind approvals.Kind, credential string, now leases.Instant) (out []approvals.Holder) {
	for _, it := range t {
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

// Take puts in what After has returned.
func (t Table) Take(changed Table) {
	maps.Copy(t, changed)
	for _, it := range changed {
		if it.State == approvals.Superseded {
			t.trim(it.Kind, it.By.Credential)
		}
	}
}

// trim drops superseded items beyond approvals.KeepSuperseded, the oldest first.
func (t Table) trim(kind approvals.Kind, credential string) {
	var old []approvals.Item
	for _, it := range t {
		if it.State == approvals.Superseded && it.Kind == kind && it.By.Credential == credential {
			old = append(old, it)
		}
	}
	slices.SortFunc(old, func(a, b approvals.Item) int {
		return cmp.Or(b.Closed.Compare(a.Closed), cmp.Compare(b.ID, a.ID))
	})
	for n := approvals.KeepSuperseded; n < len(old); n++ {
		delete(t, old[n].ID)
	}
}

// Prune forgets what has had its time.
func (t Table) Prune(now time.Time) {
	maps.DeleteFunc(t, func(_ string, it approvals.Item) bool { return it.Forgettable(now) })
}
