package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// collecting queues a statement whose rows are appended to list.
func collecting[T any, P scanned[T]](b *pgx.Batch, list *[]P, sql string, args ...any) {
	b.Queue(sql, args...).Query(reading(func(r P) error {
		*list = append(*list, r)
		return nil
	}))
}

func columns(parts ...string) []any {
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = [][]byte{[]byte(p)}
	}
	return out
}

// RunState implements kernel.Store.
func (s *Store) RunState(ctx context.Context, key phases.RunKey, now time.Time) (out kernel.RunState, err error) {
	var list []*runRow
	err = s.readRows(ctx, "read run", func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, runsByKey, columns(key.Runtime, key.Session, key.Run)...)
	}, func(v *view) error {
		if len(list) == 0 {
			return v.missing(runPlace(key))
		}
		r := list[0]
		if err := v.holds(r); err != nil {
			return err
		}
		if now.Sub(time.Unix(0, r.used)) > kernel.MetadataTTL {
			out = kernel.RunState{Version: r.version}
			return nil
		}
		out, err = r.state()
		return err
	})
	return out, err
}

const runsOfSession = "SELECT " + runColumns + " FROM runs r WHERE r.runtime = $1 AND r.session = $2 AND r.run >= $3 " +
	"AND r.run < $4 AND r.used_ns >= $5 AND length(r.metadata) > 2 ORDER BY r.run LIMIT $6"

// RunsOf implements kernel.Store.
func (s *Store) RunsOf(ctx context.Context, session wire.Session, prefix string, now time.Time) (out []kernel.NamedRun,
	err error) {
	end := []byte(prefix)
	end[len(end)-1]++ // behind every name with the prefix
	var list []*runRow
	err = s.readRows(ctx, "read runs of a session", func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, runsOfSession, []byte(session.Runtime), []byte(session.Session), []byte(prefix), end,
			now.Add(-kernel.MetadataTTL).UnixNano(), kernel.MaxRunsOf)
	}, func(v *view) error {
		out = nil
		for _, r := range list {
			if err := v.holds(r); err != nil {
				return err
			}
			st, err := r.state()
			if err != nil {
				return err
			}
			out = append(out, kernel.NamedRun{Run: string(r.run), RunState: st})
		}
		return nil
	})
	return out, err
}

// HookState implements kernel.Store.
func (s *Store) HookState(ctx context.Context, namespace, key string) (out kernel.StateValue, err error) {
	var list []*stateRow
	err = s.readRows(ctx, "read state", func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, valuesByKey, columns(namespace, key)...)
	}, func(v *view) error {
		if len(list) == 0 {
			out = kernel.StateValue{}
			return v.missing(statePlace(namespace, key))
		}
		out = kernel.StateValue{Value: list[0].value, Version: list[0].version}
		return v.holds(list[0])
	})
	return out, err
}

const usageOfNamespace = "SELECT count(*), coalesce(sum(length(s.key) + length(s.value)), 0)::bigint " +
	"FROM state s WHERE s.namespace = $1"

// StateUsage implements kernel.Store.
func (s *Store) StateUsage(ctx context.Context, namespace string) (u kernel.StateUsage, err error) {
	err = s.read(ctx, "read state usage", func(b *pgx.Batch) {
		b.Queue(usageOfNamespace, []byte(namespace)).QueryRow(func(r pgx.Row) error { return r.Scan(&u.Keys, &u.Bytes) })
	})
	return u, err
}

// Latch implements kernel.Store.
func (s *Store) Latch(ctx context.Context, key wire.Session) (out *kernel.Latch, err error) {
	var list []*latchRow
	err = s.readRows(ctx, "read latch", func(b *pgx.Batch) {
		list = nil
		runtime := []byte(key.Runtime)
		collecting(b, &list, latchesByKey, [][]byte{runtime, runtime}, [][]byte{[]byte(key.Session), {}})
	}, func(v *view) error {
		out = nil
		missing := map[string]bool{key.Session: true, "": true} // that of the session, and that of its runtime
		for _, r := range list {
			l, err := v.latch(r)
			if err != nil {
				return err
			}
			if l.Holds(key) && (out == nil || l.Session != "") { // the session's own comes first
				out = &l
			}
			delete(missing, string(r.session))
		}
		for session := range missing {
			if err := v.missing(place{restrict.Latches, restrict.Key(key.Runtime, session)}); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func (v *view) latch(r *latchRow) (l kernel.Latch, err error) {
	if err := v.holds(r); err != nil {
		return l, err
	}
	return r.latch()
}

const latchesInOrder = allLatches + " ORDER BY l.since_ns, l.runtime, l.session"

// Latches implements kernel.Store.
func (s *Store) Latches(ctx context.Context) (out []kernel.Latch, err error) {
	var list []*latchRow
	err = s.readRows(ctx, "read latches", func(b *pgx.Batch) {
		list = nil
		collecting(b, &list, latchesInOrder)
	}, func(v *view) error {
		out = nil
		for _, r := range list {
			l, err := v.latch(r)
			if err != nil {
				return err
			}
			out = append(out, l)
		}
		return nil
	})
	return out, err
}
