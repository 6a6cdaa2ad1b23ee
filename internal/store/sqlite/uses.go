package sqlite

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/uuid/v5"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// What a commit uses up is read off its batch, so that no caller can forget to say it.

// spent refuses a batch that uses up an approval or a reviewer's statement whose use is noted
// outside of the database. It raises the use counts of leases to those noted there. It has
// written nothing when it refuses.
func (w *writer) spent(b *kernel.Batch) error {
	st := w.guarded.mark
	if st == nil || len(st.Uses) == 0 {
		return nil
	}
	for i := range b.Approvals {
		id := consumes(&b.Approvals[i])
		if _, used := st.Uses[highwater.Approval+id]; id != "" && used {
			it, err := approval(w.conn, id)
			if err != nil {
				return err
			}
			if it != nil && it.State == approvals.Consumed {
				continue // the database knows it as well: a conflict, as of any two that use it
			}
			w.guarded.undone = true
			return rolledBack(&highwater.Error{Class: highwater.ErrBehind, Reason: "approval " + id + " was used before"})
		}
	}
	for i := range b.Events {
		if o := ordered(&b.Events[i]); o != nil && st.Uses[highwater.Statement+o.ID].ID != "" {
			w.guarded.undone = true
			return rolledBack(&highwater.Error{Class: highwater.ErrBehind, Reason: "the reviewer's statement " + o.ID +
				" was used before"})
		}
	}
	for i := range b.Leases {
		op := &b.Leases[i]
		if op.Kind != leases.OpClaim {
			continue
		}
		for _, id := range append(leases.Prefixes(op.ID), op.ID) {
			if u, ok := st.Uses[highwater.Lease+id]; ok {
				raised, err := raise(w.conn, id, u.Count)
				if err != nil {
					return err
				}
				w.guarded.undone = w.guarded.undone || raised
			}
		}
	}
	return nil
}

func consumes(op *approvals.Op) string {
	if op.Change != nil && op.Change.To == approvals.Consumed {
		return op.Change.ID
	}
	return ""
}

// ordered returns the reviewer's statement that an event records the use of, or nil.
func ordered(e *phases.Event) *approvals.Order {
	if e.Type != phases.EventNotice || e.Decision != kernel.Ordered {
		return nil
	}
	o, err := queue.DecodeOrder(e.Output)
	if err != nil {
		return nil // no statement, or none that could be used again
	}
	return &o
}

// raise makes the uses of a lease at least count, and says whether they were fewer.
func raise(c *conn, id string, count int64) (bool, error) {
	err := changeLeases(c,
		`UPDATE leases SET uses = ?1, state = CASE WHEN state = 'active' AND ?1 >= max_uses THEN 'exhausted' ELSE state END
		WHERE id = ?2 AND uses < ?1`, count, id)
	return err == nil && c.Changes() > 0, err
}

// uses returns what a batch that was just written has used up.
func uses(c *conn, b *kernel.Batch) ([]highwater.Use, error) {
	var out []highwater.Use
	for i := range b.Approvals {
		id := consumes(&b.Approvals[i])
		if id == "" {
			continue
		}
		it, err := approval(c, id)
		if err != nil {
			return nil, err
		}
		u := highwater.Use{ID: highwater.Approval + id, Event: useEvent(b, id), Until: b.Now.Add(queue.MaxTimeout).Unix()}
		if it != nil && it.Decision != nil {
			u.Until = max(u.Until, it.Decision.Until.Unix())
		}
		out = append(out, u)
	}
	for i := range b.Events {
		if o := ordered(&b.Events[i]); o != nil {
			out = append(out, highwater.Use{ID: highwater.Statement + o.ID, Event: b.Events[i].ID, Until: o.Expires.Unix()})
		}
	}
	for i := range b.Leases {
		if b.Leases[i].Kind != leases.OpClaim {
			continue
		}
		err := c.query(`WITH RECURSIVE chain (id, parent) AS (
				SELECT id, parent FROM leases WHERE id = ?
				UNION ALL SELECT u.id, u.parent FROM chain c JOIN leases u ON u.id = c.parent)
			SELECT l.id, l.uses, l.not_before_ns, l.expires_ns, l.body FROM chain c JOIN leases l ON l.id = c.id`,
			func(st *sqlite3.Stmt) error {
				var l leases.Lease
				if err := json.Unmarshal(st.ColumnBlob(4, nil), &l); err != nil {
					return err
				}
				end := max(st.ColumnInt64(3), st.ColumnInt64(2)+l.MaxTTLS*int64(time.Second)) // with all renewals
				out = append(out,
					highwater.Use{ID: highwater.Lease + st.ColumnText(0), Count: st.ColumnInt64(1), Until: end / int64(time.Second)})
				return nil
			}, b.Leases[i].ID)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// useEvent returns the id of the event that records the use of an approval.
func useEvent(b *kernel.Batch, id string) string {
	for i := range b.Events {
		e := &b.Events[i]
		if e.Type != phases.EventApproval || e.Decision != string(approvals.Consumed) {
			continue
		}
		if got, ok := phases.GetString(e.Output, "/approval"); ok && got == id {
			return e.ID
		}
	}
	return ""
}

// settle writes down the uses that have no commit, and a recovery that has none: the
// process that noted them ended in between, or the database went back and was recovered.
func (w *writer) settle(st *highwater.State) error {
	recovery, err := w.unwritten(st)
	if err == nil {
		err = w.events(recovery)
	}
	if err == nil {
		err = w.settleUses(st)
	}
	if err != nil || len(recovery) == 0 {
		return err
	}
	return w.takeBack(time.Now())
}

// unwritten returns the event of the recovery that the mark holds and the log does not, if there is one.
func (w *writer) unwritten(st *highwater.State) ([]phases.Event, error) {
	if st.Recovery == nil || st.Recovery.Size != w.edge.size {
		return nil, nil
	}
	var e phases.Event
	if err := json.Unmarshal([]byte(st.Recovery.Body), &e); err != nil {
		return nil, err
	}
	return []phases.Event{e}, nil
}

// settleUses writes down the uses that have no commit.
func (w *writer) settleUses(st *highwater.State) error {
	now := time.Now()
	ids := make([]string, 0, len(st.Uses))
	for id := range st.Uses {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		u := st.Uses[id]
		var err error
		if statement, ok := strings.CutPrefix(id, highwater.Statement); ok {
			if !u.Over(now) { // else its event may be compacted
				err = w.settleStatement(statement, u.Event, now)
			}
		} else if lease, ok := strings.CutPrefix(id, highwater.Lease); ok {
			err = w.settleLease(lease, u.Count, now)
		} else if item, ok := strings.CutPrefix(id, highwater.Approval); ok {
			err = w.settleApproval(item, u.Event, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const noCommit = "its use was noted outside of the database and is not in it: it counts as used"

func (w *writer) settleApproval(id, event string, now time.Time) error {
	it, err := approval(w.conn, id)
	if err != nil || it == nil || it.State != approvals.Approved && it.State != approvals.Pending {
		return err
	}
	it.State, it.Closed = approvals.Consumed, now.UTC().Round(0)
	if err := putApproval(w.conn, "UPDATE approvals SET state=?, ends_ns=?, body=? WHERE id=?", it); err != nil {
		return err
	}
	e := approvalStep(it, string(approvals.Consumed), noCommit, now)
	if event != "" {
		e.ID = event
		there, err := exists(w.conn, "SELECT 1 FROM events WHERE id = ?", event)
		if err != nil || there {
			return err
		}
	}
	return w.event(e)
}

func (w *writer) settleStatement(id, event string, now time.Time) error {
	there, err := exists(w.conn, "SELECT 1 FROM events WHERE id = ?", event)
	if err != nil || there {
		return err
	}
	e := newEvent(phases.EventNotice, now)
	e.ID, e.Decision, e.Reason, e.Notes = event, kernel.Ordered, "the reviewer's statement "+id, []string{noCommit}
	return w.event(e)
}

func (w *writer) settleLease(id string, count int64, now time.Time) error {
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
	return w.event(leaseStep(l, "claimed", noCommit, now))
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
	const why = "the database was recovered: what was lost may have used it up or taken it back"
	steps, _, err := supersede(w.conn, "state='approved'", why, now)
	if err != nil {
		return err
	}
	more, _, err := revokeAll(w.conn, why, now)
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
		steps = append(steps, approvalStep(it, string(approvals.Superseded), why, now))
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
		steps = append(steps, leaseStep(&lent[i], "revoked", why, now))
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

func newEvent(t phases.EventType, now time.Time) phases.Event {
	return phases.Event{ID: uuid.Must(uuid.NewV7AtTime(now)).String(), Type: t, Time: now.UTC(), DecidedBy: "belay"}
}

func adoption(size int64) phases.Event {
	e := newEvent(phases.EventNotice, time.Now())
	e.Reason = "from here on a high-water mark outside of the database says how far it has come"
	return e
}

func approvalStep(it *approvals.Item, what, why string, now time.Time) phases.Event {
	e := newEvent(phases.EventApproval, now)
	e.Invocation, e.Phase, e.Tool = it.Invocation, it.Phase, it.Tool
	e.Runtime, e.Session, e.Agent = it.By.Runtime, it.By.Session, it.By.Agent
	e.Decision, e.Reason = what, why
	e.Output = document("approval", it.ID)
	return e
}

func leaseStep(l *leases.Lease, what, why string, now time.Time) phases.Event {
	e := newEvent(phases.EventLease, now)
	e.Runtime, e.Session, e.Agent = phases.SafeLine(l.Holder.Runtime, phases.MaxRuntimeBytes),
		phases.SafeLine(l.Holder.Session, phases.MaxIDBytes), phases.SafeLine(l.Holder.Agent, phases.MaxIDBytes)
	e.Decision, e.Reason, e.Notes = what, "lease "+l.ID, []string{why}
	e.Output = document("id", l.ID)
	return e
}

func document(name, value string) []byte {
	b, _ := json.Marshal(map[string]string{name: value}) // texts: it cannot fail
	return b
}
