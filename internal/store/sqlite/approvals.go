package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/approvals"
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
		if s := same.At(it.Created).State; s == approvals.Pending || s == approvals.Approved {
			return conflict("the same question is in the queue")
		}
	}
	u, err := approvalUsage(c, it.Kind, it.By, it.Created)
	if err != nil {
		return err
	}
	if u.Full(op.Quota) {
		return conflict("quota of undecided approvals")
	}
	return putApproval(c, `INSERT INTO approvals (state, ends_ns, body, id, kind, key, credential, runtime, session, agent)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, it, string(it.Kind), it.Key, it.By.Credential, it.By.Runtime, it.By.Session, it.By.Agent)
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
	if err := putApproval(c, "UPDATE approvals SET state=?, ends_ns=?, body=? WHERE id=?", &next); err != nil || next.State != approvals.Superseded {
		return err
	}
	return c.exec(`DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE credential=? AND kind=? AND state='superseded'
		ORDER BY ends_ns DESC, id DESC LIMIT -1 OFFSET ?)`, next.By.Credential, string(next.Kind), approvals.KeepSuperseded)
}

func putApproval(c *conn, sql string, it *approvals.Item, more ...any) error {
	body, err := json.Marshal(it, json.Deterministic(true))
	if err != nil {
		return err
	}
	return c.exec(sql, append([]any{string(it.State), endOf(it), body, it.ID}, more...)...)
}

// endOf is what the column ends_ns says of an item.
func endOf(it *approvals.Item) time.Time {
	switch {
	case it.State == approvals.Pending:
		return it.Expires
	case it.State == approvals.Approved && it.Decision != nil:
		return it.Decision.Until
	}
	return it.Closed
}

func pruneApprovals(c *conn, now time.Time) error {
	return c.exec("DELETE FROM approvals WHERE state NOT IN ('pending', 'approved') AND ends_ns < ?", now.Add(-approvals.KeepClosed))
}

const approvalRow = "SELECT body, id, kind, key, state, credential, runtime, session, agent, ends_ns FROM approvals "

// scanApproval reads a row of approvalRow. What the columns beside the body say has to
// be what the body says: the body is found and filtered by them.
func scanApproval(st *sqlite3.Stmt) approvals.Item {
	var it approvals.Item
	err := json.Unmarshal(st.ColumnBlob(0, nil), &it, json.RejectUnknownMembers(true))
	ends := endOf(&it)
	it.Damaged = err != nil || st.ColumnInt64(9) != ends.UnixNano()
	for i, v := range []string{it.ID, string(it.Kind), it.Key, string(it.State), it.By.Credential, it.By.Runtime, it.By.Session, it.By.Agent} {
		it.Damaged = it.Damaged || st.ColumnText(i+1) != v
	}
	if it.Damaged {
		it.ID = st.ColumnText(1) // by which it is found
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

func approvalUsage(c *conn, kind approvals.Kind, by approvals.Requester, now time.Time) (u approvals.Usage, err error) {
	const sql = "SELECT count(*), coalesce(sum(runtime=? AND session=? AND agent=?), 0) FROM approvals WHERE credential=? AND kind=? AND state='pending' AND ends_ns>?"
	err = c.query(sql, func(st *sqlite3.Stmt) error {
		u = approvals.Usage{Credential: st.ColumnInt(0), Agent: st.ColumnInt(1)}
		return nil
	}, by.Runtime, by.Session, by.Agent, by.Credential, string(kind), now)
	return u, err
}

func approvalHolders(c *conn, kind approvals.Kind, credential string, now time.Time) (out []approvals.Holder, err error) {
	const sql = "SELECT runtime, session, agent, count(*), min(id) FROM approvals WHERE credential=? AND kind=? AND state='pending' AND ends_ns>? GROUP BY runtime, session, agent"
	err = c.query(sql, func(st *sqlite3.Stmt) error {
		out = append(out, approvals.Holder{By: approvals.Requester{Credential: credential, Runtime: st.ColumnText(0), Session: st.ColumnText(1), Agent: st.ColumnText(2)},
			Pending: st.ColumnInt(3), Oldest: st.ColumnText(4)})
		return nil
	}, credential, string(kind), now)
	return out, err
}

// Approval implements approvals.Reader.
func (s *Store) Approval(ctx context.Context, id string) (out *approvals.Item, err error) {
	err = s.read(ctx, "read approval", func(c *conn) (err error) {
		out, err = approval(c, id)
		return err
	})
	return out, err
}

// ApprovalByKey implements approvals.Reader.
func (s *Store) ApprovalByKey(ctx context.Context, kind approvals.Kind, key string) (out *approvals.Item, err error) {
	err = s.read(ctx, "read approval", func(c *conn) (err error) {
		out, err = approvalByKey(c, kind, key)
		return err
	})
	return out, err
}

// ApprovalUsage implements approvals.Reader.
func (s *Store) ApprovalUsage(ctx context.Context, kind approvals.Kind, by approvals.Requester, now time.Time) (u approvals.Usage, err error) {
	err = s.read(ctx, "count approvals", func(c *conn) (err error) {
		u, err = approvalUsage(c, kind, by, now)
		return err
	})
	return u, err
}

// ApprovalHolders implements approvals.Reader.
func (s *Store) ApprovalHolders(ctx context.Context, kind approvals.Kind, credential string, now time.Time) (out []approvals.Holder, err error) {
	err = s.read(ctx, "read holders of approvals", func(c *conn) (err error) {
		out, err = approvalHolders(c, kind, credential, now)
		return err
	})
	return out, err
}

// ApprovalCounts implements approvals.Reader.
func (s *Store) ApprovalCounts(ctx context.Context, now time.Time) (map[approvals.Kind]int, error) {
	out := map[approvals.Kind]int{}
	err := s.read(ctx, "count approvals", func(c *conn) error {
		clear(out)
		return c.query("SELECT kind, count(*) FROM approvals WHERE state='pending' AND ends_ns>? GROUP BY kind", func(st *sqlite3.Stmt) error {
			out[approvals.Kind(st.ColumnText(0))] = st.ColumnInt(1)
			return nil
		}, now)
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
		and("state IN ('pending', 'approved') AND ends_ns<=?", q.DueAt)
	}
	if !q.NotDueAt.IsZero() {
		and("NOT (state IN ('pending', 'approved') AND ends_ns<=?)", q.NotDueAt)
	}
	and("1 ORDER BY id DESC LIMIT ?", q.EffectiveLimit())
	err = s.read(ctx, "read approvals", func(c *conn) error {
		out = nil
		return c.query(sql, func(st *sqlite3.Stmt) error {
			out = append(out, scanApproval(st))
			return nil
		}, args...)
	})
	return out, err
}
