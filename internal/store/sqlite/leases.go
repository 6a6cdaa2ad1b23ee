package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
)

// leasesSchema is the leases. Columns beside body are what changes or is searched
// for; they count where body says the same.
const leasesSchema = `CREATE TABLE leases (
		id            TEXT PRIMARY KEY,
		parent        TEXT NOT NULL,
		depth         INTEGER NOT NULL,
		runtime       TEXT NOT NULL,
		session       TEXT NOT NULL,
		agent         TEXT NOT NULL,
		credential    TEXT NOT NULL,
		state         TEXT NOT NULL,
		uses          INTEGER NOT NULL,
		max_uses      INTEGER NOT NULL,
		not_before_ns INTEGER NOT NULL,
		expires_ns    INTEGER NOT NULL,
		boot          TEXT NOT NULL,
		boot_from_ns  INTEGER NOT NULL,
		boot_until_ns INTEGER NOT NULL,
		token         BLOB NOT NULL UNIQUE,
		body          BLOB NOT NULL
	) STRICT, WITHOUT ROWID;
	CREATE INDEX leases_holder ON leases (session, agent, runtime);
	CREATE INDEX leases_credential ON leases (credential, state);
	CREATE INDEX leases_ends ON leases (expires_ns);
	-- The highest wall time that a commit has seen, up to a second less.
	CREATE TABLE lease_clock (wall_ns INTEGER NOT NULL) STRICT;
	INSERT INTO lease_clock VALUES (0);`

// Parameters ?1 to ?3 of every statement that looks at the clocks are boot,
// CLOCK_BOOTTIME and wall time: see leases.Lease.Usable, which says the same in Go.
const (
	leaseOver  = `CASE WHEN l.boot <> '' AND l.boot = ?1 THEN l.boot_until_ns <= ?2 ELSE l.expires_ns <= max(?3, (SELECT wall_ns FROM lease_clock)) END`
	leaseBegun = `CASE WHEN l.boot <> '' AND l.boot = ?1 THEN l.boot_from_ns <= ?2 ELSE l.not_before_ns <= ?3 END`
	usable     = `l.state = 'active' AND l.uses < l.max_uses AND ` + leaseBegun + ` AND NOT ` + leaseOver

	// The lease ?4 with every lease above it.
	leaseChain = `WITH RECURSIVE chain (id, parent) AS (
		SELECT id, parent FROM leases WHERE id = ?4
		UNION ALL SELECT u.id, u.parent FROM chain c JOIN leases u ON u.id = c.parent)`
	chainUsable = `(SELECT count(*) FROM chain c JOIN leases l ON l.id = c.id WHERE ` + usable +
		`) = (SELECT depth + 1 FROM leases WHERE id = ?4)`

	claimLease = leaseChain + `
		UPDATE leases SET uses = uses + 1, state = CASE WHEN uses + 1 >= max_uses THEN 'exhausted' ELSE state END
		WHERE id IN (SELECT id FROM chain) AND ` + chainUsable + `
		AND EXISTS (SELECT 1 FROM leases WHERE id = ?4 AND runtime = ?5 AND session = ?6 AND agent = ?7 AND credential IN ('', ?8))`
	parentHolds = leaseChain + `
		SELECT 1 FROM leases p WHERE p.id = ?4 AND p.max_uses - p.uses >= ?5 AND p.expires_ns >= ?6 AND ` + chainUsable
	renewLease = leaseChain + `
		UPDATE leases SET expires_ns = ?5, boot_from_ns = CASE WHEN boot = ?6 THEN boot_from_ns ELSE 0 END, boot = ?6, boot_until_ns = ?7
		WHERE id = ?4 AND ` + chainUsable + `
		AND NOT EXISTS (SELECT 1 FROM leases p WHERE p.id = leases.parent AND p.expires_ns < ?5)`
	leaseRow = "SELECT " + leaseColumns + " FROM leases l "
)

func clocks(at leases.Instant) []any { return []any{at.Boot, int64(at.Since), at.Wall} }

// below returns the bounds of the ids below a prefix: '0' comes after '/'.
func below(prefix string) (from, to string) { return prefix + "/", prefix + "0" }

// seen notes the time of a commit, about once a second: a row that changes with
// every commit would be one more page to sync.
func seen(c *conn, now time.Time) error {
	ns := now.UnixNano()
	if ns-c.seen < int64(time.Second) {
		return nil
	}
	c.seen = ns
	c.touch(restrict.LeaseClock)
	return c.exec("UPDATE lease_clock SET wall_ns = ?1 WHERE wall_ns < ?1", ns)
}

// writeLeases carries out the changes in order. The writer is alone, so that what
// is looked at first still holds when it is written; the claim is one statement all the same.
func writeLeases(c *conn, ops []leases.Op) error {
	for i := range ops {
		op := &ops[i]
		var err error
		needed := true // a change that changes no row does not hold
		switch op.Kind {
		case leases.OpMint:
			err = mintLease(c, op)
		case leases.OpClaim:
			err = changeLeases(c, claimLease,
				append(clocks(op.At), op.ID, op.By.Runtime, op.By.Session, op.By.Agent, op.By.Credential)...)
		case leases.OpRenew:
			err = changeLeases(c, renewLease, append(clocks(op.At), op.ID, op.Until, op.Boot, int64(op.BootUntil))...)
		case leases.OpRevoke, leases.OpRevokePrefix:
			err = revokeLeases(c, op)
			needed = false
		default:
			err = conflict("an unknown change of a lease")
		}
		if err != nil {
			return err
		}
		if needed && c.Changes() == 0 {
			return conflict("lease")
		}
	}
	return nil
}

func revokeLeases(c *conn, op *leases.Op) error {
	if op.Kind == leases.OpRevoke {
		there, err := exists(c, "SELECT 1 FROM leases WHERE id = ? AND (? = '' OR credential IN ('', ?) AND runtime = ?)",
			op.ID, op.Owner, op.Owner, op.Runtime)
		if err != nil {
			return err
		}
		if !there {
			return conflict("no such lease")
		}
	}
	from, to := below(op.ID)
	return changeLeases(c,
		"UPDATE leases SET state = 'revoked' WHERE (id = ? OR id > ? AND id < ?) AND state = 'active' AND (? = '' OR credential IN ('', ?) AND runtime = ?)",
		op.ID, from, to, op.Owner, op.Owner, op.Runtime)
}

// changeLeases runs a statement that changes leases.
func changeLeases(c *conn, sql string, args ...any) error {
	return c.query(sql+" RETURNING id", func(st *sqlite3.Stmt) error {
		c.touch(restrict.Leases, st.ColumnText(0))
		return nil
	}, args...)
}

func exists(c *conn, sql string, args ...any) (found bool, err error) {
	err = c.query(sql, func(*sqlite3.Stmt) error {
		found = true
		return nil
	}, args...)
	return found, err
}

// mintLease leaves one changed row, or is a conflict.
func mintLease(c *conn, op *leases.Op) error {
	l := op.Lease
	parent := ""
	for _, p := range leases.Prefixes(l.ID) {
		there, err := exists(c, "SELECT 1 FROM leases WHERE id = ?", p)
		if err != nil {
			return err
		}
		if there {
			parent = p
			break
		}
	}
	from, to := below(l.ID)
	taken, err := exists(c, "SELECT 1 FROM leases WHERE id = ? OR id > ? AND id < ? LIMIT 1", l.ID, from, to)
	if err != nil {
		return err
	}
	if taken || parent != l.Parent {
		return conflict("the place of a lease")
	}
	if l.Holder.Credential != "" {
		live := 0
		err := c.query("SELECT count(*) FROM leases l WHERE credential = ?4 AND state = 'active' AND NOT "+leaseOver,
			func(st *sqlite3.Stmt) error {
				live = st.ColumnInt(0)
				return nil
			}, append(clocks(op.At), l.Holder.Credential)...)
		if err != nil {
			return err
		}
		if live >= op.Quota {
			return conflict("quota of leases")
		}
	}
	if parent != "" {
		holds, err := exists(c, parentHolds, append(clocks(op.At), parent, l.MaxUses, l.ExpiresAt)...)
		if err != nil {
			return err
		}
		if !holds {
			return conflict("the parent of a lease")
		}
	}
	body, err := json.Marshal(&l, json.Deterministic(true))
	if err != nil {
		return err
	}
	c.touch(restrict.Leases, l.ID)
	return c.exec(
		`INSERT INTO leases (id, parent, depth, runtime, session, agent, credential, state, uses, max_uses, not_before_ns, expires_ns, boot, boot_from_ns, boot_until_ns, token, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.ID, l.Parent, l.Depth, l.Holder.Runtime, l.Holder.Session, l.Holder.Agent, l.Holder.Credential, string(l.State),
		l.Uses, l.MaxUses,
		l.NotBefore, l.ExpiresAt, l.Boot, int64(l.BootFrom), int64(l.BootUntil), l.Token, body)
}

func pruneLeases(c *conn, now time.Time) error {
	return changeLeases(c, "DELETE FROM leases WHERE expires_ns < ?", now.Add(-leases.Retention))
}

func readLease(st *sqlite3.Stmt) (leases.Lease, error) {
	var l leases.Lease
	if err := json.Unmarshal(st.ColumnBlob(16, nil), &l); err != nil {
		return l, err
	}
	l.State, l.Uses = leases.State(st.ColumnText(7)), st.ColumnInt64(8)
	l.NotBefore, l.ExpiresAt = time.Unix(0, st.ColumnInt64(10)).UTC(), time.Unix(0, st.ColumnInt64(11)).UTC()
	l.Boot, l.BootFrom, l.BootUntil = st.ColumnText(12), time.Duration(st.ColumnInt64(13)),
		time.Duration(st.ColumnInt64(14))
	l.Token = st.ColumnBlob(15, nil)
	return l, nil
}

// leaseRows reads leases, and checks them, those above them and the clock: what they are
// worth depends on these.
func (s *Store) leaseRows(ctx context.Context, sql string, args ...any) (out []leases.Lease, err error) {
	err = s.readRows(ctx, "read leases", func(v *view) error {
		out = nil
		var above []string
		err := v.query(sql, func(st *sqlite3.Stmt) error {
			if err := v.row(restrict.Leases, st); err != nil {
				return err
			}
			l, err := readLease(st)
			out = append(out, l)
			if parent := st.ColumnText(1); parent != "" && !slices.Contains(above, parent) {
				above = append(above, parent)
			}
			return err
		}, args...)
		if err != nil {
			return err
		}
		if err := v.parents(above); err != nil {
			return err
		}
		return v.single(restrict.LeaseClock)
	})
	return out, err
}

// parents checks leases and those above them.
func (v *view) parents(ids []string) error {
	if !v.adopted {
		return nil
	}
	for n := 0; n < len(ids); n++ {
		found := false
		err := v.query(v.oneRow[restrict.Leases], func(st *sqlite3.Stmt) error {
			found = true
			if parent := st.ColumnText(1); parent != "" && !slices.Contains(ids, parent) {
				ids = append(ids, parent)
			}
			return v.row(restrict.Leases, st)
		}, ids[n])
		if err == nil && !found {
			err = v.missing(restrict.Leases, ids[n])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func one(list []leases.Lease, err error) (*leases.Lease, error) {
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// Lease implements leases.Store.
func (s *Store) Lease(ctx context.Context, id string) (*leases.Lease, error) {
	l, err := one(s.leaseRows(ctx, leaseRow+"WHERE l.id = ?", id))
	if err == nil && l == nil {
		err = s.readRows(ctx, "read leases", func(v *view) error {
			if there, err := exists(v.conn, "SELECT 1 FROM leases WHERE id = ?", id); err != nil || there {
				return err // made meanwhile
			}
			return v.missing(restrict.Leases, id)
		})
	}
	return l, err
}

// LeaseByToken implements leases.Store.
func (s *Store) LeaseByToken(ctx context.Context, hash []byte) (*leases.Lease, error) {
	return one(s.leaseRows(ctx, leaseRow+"WHERE l.token = ?", hash))
}

// HeldLeases implements leases.Store.
func (s *Store) HeldLeases(ctx context.Context, h leases.Holder, at leases.Instant) ([]leases.Lease, error) {
	// A lease is as good as the worst one above it: leases that are not at the top
	// are looked at again, with their chains.
	list, err := s.leaseRows(ctx,
		leaseRow+`WHERE l.session = ?4 AND l.agent = ?5 AND l.runtime = ?6 AND l.credential IN ('', ?7) AND `+usable+
			` AND (l.parent = '' OR NOT EXISTS (
			WITH RECURSIVE above (id) AS (SELECT l.parent UNION ALL SELECT u.parent FROM above a JOIN leases u ON u.id = a.id WHERE u.parent <> '')
			SELECT 1 FROM above a LEFT JOIN leases p ON p.id = a.id WHERE p.id IS NULL OR NOT (`+
			strings.ReplaceAll(usable, "l.", "p.")+`)))
		ORDER BY l.expires_ns, l.id`, append(clocks(at), h.Session, h.Agent, h.Runtime, h.Credential)...)
	return list, err
}

// Leases implements leases.Store.
func (s *Store) Leases(ctx context.Context, q leases.Query) ([]leases.Lease, error) {
	sql, args := leaseRow+"WHERE l.id > ?4 AND (?1 IS NOT NULL AND ?2 IS NOT NULL AND ?3 IS NOT NULL)",
		append(clocks(q.At), q.After)
	and := func(cond string, a ...any) {
		sql += " AND " + cond
		args = append(args, a...)
	}
	if q.Prefix != "" {
		from, to := below(q.Prefix)
		and("(l.id = ? OR l.id > ? AND l.id < ?)", q.Prefix, from, to)
	}
	for _, f := range []struct{ column, value string }{
		{"runtime", q.Holder.Runtime}, {"session", q.Holder.Session}, {"agent", q.Holder.Agent},
		{"credential", q.Holder.Credential},
	} {
		if f.value != "" {
			and("l."+f.column+" = ?", f.value)
		}
	}
	switch q.State {
	case "":
	case leases.Active:
		and("l.state = 'active' AND NOT " + leaseOver)
	case leases.Expired:
		and("l.state = 'active' AND " + leaseOver)
	default:
		and("l.state = ?", string(q.State))
	}
	and("1 ORDER BY l.id LIMIT ?", q.EffectiveLimit())
	if !q.AsStored {
		return s.leaseRows(ctx, sql, args...)
	}
	var out []leases.Lease
	err := s.read(ctx, "read leases", func(c *conn) error {
		out = nil
		return c.query(sql, func(st *sqlite3.Stmt) error {
			l, err := readLease(st)
			out = append(out, l)
			return err
		}, args...)
	})
	return out, err
}

// LeaseClock implements leases.Store.
func (s *Store) LeaseClock(ctx context.Context) (at time.Time, err error) {
	err = s.readRows(ctx, "read the clock", func(v *view) error {
		if err := v.single(restrict.LeaseClock); err != nil {
			return err
		}
		return v.query("SELECT wall_ns FROM lease_clock", func(st *sqlite3.Stmt) error {
			at = time.Unix(0, st.ColumnInt64(0)).UTC()
			return nil
		})
	})
	return at, err
}

var _ leases.Store = (*Store)(nil)
var _ kernel.Store = (*Store)(nil)
