package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// invocations returns events of a busy agent: three hooks and a verdict for each of 32 invocations, 0.9 KB each.
func invocations(n int64) (b kernel.Batch) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	tools := []string{"exec", "exec", "exec", "read", "read", "edit", "write", "grep", "web_fetch", "mcp__tracker__list"}
	b.Now = storetest.T0
	for i := range int64(32) {
		inv := 32*n + i
		tool := tools[r.IntN(len(tools))]
		at := storetest.T0.Add(time.Duration(inv) * 5 * time.Second)
		input := jsontext.Value(fmt.Sprintf(`{"args":{"command":"%s %x"}}`, strings.Repeat("go test ./... ", 40), r.Uint64()))
		for h := range 4 {
			e := phases.Event{ID: fmt.Sprintf("%016x-%d", inv, h), Type: phases.EventHook, Time: at,
				Invocation: fmt.Sprintf("inv-%016x", inv), Phase: phases.PreTool, Runtime: "claude-code",
				Session: fmt.Sprint("session-", inv/60), Agent: "main", Tool: tool, Decision: "none", Input: input}
			if e.Binding = fmt.Sprint("hook-", h); h == 3 {
				e.Type, e.Binding, e.Decision = phases.EventVerdict, "", "allow"
				if r.IntN(200) == 0 {
					e.Decision, e.Kind = "block", phases.KindPolicy
				}
			}
			b.Events = append(b.Events, e)
		}
	}
	return b
}

// BenchmarkQueries asks a log of BELAY_LOG_EVENTS events what `belay events query` can ask, and tells its size.
func BenchmarkQueries(b *testing.B) {
	events := int64(setting("BELAY_LOG_EVENTS", 20_000))
	o := pgtest.Options(b, "queries")
	s := pgtest.Open(b, o)
	start := time.Now()
	var next atomic.Int64
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for n := next.Add(1) - 1; n*128 < events; n = next.Add(1) - 1 {
				if _, err := s.Commit(b.Context(), invocations(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	b.Logf("%d events written in %v", events, time.Since(start).Round(time.Millisecond))
	for blocks := int64(0); blocks < events/lookup.BlockEvents; time.Sleep(100 * time.Millisecond) {
		query(b, o, "SELECT count(*) FROM lookup_blocks", &blocks)
	}
	pgtest.Exec(b, o.Schema, "VACUUM ANALYZE")
	var heap, index, tree, found int64
	query(
		b,
		o,
		`SELECT sum(CASE WHEN relname LIKE 'events%' AND relkind = 'r' THEN pg_relation_size(oid) ELSE 0 END)::bigint,
		sum(CASE WHEN relname LIKE 'events%' AND relkind = 'i' THEN pg_relation_size(oid) ELSE 0 END)::bigint,
		sum(CASE WHEN relname LIKE 'tiles%' THEN pg_relation_size(oid) ELSE 0 END)::bigint,
		sum(CASE WHEN relname LIKE 'lookup%' THEN pg_relation_size(oid) ELSE 0 END)::bigint
		FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')`,
		&heap,
		&index,
		&tree,
		&found,
	)
	b.Logf("bytes an event: %d of rows, %d of their indexes, %d of the tree, %d of the lookup", heap/events, index/events,
		tree/events, found/events)
	last := events / 4
	end := storetest.T0.Add(time.Duration(last) * 5 * time.Second)
	for _, q := range []struct {
		name string
		wire.Query
	}{
		{"newest", wire.Query{}}, {"decision", wire.Query{Decision: "block"}}, {"tool", wire.Query{Tool: "web_fetch"}},
		{"tool-and-decision", wire.Query{Tool: "web_fetch", Decision: "block"}}, {"kind",
			wire.Query{Kind: phases.KindPolicy}},
		{"session", wire.Query{Session: fmt.Sprint("session-", last/120)}}, {"agent", wire.Query{Agent: "main"}},
		{"invocation", wire.Query{Invocation: fmt.Sprintf("inv-%016x", last/2)}}, {"hook", wire.Query{Binding: "hook-1"}},
		{"type", wire.Query{Type: phases.EventVerdict}}, {"except", wire.Query{Except: phases.EventHook}},
		{"phase", wire.Query{Phase: phases.PreTool, Decision: "block"}}, {"no-match", wire.Query{Session: "none"}},
		{"time", wire.Query{Since: end.Add(-time.Hour), Until: end.Add(-50 * time.Minute)}},
		{"id", wire.Query{ID: fmt.Sprintf("%016x-3", last/2)}},
	} {
		for _, q.Newest = range []bool{true, false} {
			b.Run(fmt.Sprint(q.name, "/newest=", q.Newest), func(b *testing.B) {
				n := 0
				for b.Loop() {
					es, err := s.Events(b.Context(), q.Query)
					if err != nil {
						b.Fatal(err)
					}
					n = len(es)
				}
				b.ReportMetric(float64(n), "events")
			})
		}
	}
}
