package sqlite

import (
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Item implements marked.Rows.
func (c *conn) Item(id string) (*approvals.Item, error) { return approval(c, id) }

// Raise implements marked.Rows.
func (c *conn) Raise(id string, count int64) (bool, error) { return raise(c, id, count) }

// Chain implements marked.Rows.
func (c *conn) Chain(id string) (out []leases.Lease, err error) {
	err = c.query(`WITH RECURSIVE chain (id, parent) AS (
			SELECT id, parent FROM leases WHERE id = ?
			UNION ALL SELECT u.id, u.parent FROM chain c JOIN leases u ON u.id = c.parent)
		SELECT `+leaseColumns+" FROM chain c JOIN leases l ON l.id = c.id", func(st *sqlite3.Stmt) error {
		l, err := readLease(st)
		out = append(out, l)
		return err
	}, id)
	return out, err
}

// raise makes the uses of a lease at least count, and says whether they were fewer.
func raise(c *conn, id string, count int64) (bool, error) {
	err := changeLeases(c,
		`UPDATE leases SET uses = ?1, state = CASE WHEN state = 'active' AND ?1 >= max_uses THEN 'exhausted' ELSE state END
		WHERE id = ?2 AND uses < ?1`, count, id)
	return err == nil && c.Changes() > 0, err
}

// settle writes down the uses that have no commit, and a recovery that has none: the
// process that noted them ended in between, or the database went back and was recovered.
func (w *writer) settle(st *highwater.State) error {
	recovery, err := marked.Unwritten(st, w.edge.size)
	if err == nil && recovery != nil {
		err = w.event(*recovery)
	}
	if err == nil {
		err = w.settleUses(st)
	}
	if err != nil || recovery == nil {
		return err
	}
	return w.takeBack(time.Now())
}

// settleUses writes down the uses that have no commit.
func (w *writer) settleUses(st *highwater.State) error { return marked.Settle(st, time.Now(), w) }

// SettleApproval implements marked.Settler.
func (w *writer) SettleApproval(id, event string, now time.Time) error {
	it, err := approval(w.conn, id)
	if err != nil || it == nil || it.State != approvals.Approved && it.State != approvals.Pending {
		return err
	}
	it.State, it.Closed = approvals.Consumed, now.UTC().Round(0)
	if err := putApproval(w.conn, "UPDATE approvals SET state=?, ends_ns=?, body=? WHERE id=?", it); err != nil {
		return err
	}
	e := marked.ApprovalStep(it, approvals.Consumed, marked.NoCommit, now)
	if event != "" {
		e.ID = event
		there, err := exists(w.conn, "SELECT 1 FROM events WHERE id = ?", event)
		if err != nil || there {
			return err
		}
	}
	return w.event(e)
}

// SettleStatement implements marked.Settler.
func (w *writer) SettleStatement(id, event string, now time.Time) error {
	there, err := exists(w.conn, "SELECT 1 FROM events WHERE id = ?", event)
	if err != nil || there {
		return err
	}
	return w.event(marked.StatementStep(id, event, now))
}

// SettleLease implements marked.Settler.
func (w *writer) SettleLease(id string, count int64, now time.Time) error {
	raised, err := raise(w.conn, id, count)
	if err != nil || !raised {
		return err
	}
	// Of a row that was only set back the log has the use already. A use of a lease below
	// is one of this lease as well.
	if logged, err := w.claimsLogged(id); err != nil || logged >= count {
		return err
	}
	l, err := leaseByID(w.conn, id)
	if err != nil {
		return err
	}
	return w.event(marked.LeaseStep(l, "claimed", marked.NoCommit, now))
}

// claimsLogged returns how many claims of a lease, or of one below it, the log has.
func (w *writer) claimsLogged(id string) (logged int64, err error) {
	l := &leaves{conn: w.conn}
	err = w.conn.query("SELECT seq, body FROM events WHERE type = 'lease' AND decision = 'claimed' AND "+rareTypes,
		func(st *sqlite3.Stmt) error {
			var e phases.Event
			leaf, err := l.leaf(nil, st.ColumnInt64(0), st.ColumnRawBlob(1))
			if err == nil {
				err = eventbytes.Head(leaf, &e)
			}
			if lease, ok := strings.CutPrefix(e.Reason, "lease "+id); ok && (lease == "" || lease[0] == '/') {
				logged++
			}
			return err
		})
	return logged, err
}

// takeBack takes back what the lost part of the log may have used up or taken back itself.
func (w *writer) takeBack(now time.Time) error {
	steps, _, err := supersede(w.conn, "state='approved'", marked.Recovered, now)
	if err != nil {
		return err
	}
	more, _, err := revokeAll(w.conn, marked.Recovered, now)
	if err != nil {
		return err
	}
	return w.events(append(steps, more...))
}

// supersede takes back the items that the condition selects. It returns the events that say so,
// and their ids.
func supersede(c *conn, where, why string, now time.Time) (steps []phases.Event, ids []string, err error) {
	var items []approvals.Item
	err = c.query(approvalRow+"WHERE "+where+" ORDER BY id", func(st *sqlite3.Stmt) error {
		items = append(items, scanApproval(st))
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range items {
		it := &items[i]
		it.State, it.Closed = approvals.Superseded, now.UTC().Round(0)
		if err := putApproval(c, "UPDATE approvals SET state=?, ends_ns=?, body=? WHERE id=?", it); err != nil {
			return nil, nil, err
		}
		steps = append(steps, marked.ApprovalStep(it, approvals.Superseded, why, now))
		ids = append(ids, it.ID)
	}
	return steps, ids, nil
}

// revokeAll takes back all leases that are active. It returns the events that say so, and their ids.
func revokeAll(c *conn, why string, now time.Time) (steps []phases.Event, ids []string, err error) {
	var lent []leases.Lease
	err = c.query(leaseRow+"WHERE l.state = 'active' ORDER BY l.id", func(st *sqlite3.Stmt) error {
		l, err := readLease(st)
		lent = append(lent, l)
		return err
	})
	if err == nil {
		err = changeLeases(c, "UPDATE leases SET state = 'revoked' WHERE state = 'active'")
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range lent {
		steps = append(steps, marked.LeaseStep(&lent[i], "revoked", why, now))
		ids = append(ids, lent[i].ID)
	}
	return steps, ids, nil
}

func leaseByID(c *conn, id string) (out *leases.Lease, err error) {
	err = c.query(leaseRow+"WHERE l.id = ?", func(st *sqlite3.Stmt) error {
		l, err := readLease(st)
		out = &l
		return err
	}, id)
	if out == nil && err == nil {
		err = damaged("lease %q", id)
	}
	return out, err
}

// event adds an event of the store's own, which covers the rows as they are then.
func (w *writer) event(e phases.Event) error {
	list := []phases.Event{e}
	es, err := w.own(list)
	if err != nil {
		return err
	}
	if w.set, err = retouch(w.conn, w.set); err != nil {
		return err
	}
	root := w.set.Root()
	return writeEvent(w.conn, w.edge, &list[0], &es[0], &root)
}

// own encodes and packs events of the store's own.
func (w *writer) own(list []phases.Event) ([]encoded, error) {
	es, _, err := encode(w.store.packs, nil, list)
	return es, err
}

func (w *writer) events(es []phases.Event) error {
	for i := range es {
		if err := w.event(es[i]); err != nil {
			return err
		}
	}
	return nil
}
