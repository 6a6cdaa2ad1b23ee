package sqlite

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// latches makes the latches again from the log. Where the log is in doubt, those in the tables
// stay as well.
func (r *repairer) latches() error {
	var found []kernel.Latch
	err := r.query(latchRows+"ORDER BY runtime, session", func(st *sqlite3.Stmt) error {
		key := wire.Session{Runtime: st.ColumnText(0), Session: st.ColumnText(1)}
		var l kernel.Latch
		if json.Unmarshal(st.ColumnBlob(3, nil), &l, json.RejectUnknownMembers(true)) != nil || l.Key() != key ||
			l.Since.UnixNano() != st.ColumnInt64(2) {
			l = marked.UnreadableLatch(key, r.now)
		}
		found = append(found, l)
		return nil
	})
	if err == nil {
		err = r.exec("DELETE FROM latches")
	}
	if err != nil {
		return err
	}
	for _, l := range r.advice.Latched(found, r.out) {
		if err := insertLatch(r.conn, l); err != nil {
			return err
		}
	}
	return nil
}

// approvals keeps the items that are what the log says of them, and takes back those by which
// something would pass.
func (r *repairer) approvals() error {
	var items []approvals.Item
	err := r.query(approvalRow+"ORDER BY id", func(st *sqlite3.Stmt) error {
		items = append(items, scanApproval(st))
		return nil
	})
	if err != nil {
		return err
	}
	denied := map[string]bool{}
	for i := range items {
		it := &items[i]
		sound := false
		if !it.Damaged && r.advice.Sound != nil {
			if sound, err = r.advice.Sound(it); err != nil {
				return marked.Refused(err)
			}
		}
		if sound {
			denied[it.ID] = it.State == approvals.Denied
			continue
		}
		if err := r.exec("DELETE FROM approvals WHERE id=?", it.ID); err != nil {
			return err
		}
		r.revoked("approval %s, which is not what the log says of it", it.ID)
	}
	steps, ids, err := supersede(r.conn, "state IN ('pending', 'approved')", marked.Repaired, r.now)
	if err != nil {
		return err
	}
	r.steps = append(r.steps, steps...)
	for _, id := range ids {
		r.revoked("approval %s", id)
	}
	for _, id := range r.advice.Denied {
		if !denied[id] {
			r.accepted("the denial of approval %s is lost: the question is put to a person again", id)
		}
	}
	return nil
}

// leases takes back all leases: which one was used up or taken back is not known.
func (r *repairer) leases() error {
	r.accepted("leases that were deleted are not known, and stay deleted")
	var bad []string
	err := r.query(leaseRow+"ORDER BY l.id", func(st *sqlite3.Stmt) error {
		if l, err := readLease(st); err != nil || l.ID != st.ColumnText(0) {
			bad = append(bad, st.ColumnText(0))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range bad {
		if err := r.exec("DELETE FROM leases WHERE id=?", id); err != nil {
			return err
		}
		r.revoked("lease %s, which cannot be read", id)
	}
	steps, ids, err := revokeAll(r.conn, marked.Repaired, r.now)
	if err != nil {
		return err
	}
	r.steps = append(r.steps, steps...)
	for _, id := range ids {
		r.revoked("lease %s", id)
	}
	return nil
}

// runs leaves metadata and retries as they are found: no event holds them.
func (r *repairer) runs() error {
	r.accepted("metadata and retries of runs, as they are found; those that were deleted are not known")
	var bad [][3]string
	err := r.query("SELECT "+runColumns+" FROM runs ORDER BY runtime, session, run", func(st *sqlite3.Stmt) error {
		key := [3]string{st.ColumnText(0), st.ColumnText(1), st.ColumnText(2)}
		var metadata phases.Metadata
		var retries map[string]int
		if err := cmp.Or(json.Unmarshal(st.ColumnBlob(5, nil), &metadata),
			json.Unmarshal(st.ColumnBlob(6, nil), &retries)); err != nil {
			bad = append(bad, key)
			return nil
		}
		r.accepted("run %s", restrict.Key(key[:]...))
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range bad {
		if err := r.exec("DELETE FROM runs WHERE runtime=? AND session=? AND run=?", k[0], k[1], k[2]); err != nil {
			return err
		}
		r.revoked("run %s, which cannot be read", restrict.Key(k[:]...))
	}
	return r.exec("UPDATE runs SET version=?", r.highest()) // none passes for one that was read before
}

// state leaves values of hooks as they are found, with versions that none of them has had.
func (r *repairer) state() error {
	version := r.highest()
	if !r.differs(restrict.State) {
		err := r.query("SELECT coalesce(max(version), 0) FROM state", func(st *sqlite3.Stmt) error {
			version = max(version, st.ColumnInt64(0))
			return nil
		})
		if err != nil {
			return err
		}
		r.rebuilt("the last version given to a value of a hook: %d", version)
		return r.one("state_version", version)
	}
	r.accepted("state of hooks, as it is found; values that were deleted or set back are not known: a budget may begin anew")
	err := r.query("SELECT namespace, count(*) FROM state GROUP BY namespace ORDER BY namespace",
		func(st *sqlite3.Stmt) error {
			r.accepted("state %s: values found: %d", restrict.Key(st.ColumnText(0)), st.ColumnInt64(1))
			return nil
		})
	if err == nil {
		err = r.exec("UPDATE state SET version=?", version)
	}
	if err != nil {
		return err
	}
	return r.one("state_version", version)
}
