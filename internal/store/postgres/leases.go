package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/leasetable"
	"github.com/belay-hooks/belay/leases"
)

// Parameters $1 to $3 of a statement that looks at the clocks are boot, CLOCK_BOOTTIME and wall time: see
// leases.Lease.Usable, which says the same in Go.
const leaseOver = `CASE WHEN l.boot <> '' AND l.boot = $1 THEN l.boot_until_ns <= $2
	ELSE l.expires_ns <= greatest($3, (SELECT wall_ns FROM shared)) END`

// leasesAbove are leases with all those above them.
const leasesAbove = `WITH RECURSIVE chain AS (
	SELECT l.* FROM leases l WHERE %s
	UNION SELECT u.* FROM chain c JOIN leases u ON u.id = c.parent AND c.parent <> '')
	SELECT ` + leaseColumns + ` FROM chain l`

func clocks(at leases.Instant) []any {
	return []any{[]byte(at.Boot), int64(at.Since), at.Wall.UnixNano()}
}

// leaseRows reads leases and those above them: what they are worth depends on these.
func (s *Store) leaseRows(ctx context.Context, where string, args []any,
	f func(*view, map[string]leases.Lease) error) error {
	var list []*leaseRow
	return s.readRows(ctx, "read leases", func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, fmt.Sprintf(leasesAbove, where), args...)
	}, func(v *view) error {
		rows := map[string]leases.Lease{}
		for _, r := range list {
			if err := v.holds(r); err != nil {
				return err
			}
			l, err := r.lease()
			if err != nil {
				return err
			}
			rows[l.ID] = l
		}
		for _, l := range rows {
			if _, there := rows[l.Parent]; l.Parent != "" && !there {
				if err := v.missing(leasePlace(l.Parent)); err != nil {
					return err
				}
			}
		}
		return f(v, rows)
	})
}

// Lease implements leases.Store.
func (s *Store) Lease(ctx context.Context, id string) (out *leases.Lease, err error) {
	err = s.leaseRows(ctx, "l.id = $1", []any{[]byte(id)}, func(v *view, rows map[string]leases.Lease) error {
		out = nil
		if l, there := rows[id]; there {
			out = &l
			return nil
		}
		return v.missing(leasePlace(id))
	})
	return out, err
}

// LeaseByToken implements leases.Store.
func (s *Store) LeaseByToken(ctx context.Context, hash []byte) (out *leases.Lease, err error) {
	err = s.leaseRows(ctx, "l.token = $1", []any{append([]byte{}, hash...)},
		func(_ *view, rows map[string]leases.Lease) error {
			out = nil
			for _, l := range rows {
				if string(l.Token) == string(hash) {
					out = &l
				}
			}
			return nil
		})
	return out, err
}

const leasesOfHolder = "l.session = $1 AND l.agent = $2 AND l.runtime = $3 AND l.credential = ANY ($4::bytea[]) " +
	"AND l.state = 'active'"

// HeldLeases implements leases.Store.
func (s *Store) HeldLeases(ctx context.Context, h leases.Holder, at leases.Instant) (out []leases.Lease, err error) {
	args := []any{[]byte(h.Session), []byte(h.Agent), []byte(h.Runtime), [][]byte{{}, []byte(h.Credential)}}
	err = s.leaseRows(ctx, leasesOfHolder, args, func(v *view, rows map[string]leases.Lease) error {
		var table leasetable.Table
		table.SetHigh(time.Unix(0, v.shared.wall).UTC())
		for _, l := range rows {
			table.Put(l)
		}
		out = table.Held(h, at)
		return nil
	})
	return out, err
}

// leasesSQL turns a query into a statement. Only constants become SQL text.
func leasesSQL(q *leases.Query) (string, []any) {
	sql, args := "SELECT "+leaseColumns+" FROM leases l WHERE "+
		"($1::bytea IS NOT NULL AND $2::bigint IS NOT NULL AND $3::bigint IS NOT NULL)",
		clocks(q.At)
	and := func(cond string, a ...any) {
		for _, v := range a {
			args = append(args, v)
			cond = strings.Replace(cond, "?", fmt.Sprint("$", len(args)), 1)
		}
		sql += " AND " + cond
	}
	and("l.id > ?", []byte(q.After))
	if q.Prefix != "" {
		from, to := below(q.Prefix)
		and("(l.id = ? OR l.id > ? AND l.id < ?)", []byte(q.Prefix), from, to)
	}
	for _, f := range []struct{ column, value string }{
		{"runtime", q.Holder.Runtime}, {"session", q.Holder.Session}, {"agent", q.Holder.Agent},
		{"credential", q.Holder.Credential},
	} {
		if f.value != "" {
			and("l."+f.column+" = ?", []byte(f.value))
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
	and("true ORDER BY l.id LIMIT ?", q.EffectiveLimit())
	return sql, args
}

// Leases implements leases.Store.
func (s *Store) Leases(ctx context.Context, q leases.Query) (out []leases.Lease, err error) {
	sql, args := leasesSQL(&q)
	var list []*leaseRow
	take := func(v *view) error {
		out = nil
		for _, r := range list {
			if v != nil {
				if err := v.holds(r); err != nil {
					return err
				}
			}
			l, err := r.lease()
			if err != nil {
				return err
			}
			out = append(out, l)
		}
		return nil
	}
	queue := func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, sql, args...)
	}
	if !q.AsStored {
		return out, s.readRows(ctx, "read leases", queue, take)
	}
	if err = s.read(ctx, "read leases", queue); err == nil {
		err = take(nil)
	}
	return out, err
}

// LeaseClock implements leases.Store.
func (s *Store) LeaseClock(ctx context.Context) (at time.Time, err error) {
	err = s.readRows(ctx, "read the clock", func(*pgx.Batch) {}, func(v *view) error {
		at = time.Unix(0, v.shared.wall).UTC()
		return nil
	})
	return at, err
}

var _ leases.Store = (*Store)(nil)
