package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/approvaltable"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// Approval implements approvals.Reader.
func (s *Store) Approval(ctx context.Context, id string) (out *approvals.Item, err error) {
	var list []*approvalRow
	err = s.readRows(ctx, "read approval", func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, approvalsByID, [][]byte{[]byte(id)})
	}, func(v *view) error {
		out = nil
		if len(list) == 0 {
			return v.missing((&approvalRow{id: []byte(id)}).place())
		}
		it := list[0].item()
		out = &it
		return v.holds(list[0])
	})
	return out, err
}

// ApprovalByKey implements approvals.Reader.
func (s *Store) ApprovalByKey(ctx context.Context, kind approvals.Kind, key string) (out *approvals.Item, err error) {
	var list []*approvalRow
	p := keyPlace(kind, key)
	err = s.readRows(ctx, "read approval", func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, approvalsByKey, columns(string(kind), key)...)
	}, func(v *view) error {
		out = nil
		if len(list) == 0 {
			return v.missing(p)
		}
		it := list[0].item()
		out = &it
		if err := v.holds(list[0]); err != nil {
			return err
		}
		return v.sealed(holds(v.set, p, keyContent(&v.hasher, string(list[0].id))))
	})
	return out, err
}

// Whether a pending item has run out is decided in Go and not by ends_ns, which is on the wall clock: see
// approvals.Item.Left. Quotas bound how many there are.
const (
	pendingOfOwner = "SELECT " + approvalColumns + " FROM approvals a WHERE a.state = 'pending' " +
		"AND a.credential = $1 AND a.kind = $2"
	pendingOfAll = "SELECT " + approvalColumns + " FROM approvals a WHERE a.state = 'pending'"
)

// pending reads the items that wait for a person at a time.
func (s *Store) pending(ctx context.Context, now leases.Instant, sql string, args ...any) (approvaltable.Table, error) {
	var list []*approvalRow
	err := s.readRows(ctx, "count approvals", func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, sql, args...)
	}, func(v *view) error {
		for _, r := range list {
			if err := v.holds(r); err != nil {
				return err
			}
		}
		return nil
	})
	out := approvaltable.Table{}
	for _, r := range list {
		if it := r.item(); !r.ranOut(&it, now) {
			out[string(r.id)] = it
		}
	}
	return out, err
}

// ApprovalUsage implements approvals.Reader.
func (s *Store) ApprovalUsage(ctx context.Context, kind approvals.Kind, by approvals.Requester,
	now leases.Instant) (approvals.Usage, error) {
	t, err := s.pending(ctx, now, pendingOfOwner, []byte(by.Credential), []byte(kind))
	return t.Usage(kind, by, now), err
}

// ApprovalHolders implements approvals.Reader.
func (s *Store) ApprovalHolders(ctx context.Context, kind approvals.Kind, credential string,
	now leases.Instant) ([]approvals.Holder, error) {
	t, err := s.pending(ctx, now, pendingOfOwner, []byte(credential), []byte(kind))
	return t.Holders(kind, credential, now), err
}

// ApprovalCounts implements approvals.Reader.
func (s *Store) ApprovalCounts(ctx context.Context, now leases.Instant) (map[approvals.Kind]int, error) {
	t, err := s.pending(ctx, now, pendingOfAll)
	out := map[approvals.Kind]int{}
	for _, it := range t {
		out[it.Kind]++
	}
	return out, err
}

// approvalsSQL turns a query into a statement. Only constants become SQL text. What has run out is not for
// SQL to say.
func approvalsSQL(q *approvals.Query) (string, []any) {
	sql, args := "SELECT "+approvalColumns+" FROM approvals a WHERE true", []any{}
	and := func(cond string, a ...any) {
		for _, v := range a {
			args = append(args, v)
			cond = strings.Replace(cond, "?", fmt.Sprint("$", len(args)), 1)
		}
		sql += " AND " + cond
	}
	if q.Kind != "" {
		and("a.kind = ?", []byte(q.Kind))
	}
	if q.State != "" {
		and("a.state = ?", string(q.State))
	}
	if q.By != nil {
		and("a.credential = ? AND a.runtime = ? AND a.session = ? AND a.agent = ?", []byte(q.By.Credential),
			[]byte(q.By.Runtime), []byte(q.By.Session), []byte(q.By.Agent))
	}
	if q.Owner != "" {
		and("a.credential = ?", []byte(q.Owner))
	}
	if q.Before != "" {
		and("a.id < ?", []byte(q.Before))
	}
	if !q.DueAt.IsZero() {
		and("a.state = ANY ('{pending,approved}')")
	}
	args = append(args, q.EffectiveLimit())
	return fmt.Sprint(sql, " ORDER BY a.id DESC LIMIT $", len(args)), args
}

// Approvals implements approvals.Reader. It reads as many rows as it may return, and again those before them while
// what has run out, or has not, leaves room.
func (s *Store) Approvals(ctx context.Context, q approvals.Query) (out []approvals.Item, err error) {
	limit := q.EffectiveLimit()
	for {
		found, last, err := s.approvalsPage(ctx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
		if len(out) >= limit || last == "" {
			return out[:min(len(out), limit)], nil
		}
		q.Before = last
	}
}

// approvalsPage reads the rows of one statement. last is the id of the last one; "": there are no more.
func (s *Store) approvalsPage(ctx context.Context, q approvals.Query) (out []approvals.Item, last string, err error) {
	sql, args := approvalsSQL(&q)
	var list []*approvalRow
	err = s.readRows(ctx, "read approvals", func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, sql, args...)
	}, func(v *view) error {
		out = nil
		for _, r := range list {
			it := r.item()
			if !dueFits(r, &it, &q) {
				continue
			}
			if err := v.holds(r); err != nil {
				return err
			}
			out = append(out, it)
		}
		return nil
	})
	if len(list) == q.EffectiveLimit() {
		last = string(list[len(list)-1].id)
	}
	return out, last, err
}

// dueFits reports whether an item fits DueAt and NotDueAt of a query.
func dueFits(r *approvalRow, it *approvals.Item, q *approvals.Query) bool {
	return (q.DueAt.IsZero() || r.open() && r.ranOut(it, q.DueAt)) &&
		(q.NotDueAt.IsZero() || !r.open() || !r.ranOut(it, q.NotDueAt))
}
