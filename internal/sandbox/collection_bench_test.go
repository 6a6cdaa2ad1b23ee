package sandbox

import (
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// BenchmarkCollection collects garbage beside hooks that never end. It reports how long a whole cycle took, and how
// long one waited until every goroutine stood still, against a slice: a guest stands still at the end of its slice.
func BenchmarkCollection(b *testing.B) {
	file, err := os.ReadFile("testdata/hogs.wasm")
	if err != nil {
		b.Fatal(err)
	}
	e := open(b, Options{})
	m, err := e.Load(b.Context(), file, LoadOptions{Trusted: true})
	if err != nil {
		b.Fatal(err)
	}
	loop := func(ctx context.Context, fuel int64) time.Duration {
		rep, err := m.Run(ctx, RunRequest{Phase: phases.PrePlan, Session: sessionWith(b, phases.PrePlan, lsAction, nil),
			Fuel: fuel, Timeout: -1, Ceiling: time.Hour})
		if phases.FaultOf(err) == nil {
			b.Errorf("a hook that loops ended with %v", err)
		}
		return rep.Worked
	}
	const slices16 = 16
	slice := loop(b.Context(), slices16*DefaultSlice) / slices16
	within, end := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { loop(within, 1<<60) })
	}
	var cycles []time.Duration
	before := stops()
	for b.Loop() {
		from := time.Now()
		runtime.GC()
		cycles = append(cycles, time.Since(from))
	}
	after := stops()
	end()
	all.Wait()
	slices.Sort(cycles)
	b.ReportMetric(float64(slice.Microseconds()), "µs/slice")
	b.ReportMetric(float64(cycles[len(cycles)*99/100].Microseconds()), "p99-µs/cycle")
	b.ReportMetric(1e6*quantile(before, after, 0.5), "p50-µs/stop")
	b.ReportMetric(1e6*quantile(before, after, 0.99), "p99-µs/stop")
}

// stops returns how long collections waited for goroutines to stand still.
func stops() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64Histogram()
}

// quantile returns the upper bound, in seconds, of the bucket that the part q of what came after before lies in.
func quantile(before, after *metrics.Float64Histogram, q float64) float64 {
	var total, seen uint64
	for i, n := range after.Counts {
		total += n - before.Counts[i]
	}
	for i, n := range after.Counts {
		if seen += n - before.Counts[i]; float64(seen) >= q*float64(total) {
			return after.Buckets[i+1]
		}
	}
	return 0
}
