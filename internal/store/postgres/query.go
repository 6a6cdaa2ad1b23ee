package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/phases"
)

const (
	pageEvents = 512 // read at once
	pageBlocks = 256
)

// errEnough ends a search that has found as many events as it may.
func errEnough() error { return enoughError{} }

type enoughError struct{}

func (enoughError) Error() string { return "enough" }

// Events implements kernel.Store.
func (s *Store) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	var f *finder
	err := s.view(ctx, "read events", func(tx pgx.Tx) error {
		f = &finder{tx: tx, ctx: ctx, kernel: s.kernel, query: &q, left: q.EffectiveLimit()}
		if err := f.search(); !errors.Is(err, errEnough()) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if q.Newest {
		slices.Reverse(f.found)
	}
	return f.found, nil
}

// finder answers one query, in one transaction: a block that is made meanwhile is not searched twice.
type finder struct {
	tx     pgx.Tx
	ctx    context.Context
	kernel int32
	query  *wire.Query
	left   int // how many more events are wanted
	found  []phases.Event
}

const eventByID = "SELECT seq, body FROM events WHERE kernel = $1 AND id = $2"

func (f *finder) search() error {
	q := f.query
	if q.ID != "" {
		_, _, err := f.rows(eventByID, f.kernel, []byte(q.ID))
		return err
	}
	through := int64(0)
	if lookup.Asks(q) {
		var err error
		if through, err = indexedThrough(f.ctx, f.tx, f.kernel); err != nil {
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

const lastBlock = "SELECT coalesce(max(block) + 1, 0) FROM lookup_blocks WHERE kernel = $1"

// indexedThrough returns the number of the last event that a block holds; 0: there is none.
func indexedThrough(ctx context.Context, q querier, kernel int32) (through int64, err error) {
	err = q.QueryRow(ctx, lastBlock, kernel).Scan(&through)
	return through * lookup.BlockEvents, err
}

const (
	eventsUp   = "SELECT seq, body FROM events WHERE kernel = $1 AND seq > $2 AND seq < $3 ORDER BY seq LIMIT $4"
	eventsDown = "SELECT seq, body FROM events WHERE kernel = $1 AND seq > $2 AND seq < $3 ORDER BY seq DESC LIMIT $4"
)

// scan searches the events behind through without the lookup, by pages.
func (f *finder) scan(through int64) error {
	after, before := max(f.query.After, through), f.query.Before
	if before == 0 {
		before = math.MaxInt64
	}
	sql := eventsUp
	if f.query.Newest {
		sql = eventsDown
	}
	for before-1 > after {
		n, last, err := f.rows(sql, f.kernel, after, before, pageEvents)
		if err != nil || n < pageEvents {
			return err
		}
		if f.query.Newest {
			before = last
		} else {
			after = last
		}
	}
	return nil
}

// rows takes the events of a statement. It returns how many there were, and the number of the last one.
func (f *finder) rows(sql string, args ...any) (n int, last int64, err error) {
	rows, err := f.tx.Query(f.ctx, sql, args...)
	if err != nil {
		return 0, 0, err
	}
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&last, &body}, func() error {
		n++
		return f.take(body)
	})
	return n, last, err
}

// take adds the event of a row if the query selects it.
func (f *finder) take(body []byte) error {
	var e phases.Event
	if err := eventbytes.Head(body, &e); err != nil {
		return err
	}
	if !f.query.Match(&e) {
		return nil // the values by which it was found are not its own
	}
	e = phases.Event{}
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	f.found = append(f.found, e)
	if f.left--; f.left <= 0 {
		return errEnough()
	}
	return nil
}

// blocks searches the events up to through.
func (f *finder) blocks(through int64) error {
	first, last, ok := blockBounds(f.query, through)
	if !ok {
		return nil
	}
	for first <= last {
		sql, args := blockSQL(f.query, f.kernel, first, last)
		found, err := f.page(sql, args)
		if err != nil {
			return err
		}
		for _, b := range found {
			if err := f.events(&b); err != nil {
				return err
			}
		}
		if len(found) < pageBlocks {
			return nil
		}
		if at := found[len(found)-1].number; f.query.Newest {
			last = at - 1
		} else {
			first = at + 1
		}
	}
	return nil
}

// blockPlaces are events of a block that may match.
type blockPlaces struct {
	number int64
	at     lookup.Places
}

// page reads blocks, and which of their events may match.
func (f *finder) page(sql string, args []any) (out []blockPlaces, err error) {
	rows, err := f.tx.Query(f.ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	terms, except := lookup.Terms(f.query), exceptTerm(f.query)
	var number int64
	drawers := make([][]byte, len(terms)+1)
	into := []any{&number}
	for i := range drawers {
		into = append(into, &drawers[i])
	}
	_, err = pgx.ForEachRow(rows, into, func() error {
		b := blockPlaces{number: number}
		b.at, _ = lookup.ParsePlaces(nil)
		for i, t := range terms {
			p := lookup.InDrawer(t, drawers[i])
			b.at.And(&p)
		}
		p := lookup.InDrawer(except, drawers[len(terms)])
		b.at.Without(&p)
		out = append(out, b)
		return nil
	})
	return out, err
}

// exceptTerm is the term of events that a query leaves out.
func exceptTerm(q *wire.Query) int64 { return lookup.Term("type", string(q.Except)) }

const (
	eventsOfUp   = "SELECT seq, body FROM events WHERE kernel = $1 AND seq = ANY ($2::bigint[]) ORDER BY seq"
	eventsOfDown = "SELECT seq, body FROM events WHERE kernel = $1 AND seq = ANY ($2::bigint[]) ORDER BY seq DESC"
)

// events takes those of a block that stand in a set. One that is not there any more was compacted.
func (f *finder) events(b *blockPlaces) error {
	before := f.query.Before
	if before == 0 {
		before = math.MaxInt64
	}
	var wanted []int64
	for n := range lookup.BlockEvents {
		seq := b.number*lookup.BlockEvents + int64(n) + 1
		if b.at.Has(n) && seq > f.query.After && seq < before {
			wanted = append(wanted, seq)
		}
	}
	sql := eventsOfUp
	if f.query.Newest {
		sql = eventsOfDown
		slices.Reverse(wanted)
	}
	for part := range slices.Chunk(wanted, max(16, min(f.left, 256))) {
		if _, _, err := f.rows(sql, f.kernel, part); err != nil {
			return err
		}
	}
	return nil
}

func blockBounds(q *wire.Query, through int64) (first, last int64, ok bool) {
	before := q.Before
	if before == 0 {
		before = math.MaxInt64
	}
	first, _ = lookup.BlockOf(max(1, q.After+1))
	last, _ = lookup.BlockOf(max(1, min(before-1, through)))
	return first, last, first <= last
}

// blockSQL reads the drawers of a query's terms, block by block.
func blockSQL(q *wire.Query, kernel int32, first, last int64) (string, []any) {
	since, until := lookup.Bounds(q)
	args := []any{kernel, first, last, since, until, pageBlocks}
	var columns, join strings.Builder
	drawer := func(kind string, term int64) {
		args = append(args, lookup.DrawerOf(term))
		name := fmt.Sprint("d", len(args))
		columns.WriteString(", " + name + ".terms")
		fmt.Fprintf(&join, " %sJOIN lookup %s ON %[2]s.kernel = $1 AND %[2]s.block = b.block AND %[2]s.drawer = $%[3]d",
			kind, name, len(args))
	}
	for _, t := range lookup.Terms(q) {
		drawer("", t)
	}
	if q.Except != "" {
		drawer("LEFT ", exceptTerm(q))
	} else {
		columns.WriteString(", NULL::bytea")
	}
	order := ""
	if q.Newest {
		order = " DESC"
	}
	return "SELECT b.block" + columns.String() + " FROM lookup_blocks b" + join.String() +
		" WHERE b.kernel = $1 AND b.block BETWEEN $2 AND $3 AND b.last_ns >= $4 AND b.first_ns < $5 " +
		"ORDER BY b.block" + order + " LIMIT $6", args
}
