package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// approvalsSchema is the queue. Columns beside body are copies for filters; body
// is the item. ends_ns is when a pending or approved item runs out, else when it ended.
const approvalsSchema = `CREATE TABLE approvals (
		id         TEXT PRIMARY KEY,
		kind       TEXT NOT NULL,
		key        TEXT NOT NULL,
		state      TEXT NOT NULL,
		credential TEXT NOT NULL,
		runtime    TEXT NOT NULL,
		session    TEXT NOT NULL,
		agent      TEXT NOT NULL,
		ends_ns    INTEGER NOT NULL,
		body       BLOB NOT NULL
	) STRICT, WITHOUT ROWID;
	CREATE INDEX approvals_key ON approvals (kind, key, id);
	CREATE INDEX approvals_ends ON approvals (state, ends_ns);
	CREATE INDEX approvals_owner ON approvals (credential, kind, state, ends_ns);`

// writeApprovals takes the steps in order. The writer is alone, so that reading and
// then writing is one step for everybody else.
func writeApprovals(c *conn, ops []approvals.Op) error {
	for i := range ops {
		var err error
		if ops[i].Create != nil {
			err = createApproval(c, &ops[i])
		} else {
			err = changeApproval(c, ops[i].Change)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func createApproval(c *conn, op *approvals.Op) error {
	it := op.Create
	if it.ID == "" || it.State != approvals.Pending {
		return errors.New("an approval begins with an id, and pending")
	}
	same, err := approvalByKey(c, it.Kind, it.Key)
	if err != nil {
		return err
	}
	if same != nil {
		if s := same.At(op.When()).State; s == approvals.Pending || s == approvals.Approved {
			return conflict("the same question is in the queue")
		}
	}
	u, err := approvalUsage(c, it.Kind, it.By, op.When())
	if err != nil {
		return err
	}
	if u.Full(op.Quota) {
		return conflict("quota of undecided approvals")
	}
	c.touch(restrict.ApprovalKeys, string(it.Kind), it.Key)
	return putApproval(c, `INSERT INTO approvals (state, ends_ns, body, id, kind, key, credential, runtime, session, agent)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, it, string(it.Kind), it.Key, it.By.Credential, it.By.Runtime, it.By.Session,
		it.By.Agent)
}

func changeApproval(c *conn, ch *approvals.Change) error {
	it, err := approval(c, ch.ID)
	if err != nil {
		return err
	}
	if it == nil || it.Damaged || !ch.Applies(it) {
		return conflict("approval")
	}
	next := ch.Apply(*it)
	if err := putApproval(c, "UPDATE approvals SET state=?, ends_ns=?, body=? WHERE id=?", &next); err != nil ||
		next.State != approvals.Superseded {
		return err
	}
	return deleteApprovals(c, `id IN (SELECT id FROM approvals WHERE credential=? AND kind=? AND state='superseded'
		ORDER BY ends_ns DESC, id DESC LIMIT -1 OFFSET ?)`, next.By.Credential, string(next.Kind), approvals.KeepSuperseded)
}

func putApproval(c *conn, sql string, it *approvals.Item, more ...any) error {
	body, err := json.Marshal(it, json.Deterministic(true))
	if err != nil {
		return err
	}
	c.touch(restrict.Approvals, it.ID)
	return c.exec(sql, append([]any{string(it.State), it.Ends(), body, it.ID}, more...)...)
}

func pruneApprovals(c *conn, now time.Time) error {
	return deleteApprovals(c, "state NOT IN ('pending', 'approved') AND ends_ns < ?", now.Add(-approvals.KeepClosed))
}

func deleteApprovals(c *conn, where string, args ...any) error {
	return c.query("DELETE FROM approvals WHERE "+where+" RETURNING id, kind, key", func(st *sqlite3.Stmt) error {
		c.touch(restrict.Approvals, st.ColumnText(0))
		c.touch(restrict.ApprovalKeys, st.ColumnText(1), st.ColumnText(2))
		return nil
	}, args...)
}

const approvalRow = "SELECT " + approvalColumns + " FROM approvals "

// scanApproval reads a row of approvalRow. What the columns beside the body say has to
// be what the body says: the body is found and filtered by them.
func scanApproval(st *sqlite3.Stmt) approvals.Item {
	var it approvals.Item
	err := json.Unmarshal(st.ColumnBlob(9, nil), &it, json.RejectUnknownMembers(true))
	it.Damaged = err != nil || st.ColumnInt64(8) != it.Ends().UnixNano()
	for i, v := range []string{it.ID, string(it.Kind), it.Key, string(it.State), it.By.Credential, it.By.Runtime,
		it.By.Session, it.By.Agent} {
		it.Damaged = it.Damaged || st.ColumnText(i) != v
	}
	if it.Damaged {
		it.ID = st.ColumnText(0) // by which it is found
	}
	return it
}

func approval(c *conn, id string) (*approvals.Item, error) {
	return oneApproval(c, approvalRow+"WHERE id=?", id)
}

func approvalByKey(c *conn, kind approvals.Kind, key string) (*approvals.Item, error) {
	return oneApproval(c, approvalRow+"WHERE kind=? AND key=? ORDER BY id DESC LIMIT 1", string(kind), key)
}

func oneApproval(c *conn, sql string, args ...any) (out *approvals.Item, err error) {
	err = c.query(sql, func(st *sqlite3.Stmt) error {
		it := scanApproval(st)
		out = &it
		return nil
	}, args...)
	return out, err
}

// pendingItem holds the id, kind and requester of an item that waits for a person.
type pendingItem struct {
	id   string
	kind approvals.Kind
	by   approvals.Requester
}

// pending calls f for the items that wait for a person at a time. Whether one has run out
// is decided here and not by ends_ns, which is on the wall clock: see approvals.Item.Left.
// Of a row that cannot be read ends_ns says it. Quotas bound how many there are.
func pending(c *conn, now leases.Instant, f func(pendingItem), where string, args ...any) error {
	return c.query(approvalRow+"WHERE state='pending'"+where, func(st *sqlite3.Stmt) error {
		if ranOut(st, now) {
			return nil
		}
		f(pendingItem{st.ColumnText(0), approvals.Kind(st.ColumnText(1)), approvals.Requester{
			Credential: st.ColumnText(4), Runtime: st.ColumnText(5), Session: st.ColumnText(6), Agent: st.ColumnText(7)}})
		return nil
	}, args...)
}

func approvalUsage(c *conn, kind approvals.Kind, by approvals.Requester,
	now leases.Instant) (u approvals.Usage, err error) {
	err = pending(c, now, func(it pendingItem) {
		u.Credential++
		if it.by == by {
			u.Agent++
		}
	}, " AND credential=? AND kind=?", by.Credential, string(kind))
	return u, err
}

func approvalHolders(c *conn, kind approvals.Kind, credential string,
	now leases.Instant) (out []approvals.Holder, err error) {
	err = pending(c, now, func(it pendingItem) {
		n := slices.IndexFunc(out, func(h approvals.Holder) bool { return h.By == it.by })
		if n < 0 {
			n, out = len(out), append(out, approvals.Holder{By: it.by, Oldest: it.id})
		}
		out[n].Pending++
		out[n].Oldest = min(out[n].Oldest, it.id)
	}, " AND credential=? AND kind=?", credential, string(kind))
	return out, err
}

// item reads the item under the statement, as the log records it. In a log without records of rows, an item that is
// damaged says so itself.
func (v *view) item(st *sqlite3.Stmt) (approvals.Item, error) {
	it := scanApproval(st)
	return it, v.row(restrict.Approvals, st)
}

// Approval implements approvals.Reader.
func (s *Store) Approval(ctx context.Context, id string) (out *approvals.Item, err error) {
	err = s.readRows(ctx, "read approval", func(v *view) error {
		out = nil
		err := v.query(v.oneRow[restrict.Approvals], func(st *sqlite3.Stmt) error {
			it, err := v.item(st)
			out = &it
			return err
		}, id)
		if err != nil || out != nil {
			return err
		}
		return v.missing(restrict.Approvals, id)
	})
	return out, err
}

// ApprovalByKey implements approvals.Reader.
func (s *Store) ApprovalByKey(ctx context.Context, kind approvals.Kind, key string) (out *approvals.Item, err error) {
	err = s.readRows(ctx, "read approval", func(v *view) error {
		out = nil
		err := v.query(approvalRow+"WHERE kind=? AND key=? ORDER BY id DESC LIMIT 1", func(st *sqlite3.Stmt) error {
			it, err := v.item(st)
			out = &it
			return err
		}, string(kind), key)
		if err != nil {
			return err
		}
		return v.newest(kind, key, out)
	})
	return out, err
}

// newest checks that the item is the newest of its key, or that there is none.
func (v *view) newest(kind approvals.Kind, key string, it *approvals.Item) error {
	switch {
	case it == nil:
		return v.missing(restrict.ApprovalKeys, string(kind), key)
	case !v.adopted:
		return nil
	}
	v.hasher.Text(string(kind))
	v.hasher.Text(key)
	v.hasher.Text(it.ID)
	return v.holds(restrict.ApprovalKeys, restrict.Key(string(kind), key), v.hasher.Sum())
}

// ApprovalUsage implements approvals.Reader.
func (s *Store) ApprovalUsage(ctx context.Context, kind approvals.Kind, by approvals.Requester,
	now leases.Instant) (u approvals.Usage, err error) {
	err = s.read(ctx, "count approvals", func(c *conn) (err error) {
		u, err = approvalUsage(c, kind, by, now)
		return err
	})
	return u, err
}

// ApprovalHolders implements approvals.Reader.
func (s *Store) ApprovalHolders(ctx context.Context, kind approvals.Kind, credential string,
	now leases.Instant) (out []approvals.Holder, err error) {
	err = s.read(ctx, "read holders of approvals", func(c *conn) (err error) {
		out, err = approvalHolders(c, kind, credential, now)
		return err
	})
	return out, err
}

// ApprovalCounts implements approvals.Reader.
func (s *Store) ApprovalCounts(ctx context.Context, now leases.Instant) (map[approvals.Kind]int, error) {
	out := map[approvals.Kind]int{}
	err := s.read(ctx, "count approvals", func(c *conn) error {
		clear(out)
		return pending(c, now, func(it pendingItem) { out[it.kind]++ }, "")
	})
	return out, err
}

// Approvals implements approvals.Reader.
func (s *Store) Approvals(ctx context.Context, q approvals.Query) (out []approvals.Item, err error) {
	sql, args := approvalRow+"WHERE 1", []any{}
	and := func(cond string, a ...any) {
		sql += " AND " + cond
		args = append(args, a...)
	}
	if q.Kind != "" {
		and("kind=?", string(q.Kind))
	}
	if q.State != "" {
		and("state=?", string(q.State))
	}
	if q.By != nil {
		and("credential=? AND runtime=? AND session=? AND agent=?", q.By.Credential, q.By.Runtime, q.By.Session, q.By.Agent)
	}
	if q.Owner != "" {
		and("credential=?", q.Owner)
	}
	if q.Before != "" {
		and("id<?", q.Before)
	}
	if !q.DueAt.IsZero() {
		and("state IN ('pending', 'approved')")
	}
	// What has run out is not for SQL to say: see pending.
	due := !q.DueAt.IsZero() || !q.NotDueAt.IsZero()
	limit := q.EffectiveLimit()
	if due {
		limit = -1
	}
	and("1 ORDER BY id DESC LIMIT ?", limit)
	err = s.readRows(ctx, "read approvals", func(v *view) error {
		out = nil
		return v.query(sql, func(st *sqlite3.Stmt) error {
			if due && (len(out) == q.EffectiveLimit() || !dueFits(st, &q)) {
				return nil
			}
			it, err := v.item(st)
			out = append(out, it)
			return err
		}, args...)
	})
	return out, err
}

// ranOut reports whether the open item under the statement has run out.
func ranOut(st *sqlite3.Stmt, now leases.Instant) bool {
	it := scanApproval(st)
	if it.Damaged {
		return st.ColumnInt64(8) <= now.Latest().UnixNano()
	}
	return it.At(now).State == approvals.Expired
}

// dueFits reports whether the item under the statement fits DueAt and NotDueAt of a query.
func dueFits(st *sqlite3.Stmt, q *approvals.Query) bool {
	open := st.ColumnText(3) == string(approvals.Pending) || st.ColumnText(3) == string(approvals.Approved)
	return (q.DueAt.IsZero() || open && ranOut(st, q.DueAt)) && (q.NotDueAt.IsZero() || !open || !ranOut(st, q.NotDueAt))
}
