package sqlite

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/phases"
)

// Events implements kernel.Store.
func (s *Store) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	var f *finder
	read := s.readApart
	if q.ID != "" || q.Newest && q.EffectiveLimit() <= fewEvents {
		read = s.read
	}
	err := read(ctx, "read events", func(c *conn) error {
		f = &finder{leaves: leaves{conn: c}, ctx: ctx, query: &q, left: q.EffectiveLimit()}
		return f.snapshot()
	})
	if err != nil {
		return nil, err
	}
	if q.Newest {
		slices.Reverse(f.found)
	}
	return f.found, nil
}

// fewEvents is how many of the newest events are read on any connection.
const fewEvents = 32

// errEnough ends a search that has found as many events as it may.
var errEnough = errors.New("enough")

// finder answers one query.
type finder struct {
	leaves
	ctx   context.Context
	query *wire.Query
	left  int // how many more events are wanted
	found []phases.Event
}

// snapshot runs the search in one transaction: a block that is made meanwhile is not searched twice.
func (f *finder) snapshot() (err error) {
	if err := f.exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.exec("ROLLBACK") // the connection is closed anyway, or was only busy
			return
		}
		err = f.exec("COMMIT")
	}()
	if err = f.search(); errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

func (f *finder) search() error {
	q := f.query
	through := int64(0)
	if lookup.Asks(q) {
		var err error
		if through, err = indexedThrough(f.conn); err != nil {
			return err
		}
	}
	if q.Newest {
		if err := f.scan(through); err != nil || through == 0 {
			return err
		}
		return f.blocks(through)
	}
	if through > 0 {
		if err := f.blocks(through); err != nil {
			return err
		}
	}
	return f.scan(through)
}

// scan searches the events behind through without the lookup.
func (f *finder) scan(through int64) error {
	q := *f.query
	q.After = max(q.After, through)
	if q.Before != 0 && q.Before <= q.After+1 {
		return nil
	}
	sql, args := eventSQL(&q, f.left)
	row := func(st *sqlite3.Stmt) error { return f.take(st.ColumnInt64(0), st.ColumnRawBlob(1)) }
	return f.conn.query(sql, row, args...)
}

// take adds the event of a row if the query selects it.
func (f *finder) take(seq int64, column []byte) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	leaf, err := f.leaf(f.last, seq, column)
	if err != nil {
		return err
	}
	f.last = leaf
	var e phases.Event
	if err := eventbytes.Head(leaf, &e); err != nil {
		return err
	}
	if !f.query.Match(&e) {
		return nil // the values by which it was found are not its own, or it is of another tool
	}
	e = phases.Event{}
	if err := json.Unmarshal(leaf, &e); err != nil {
		return err
	}
	f.found = append(f.found, e)
	if f.left--; f.left <= 0 {
		return errEnough
	}
	return nil
}

// blocks searches the events up to through.
func (f *finder) blocks(through int64) error {
	sql, args := blockSQL(f.query, through)
	all := len(lookup.Terms(f.query))
	return f.conn.query(sql, func(st *sqlite3.Stmt) error {
		at, _ := lookup.ParsePlaces(nil)
		for i := range all {
			p, _ := lookup.ParsePlaces(st.ColumnRawBlob(1 + i))
			at.And(&p)
		}
		if f.query.Except != "" && st.ColumnType(1+all) != sqlite3.NULL {
			p, _ := lookup.ParsePlaces(st.ColumnRawBlob(1 + all))
			at.Without(&p)
		}
		return f.events(st.ColumnInt64(0), &at)
	}, args...)
}

const oneBody = "SELECT body FROM events WHERE seq=?"

// events takes those of a block that stand in a set.
func (f *finder) events(number int64, at *lookup.Places) error {
	before := f.query.Before
	if before == 0 {
		before = math.MaxInt64
	}
	for n := range lookup.BlockEvents {
		if f.query.Newest {
			n = lookup.BlockEvents - 1 - n
		}
		seq := number*lookup.BlockEvents + int64(n) + 1
		if !at.Has(n) || seq <= f.query.After || seq >= before {
			continue
		}
		// One that is not there any more was compacted.
		row := func(st *sqlite3.Stmt) error { return f.take(seq, st.ColumnRawBlob(0)) }
		if err := f.conn.query(oneBody, row, seq); err != nil {
			return err
		}
	}
	return nil
}

// blockSQL finds the blocks in which events may match, and in which of them each value stands.
// The order of the join is given: every table behind the first is one step into its key.
func blockSQL(q *wire.Query, through int64) (string, []any) {
	before := q.Before
	if before == 0 {
		before = math.MaxInt64
	}
	first, _ := lookup.BlockOf(max(1, q.After+1))
	last, _ := lookup.BlockOf(max(1, min(before-1, through)))
	var columns, join strings.Builder
	var args []any
	for i, t := range lookup.Terms(q) {
		name := "t" + strconv.Itoa(i)
		columns.WriteString(", " + name + ".events")
		join.WriteString(" CROSS JOIN lookup " + name + " ON " + name + ".block = b.block AND " + name + ".term = ?")
		args = append(args, t)
	}
	if q.Except != "" {
		columns.WriteString(", x.events")
		join.WriteString(" LEFT JOIN lookup x ON x.block = b.block AND x.term = ?")
		args = append(args, lookup.Term("type", string(q.Except)))
	}
	order := ""
	if q.Newest {
		order = " DESC"
	}
	since, until := lookup.Bounds(q)
	return "SELECT b.block" + columns.String() + " FROM lookup_blocks b" + join.String() +
			" WHERE b.block >= ? AND b.block <= ? AND b.last_ns >= ? AND b.first_ns < ? ORDER BY b.block" + order,
		append(args, first, last, since, until)
}

// eventSQL turns a query into a statement that reads events in their order. Only constants
// become SQL text.
func eventSQL(q *wire.Query, limit int) (string, []any) {
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
	if q.Except != "" {
		add("type <> ?", string(q.Except))
	}
	order := " ORDER BY seq LIMIT ?"
	if q.Newest {
		order = " ORDER BY seq DESC LIMIT ?"
	}
	if q.Tool != "" { // no column of its own: which rows count is seen when they are read
		limit = -1
	}
	args = append(args, limit)
	return "SELECT seq, body FROM events WHERE " + strings.Join(where, " AND ") + order, args
}
