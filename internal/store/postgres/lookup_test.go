package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// many returns events of which some values are everywhere, some in one block, some in one event.
func many(from, n int) (b kernel.Batch) {
	pick := func(i int, of ...string) string { return of[i%len(of)] }
	b.Now = time.Unix(1<<30, 0).UTC()
	for i := from; i < from+n; i++ {
		e := phases.Event{ID: fmt.Sprint("e", i), Type: phases.EventType(pick(i, "hook", "hook", "verdict")),
			Time: b.Now.Add(time.Duration(i) * time.Second), Invocation: fmt.Sprint("i", i/3), Runtime: "r",
			Session: fmt.Sprint("s", i/700), Tool: pick(i/2, "exec", "read", "")}
		if e.Type == phases.EventHook {
			e.Binding, e.Decision = pick(i, "b1", "b2"), "none"
		}
		if i%1000 == 500 {
			e.Type, e.Decision, e.Kind, e.Tool = phases.EventVerdict, "block", phases.KindTrap, "write"
		}
		b.Events = append(b.Events, e)
	}
	return b
}

// fill writes events, and waits until all full blocks of the lookup are made.
func fill(t *testing.T, o postgres.Options, s kernel.Store, n int) (events []phases.Event) {
	t.Helper()
	for i := 0; i < n; i += 500 {
		b := many(i, min(500, n-i))
		first := commit(t, s, b).First
		for j, e := range b.Events {
			e.Seq = first + int64(j)
			events = append(events, e)
		}
	}
	for blocks := 0; blocks < n/lookup.BlockEvents; time.Sleep(5 * time.Millisecond) {
		query(t, o, "SELECT count(*) FROM lookup_blocks", &blocks)
	}
	return events
}

var lookupQueries = []wire.Query{
	{Session: "s2"}, {Session: "none"}, {Decision: "block"}, {Decision: "block", Tool: "exec"}, {Tool: "write"},
	{Decision: "block", Tool: "write", Kind: phases.KindTrap}, {Binding: "b2"}, {Agent: "a"}, {Phase: phases.PreTool},
	{Except: phases.EventHook}, {Except: phases.EventHook, Session: "s1", Tool: "read"}, {Runtime: "r"},
	{Since: time.Unix(1<<30+2000, 0)}, {Until: time.Unix(1<<30+20, 0)},
	{Since: time.Unix(1<<30+1000, 0), Until: time.Unix(1<<30+1100, 0), Except: phases.EventHook},
	{Decision: "block", After: 600, Before: 2600}, {Type: "hook", After: 1023, Before: 1027},
	{ID: "e77"}, {Invocation: "i300"}, {Invocation: "i300", Type: "verdict"}, {Runtime: "r", Before: 1}, {},
}

// Each query finds with blocks what a look at every event finds.
func TestQueriesWithBlocks(t *testing.T) {
	o := pgtest.Options(t, "lookup")
	s := pgtest.Open(t, o)
	events := fill(t, o, s, 2*lookup.BlockEvents+300)
	for _, q := range lookupQueries {
		for _, q.Newest = range []bool{false, true} {
			for _, q.Limit = range []int{1, 40, wire.MaxLimit} {
				var want []string
				for i := range events {
					if q.Match(&events[i]) {
						want = append(want, events[i].ID)
					}
				}
				if len(want) > q.Limit && q.Newest {
					want = want[len(want)-q.Limit:]
				}
				want = want[:min(len(want), q.Limit)]
				found, err := s.Events(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for i := range found {
					got = append(got, found[i].ID)
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%+v (-want +got):\n%s", q, diff)
				}
			}
		}
	}
}

// A block is the same whether it is made of the events as they were written or of those in the database.
func TestBlocksAreMadeFromMemoryOrTheLog(t *testing.T) {
	o := pgtest.Options(t, "memory")
	s := pgtest.Open(t, o)
	fill(t, o, s, 2*lookup.BlockEvents)
	const all = `SELECT string_agg(l::text, ' ' ORDER BY l) || (SELECT string_agg(b::text, ' ' ORDER BY b) FROM lookup_blocks b)
		FROM lookup l`
	var memory, log string
	query(t, o, all, &memory)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, o.Schema, "TRUNCATE lookup, lookup_blocks")
	pgtest.Open(t, o)
	for blocks := 0; blocks < 2; time.Sleep(5 * time.Millisecond) { // without a hand, and without the events in memory
		query(t, o, "SELECT count(*) FROM lookup_blocks", &blocks)
	}
	query(t, o, all, &log)
	if diff := cmp.Diff(log, memory); diff != "" {
		t.Errorf("(-from the log +from memory):\n%s", diff)
	}
}

// A lookup that was changed by hand shows at the events that it hides, or that it claims.
func TestLookupIsCompared(t *testing.T) {
	o := pgtest.Options(t, "compared")
	s := pgtest.Open(t, o)
	fill(t, o, s, 2*lookup.BlockEvents)
	term := lookup.Term("decision", "block")
	where := fmt.Sprint(" WHERE block = 0 AND drawer = ", lookup.DrawerOf(term))
	drawer := lookup.NewBlock(0)
	drawer.Terms[term] = new(lookup.Places)
	drawer.Terms[term].Add(7)
	another := fmt.Sprintf(`'\x%x'`, drawer.Drawers()[lookup.DrawerOf(term)])
	for name, sql := range map[string]string{
		"a drawer is gone":               "DELETE FROM lookup" + where,
		"a drawer is another":            "UPDATE lookup SET terms = " + another + where,
		"a drawer is empty":              "UPDATE lookup SET terms = ''" + where,
		"a drawer is cut off":            "UPDATE lookup SET terms = substr(terms, 1, length(terms) - 1)" + where,
		"a drawer says more":             "UPDATE lookup SET terms = terms || '\\x00'" + where,
		"a term twice":                   "UPDATE lookup SET terms = terms || " + another + where,
		"a drawer in a place of another": "UPDATE lookup SET drawer = 64" + where,
		"a block is gone":                "DELETE FROM lookup_blocks WHERE block = 0",
		"a time is another":              "UPDATE lookup_blocks SET last_ns = first_ns WHERE block = 0",
	} {
		pgtest.Exec(t, o.Schema, "CREATE TABLE l AS TABLE lookup", "CREATE TABLE b AS TABLE lookup_blocks", sql)
		leaves, err := s.LogLeaves(t.Context(), 0, 2*lookup.BlockEvents)
		bad := func(l kernel.LogLeaf) bool { return !l.Copies }
		if err != nil || slices.ContainsFunc(leaves[lookup.BlockEvents:], bad) {
			t.Errorf("%s: events of another block: %v", name, err)
		} else if !slices.ContainsFunc(leaves[:lookup.BlockEvents], bad) {
			t.Errorf("%s: all events are said to be found under their values", name)
		}
		pgtest.Exec(t, o.Schema, "TRUNCATE lookup, lookup_blocks", "INSERT INTO lookup TABLE l",
			"INSERT INTO lookup_blocks TABLE b", "DROP TABLE l, b")
	}
}
