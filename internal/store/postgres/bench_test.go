package postgres_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// verdict returns an event as an invocation writes one: about a kilobyte.
func verdict(id string) phases.Event {
	e := event(id)
	e.Invocation, e.Phase, e.Runtime, e.Session, e.Agent, e.Tool = id, phases.PreTool, "r", "session-1", "main", "exec"
	e.Decision, e.Input = "allow", jsontext.Value(`{"args":{"command":"`+strings.Repeat("go test ./... ", 50)+`"}}`)
	return e
}

// bare inserts the same bytes without a store: groups of events in one statement each, in a table with the same key.
func bare(b *testing.B, schema string, groups, size int) time.Duration {
	b.Helper()
	c, err := pgx.Connect(b.Context(), pgtest.DSN(b))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(b.Context())
	table := pgx.Identifier{schema, "bare"}.Sanitize()
	if _, err := c.Exec(b.Context(), "CREATE TABLE IF NOT EXISTS "+table+
		" (kernel int, seq bigint GENERATED ALWAYS AS IDENTITY, id bytea, time_ns bigint, body bytea, "+
		"PRIMARY KEY (kernel, seq))"); err != nil {
		b.Fatal(err)
	}
	e := verdict("bare")
	body, err := eventbytes.Append(nil, &e)
	if err != nil {
		b.Fatal(err)
	}
	ids, times, bodies := make([][]byte, size), make([]int64, size), make([][]byte, size)
	sql := "INSERT INTO " + table + " (kernel, id, time_ns, body) " +
		"SELECT 1, * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[])"
	start := time.Now()
	for n := range groups {
		for i := range size {
			ids[i], times[i], bodies[i] = fmt.Append(nil, n, "-", i), e.Time.UnixNano(), body
		}
		if _, err := c.Exec(b.Context(), sql, ids, times, bodies); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// BenchmarkCommit compares durable commits with bare inserts of the same bytes, in the same run: of one
// caller, and of many, whose batches go together. Goals: at most 1.5 times as long; at least 80 % of the
// throughput.
func BenchmarkCommit(b *testing.B) {
	o := pgtest.Options(b, "bench")
	s := pgtest.Open(b, o)
	const rounds = 5
	for _, callers := range []int{1, 128} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			size := max(1, callers/2) // about what goes together: the others are on their way
			var own, other time.Duration
			var id atomic.Int64
			prefix := fmt.Sprint(callers, "-", b.N, "-")
			for range rounds { // by turns: the disk is not always as fast
				each := b.N/rounds + 1
				start := time.Now()
				var wg sync.WaitGroup
				var left atomic.Int64
				left.Store(int64(each))
				for range callers {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							e := verdict(fmt.Sprint(prefix, id.Add(1)))
							if _, err := s.Commit(b.Context(), kernel.Batch{Now: e.Time, Events: []phases.Event{e}}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				own += time.Since(start)
				other += bare(b, o.Schema, max(1, each/size), size)
			}
			events := float64(rounds * (b.N/rounds + 1))
			bareEvents := float64(rounds * max(1, (b.N/rounds+1)/size) * size)
			b.ReportMetric(own.Seconds()*1e6/events, "µs/event")
			b.ReportMetric(other.Seconds()*1e6/bareEvents, "µs/bare-event")
			b.ReportMetric(100*(other.Seconds()/bareEvents)/(own.Seconds()/events), "%-of-bare")
		})
	}
}
