package sqlite

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Events implements kernel.Store.
func (s *Store) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	sql, args := eventSQL(&q)
	var out []phases.Event
	err := s.read(ctx, "read events", func(c *conn) error {
		return c.query(sql, func(st *sqlite3.Stmt) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var e phases.Event
			if err := json.Unmarshal(st.ColumnRawBlob(0), &e); err != nil {
				return err
			}
			out = append(out, e)
			return nil
		}, args...)
	})
	if err != nil {
		return nil, err
	}
	if q.Newest {
		slices.Reverse(out)
	}
	return out, nil
}

// eventSQL turns a query into a statement. Only constants become SQL text.
func eventSQL(q *wire.Query) (string, []any) {
	where := []string{"seq > ?", "seq < ?"}
	before := q.Before
	if before == 0 {
		before = math.MaxInt64
	}
	args := []any{q.After, before}
	add := func(cond string, arg any) {
		where = append(where, cond)
		args = append(args, arg)
	}
	if !q.Since.IsZero() {
		add("time_ns >= ?", q.Since)
	}
	if !q.Until.IsZero() {
		add("time_ns < ?", q.Until)
	}
	for _, f := range []struct{ cond, value string }{
		{"id = ?", q.ID}, {"type = ?", string(q.Type)}, {"phase = ?", string(q.Phase)},
		{"runtime = ?", q.Runtime}, {"session = ?", q.Session}, {"agent = ?", q.Agent},
		{"invocation = ?", q.Invocation}, {"binding = ?", q.Binding},
		{"decision = ?", q.Decision}, {"kind = ?", string(q.Kind)},
	} {
		if f.value != "" {
			add(f.cond, f.value)
		}
	}
	if q.Type != "" && q.Type != phases.EventHook && q.Type != phases.EventVerdict {
		where = append(where, rareTypes) // for the index
	}
	if q.Tool != "" { // no column of its own: it comes after what narrows the search
		add("json_extract(CAST(body AS TEXT), '$.tool') = ?", q.Tool)
	}
	if q.Except != "" {
		add("type <> ?", string(q.Except))
	}
	order := " ORDER BY seq LIMIT ?"
	if q.Newest {
		order = " ORDER BY seq DESC LIMIT ?"
	}
	args = append(args, q.EffectiveLimit())
	return "SELECT body FROM events WHERE " + strings.Join(where, " AND ") + order, args
}
