package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/lookup"
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
		} else {
			e.Decision = "allow"
		}
		if i%1000 == 500 {
			e.Type, e.Decision, e.Kind, e.Tool = phases.EventVerdict, "block", phases.KindTrap, "write"
		}
		if i%1500 == 7 {
			e.Type = phases.EventLatch
		}
		b.Events = append(b.Events, e)
	}
	return b
}

// index makes all blocks that are due, without the indexer.
func index(t *testing.T, s *Store, most int) (made int) {
	t.Helper()
	for ; most > 0; most-- {
		more, err := s.indexBlock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		made++
	}
	return made
}

// still returns a store whose indexer does nothing by itself.
func still(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "belay.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.ended.Do(func() { close(s.stop) })
	<-s.indexed
	return s
}

var lookupQueries = []wire.Query{
	{Session: "s2"}, {Session: "none"}, {Decision: "block"}, {Decision: "block", Tool: "exec"}, {Tool: "write"},
	{Decision: "block", Tool: "write", Kind: phases.KindTrap}, {Binding: "b2"}, {Type: phases.EventLatch},
	{Except: phases.EventHook}, {Except: phases.EventHook, Session: "s1", Tool: "read"}, {Runtime: "r"},
	{Since: time.Unix(1<<30+2000, 0)}, {Until: time.Unix(1<<30+20, 0)},
	{Since: time.Unix(1<<30+1000, 0), Until: time.Unix(1<<30+1100, 0), Except: phases.EventHook},
	{Decision: "block", After: 600, Before: 2600}, {Type: "hook", After: 1023, Before: 1027},
	{ID: "e77"}, {Invocation: "i300"}, {Invocation: "i300", Type: "verdict"}, {Runtime: "r", Before: 1}, {},
}

// Each query finds the same events with no block, with some, and with all of them, and after
// the oldest events were compacted.
func TestQueriesWithBlocks(t *testing.T) {
	s := still(t)
	const n = 3*lookup.BlockEvents + 300
	var events []phases.Event
	for i := 0; i < n; i += 500 {
		b := many(i, min(500, n-i))
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		events = append(events, b.Events...)
	}
	for i := range events {
		events[i].Seq = int64(i) + 1
	}
	compare := func(t *testing.T) {
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
	for _, blocks := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(blocks), func(t *testing.T) {
			if made := index(t, s, blocks); made != blocks {
				t.Fatalf("%d blocks were made, want %d", made, blocks)
			}
			compare(t)
		})
	}
	if made := index(t, s, 5); made != 0 {
		t.Errorf("%d blocks of events that are not there", made)
	}
	leaves, err := s.LogLeaves(t.Context(), 0, n)
	if err != nil || len(leaves) != n {
		t.Fatalf("%d leaves, %v", len(leaves), err)
	}
	for _, l := range leaves {
		if !l.Copies {
			t.Fatalf("event %d is found under values that it does not have", l.Seq)
		}
	}
	compaction := kernel.Batch{Now: time.Unix(1<<30, 0), Compact: lookup.BlockEvents + 100,
		Events: []phases.Event{{ID: "c", Type: phases.EventCompaction, Time: time.Unix(1<<31, 0).UTC()}}}
	if _, err := s.Commit(t.Context(), compaction); err != nil {
		t.Fatal(err)
	}
	events = append(events[lookup.BlockEvents+100:], compaction.Events[0])
	events[len(events)-1].Seq = n + 1
	if left, err := s.LogRemove(t.Context(), 5000); err != nil || left != 0 {
		t.Fatal(left, err)
	}
	compare(t)
	if b := oldestBlock(t, s); b != 1 {
		t.Errorf("the oldest block is %d: one whose events are gone is still there", b)
	}
}

func oldestBlock(t *testing.T, s *Store) (n int64) {
	t.Helper()
	err := s.read(t.Context(), "look", func(c *conn) error {
		return c.query("SELECT min(block) FROM lookup", func(st *sqlite3.Stmt) error {
			n = st.ColumnInt64(0)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A changed lookup shows at the events that it hides, or that it claims.
func TestLookupIsCompared(t *testing.T) {
	for name, sql := range map[string]string{
		"a row is gone": fmt.Sprint("DELETE FROM lookup WHERE block=1 AND term=", lookup.Term("decision", "block")),
		"a row is another": fmt.Sprint("UPDATE lookup SET events=x'0700' WHERE block=1 AND term=",
			lookup.Term("decision", "block")),
		"a row too many": "INSERT INTO lookup VALUES (1, 5, x'dc01')",
		"a row says all": fmt.Sprint("UPDATE lookup SET events=x'' WHERE block=1 AND term=", lookup.Term("decision", "block")),
		"not a set":      fmt.Sprint("UPDATE lookup SET events=x'ffff' WHERE block=1 AND term=", lookup.Term("decision", "block")),
		"a block gone":   "DELETE FROM lookup_blocks WHERE block=1",
		"a time":         "UPDATE lookup_blocks SET last_ns=first_ns WHERE block=1",
	} {
		s := still(t)
		for i := 0; i < 3*lookup.BlockEvents; i += lookup.BlockEvents {
			if _, err := s.Commit(t.Context(), many(i, lookup.BlockEvents)); err != nil {
				t.Fatal(err)
			}
		}
		index(t, s, 3)
		err := s.do(t.Context(), "change", func(c *conn) error { return c.Exec(sql) })
		if err != nil {
			t.Fatal(err)
		}
		leaves, err := s.LogLeaves(t.Context(), lookup.BlockEvents, lookup.BlockEvents)
		if err != nil || !slices.ContainsFunc(leaves, func(l kernel.LogLeaf) bool { return !l.Copies }) {
			t.Errorf("%s: %v, and all events are said to be found under their values", name, err)
		}
		if leaves, err := s.LogLeaves(t.Context(), 2*lookup.BlockEvents, 1); err != nil || !leaves[0].Copies {
			t.Errorf("%s: an event of another block: %v", name, err)
		}
	}
}

// An indexer that is stopped in the middle leaves blocks that the next one goes on from, and
// two of them make each block once.
func TestIndexerGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.ended.Do(func() { close(s.stop) })
	<-s.indexed
	for i := 0; i < 4*lookup.BlockEvents; i += lookup.BlockEvents {
		if _, err := s.Commit(t.Context(), many(i, lookup.BlockEvents)); err != nil {
			t.Fatal(err)
		}
	}
	index(t, s, 1)
	var late *lookup.Block
	err = s.read(t.Context(), "read", func(c *conn) (err error) {
		late, err = makeBlock(c, 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	index(t, s, 1)
	if err := s.do(t.Context(), "store", func(c *conn) error {
		return storeBlock(c,
			late)
	}); err != nil { // another one was faster
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for through := int64(0); through < 4*lookup.BlockEvents; { // by itself
		if err := s.read(t.Context(), "look", func(c *conn) (err error) {
			through, err = indexedThrough(c)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if t.Context().Err() != nil {
			t.Fatal("no block was made")
		}
		time.Sleep(10 * time.Millisecond)
	}
	leaves, err := s.LogLeaves(t.Context(), 0, 4*lookup.BlockEvents)
	for _, l := range leaves {
		if err != nil || !l.Copies {
			t.Fatalf("event %d: %v", l.Seq, err)
		}
	}
}

// A query reads the events that it selects, and few others, however long the log is.
func TestBlocksAreFoundByTheirKey(t *testing.T) {
	s := still(t)
	for _, q := range lookupQueries {
		if !lookup.Asks(&q) {
			continue
		}
		for _, q.Newest = range []bool{false, true} {
			sql, args := blockSQL(&q, 5*lookup.BlockEvents)
			plan := planOfSQL(t, s, sql, args)
			if !strings.HasPrefix(plan, "SEARCH b USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)") ||
				strings.Contains(plan, "TEMP B-TREE") ||
				strings.Count(plan, "USING PRIMARY KEY (block=? AND term=?)") != strings.Count(sql, "JOIN") ||
				strings.Contains(plan, "SCAN") {
				t.Errorf("%+v: %s", q, plan)
			}
		}
	}
	plan := planOfSQL(t, s, oneBody, []any{int64(1)})
	if !strings.Contains(plan, "USING INTEGER PRIMARY KEY (rowid=?)") {
		t.Error(plan)
	}
	if plan := planOf(t, s, &wire.Query{ID: "e"}); !strings.Contains(plan, "(id=?)") {
		t.Error(plan)
	}
}

// TestFewEventsAreRead counts the events that a query decodes.
func TestFewEventsAreRead(t *testing.T) {
	s := still(t)
	for i := 0; i < 6*lookup.BlockEvents; i += lookup.BlockEvents {
		if _, err := s.Commit(t.Context(), many(i, lookup.BlockEvents)); err != nil {
			t.Fatal(err)
		}
	}
	index(t, s, 6)
	for _, q := range []wire.Query{
		{Decision: "block", Tool: "exec"}, // both are there, never in one event
		{Session: "s3", Decision: "block", Newest: true, Limit: 9}, {Decision: "block", Limit: 9},
		{Kind: phases.KindTrap, Newest: true, Limit: 3}, {Type: phases.EventLatch}, {Invocation: "i300"}, {Runtime: "none"},
	} {
		looked := 0
		ctx := countingContext{t.Context(), &looked}
		found, err := s.Events(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if looked > len(found)+1 { // one look when the read begins
			t.Errorf("%+v: %d events were read for %d", q, looked, len(found))
		}
	}
}

// countingContext counts the looks at it, of which there is one for each event.
type countingContext struct {
	context.Context
	looked *int
}

func (c countingContext) Err() error { *c.looked++; return c.Context.Err() }
