package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// each calls f for the rows of one kind, by their keys.
func each[T any, P interface {
	*T
	row
}](w *world, f func(P) error) error {
	compare := func(a, b place) int { return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.key, b.key)) }
	for _, p := range slices.SortedFunc(maps.Keys(w.found), compare) {
		if r, ok := w.found[p].(P); ok {
			if err := f(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// latches makes the latches again from the logs.
func (r *repairer) latches(context.Context) error {
	var found []kernel.Latch
	err := each(r.world, func(row *latchRow) error {
		key := wire.Session{Runtime: string(row.runtime), Session: string(row.session)}
		var l kernel.Latch
		if json.Unmarshal(row.body, &l, json.RejectUnknownMembers(true)) != nil || l.Key() != key ||
			l.Since.UnixNano() != row.since {
			l = marked.UnreadableLatch(key, r.now)
		}
		found = append(found, l)
		r.step.rows[row.place()] = nil
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range r.advice.Latched(found, r.out) {
		row, err := newLatchRow(l)
		if err != nil {
			return err
		}
		if was, _ := r.world.found[row.place()].(*latchRow); was != nil && was.content(&r.world.hasher) ==
			row.content(&r.world.hasher) {
			row = was
		}
		r.step.put(row)
	}
	return nil
}

// approvals leaves the items that are what the logs say of them, and takes back those by which something would pass.
func (r *repairer) approvals(context.Context) error {
	denied := map[string]bool{}
	err := each(r.world, func(row *approvalRow) error {
		it := row.item()
		sound := false
		if !it.Damaged && r.advice.Sound != nil {
			var err error
			if sound, err = r.advice.Sound(&it); err != nil {
				return marked.Refused(err)
			}
		}
		switch {
		case !sound:
			r.step.forgetItem(&it)
			delete(r.step.queue, it.ID)
			r.out.AddRevoked("approval %s, which is not what the log says of it", it.ID)
			return nil
		case row.open():
			r.out.AddRevoked("approval %s", it.ID)
			r.events = append(r.events, marked.ApprovalStep(&it, approvals.Superseded, marked.Repaired, r.now))
			return r.step.close(it, approvals.Superseded, r.now)
		}
		denied[it.ID] = it.State == approvals.Denied
		return nil
	})
	for _, id := range r.advice.Denied {
		if err == nil && !denied[id] {
			r.out.AddAccepted("the denial of approval %s is lost: the question is put to a person again", id)
		}
	}
	return err
}

// leases takes back all leases: which one was used up or taken back is not known.
func (r *repairer) leases(context.Context) error {
	r.out.AddAccepted("leases that were deleted are not known, and stay deleted")
	return each(r.world, func(row *leaseRow) error {
		id := string(row.id)
		l := r.step.leases.Lease(id)
		if l == nil { // see world.addFoundLease
			r.step.rows[row.place()] = nil
			r.out.AddRevoked("lease %s, which cannot be read", id)
			return nil
		}
		if l.State != leases.Active {
			return nil
		}
		r.out.AddRevoked("lease %s", id)
		r.events = append(r.events, marked.LeaseStep(l, "revoked", marked.Repaired, r.now))
		r.step.revoke(l, row)
		return nil
	})
}

// runs leaves metadata and retries as they are found: no event holds them.
func (r *repairer) runs(context.Context) error {
	r.out.AddAccepted("metadata and retries of runs, as they are found; those that were deleted are not known")
	return each(r.world, func(row *runRow) error {
		k := row.key()
		name := restrict.Key(k.Runtime, k.Session, k.Run)
		var metadata phases.Metadata
		var retries map[string]int
		if cmp.Or(json.Unmarshal(row.metadata, &metadata), json.Unmarshal(row.retries, &retries)) != nil {
			r.step.rows[row.place()] = nil
			r.out.AddRevoked("run %s, which cannot be read", name)
			return nil
		}
		next := *row
		next.version = r.highest() // none passes for one that was read before
		r.step.put(&next)
		r.out.AddAccepted("run %s", name)
		return nil
	})
}

// state leaves values of hooks as they are found, with versions that none of them has had.
func (r *repairer) state(context.Context) error {
	version := r.highest()
	r.out.AddAccepted("state of hooks, as it is found; values that were deleted or set back are not known: a budget may " +
		"begin anew")
	values := map[string]int{}
	err := each(r.world, func(row *stateRow) error {
		next := *row
		next.version = version
		r.step.put(&next)
		values[string(row.namespace)]++
		return nil
	})
	for _, namespace := range slices.Sorted(maps.Keys(values)) {
		r.out.AddAccepted("state %s: values found: %d", restrict.Key(namespace), values[namespace])
	}
	r.step.single.version = version
	return err
}

// stateVersion makes the last version that was given to a value one that none of them has.
func (r *repairer) stateVersion(context.Context) error {
	if r.step.single.version != r.highest() { // else the values have it
		version := r.highest()
		err := each(r.world, func(row *stateRow) error { version = max(version, row.version); return nil })
		if err != nil {
			return err
		}
		r.step.single.version = version
	}
	r.out.AddRebuilt("the last version given to a value of a hook: %d", r.step.single.version)
	return nil
}

// close closes an item.
func (s *step) close(it approvals.Item, state approvals.State, now time.Time) error {
	it.State, it.Closed = state, now.UTC().Round(0)
	row, err := newApprovalRow(&it)
	if err == nil {
		s.queue[it.ID] = it
		s.put(row)
	}
	return err
}

// revoke takes a lease back. All else that its row says stays.
func (s *step) revoke(l *leases.Lease, was *leaseRow) {
	row := *was
	row.state = string(leases.Revoked)
	l.State = leases.Revoked
	s.leases.Put(*l)
	s.put(&row)
}
