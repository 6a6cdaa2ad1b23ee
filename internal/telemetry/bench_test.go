package telemetry

import (
	"os"
	"testing"
	"time"

	"github.com/belay-hooks/belay/kernel"
)

// BenchmarkDecision compares one unobserved decision, without a sandbox and
// without a disk, with the same one while everything is exported. x-off is what
// a decision costs with the variables unset against a kernel that was never
// given an observer: 1.0 but for noise. x-on is the same with a collector.
func BenchmarkDecision(b *testing.B) {
	clean(b)
	c := newCollector(b)
	off, err := Open(b.Context(), Options{Getenv: os.Getenv})
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	on, err := Open(b.Context(), Options{Getenv: os.Getenv})
	if err != nil {
		b.Fatal(err)
	}
	defer on.Shutdown(b.Context())
	names := []string{"one", "two"}
	run := func(o kernel.Observer) func() {
		k := open(b, o, hooks{"one": fuel(1), "two": fuel(2)}, names...)
		inv := call("exec", "ls")
		return func() {
			if _, err := k.Invoke(b.Context(), inv); err != nil {
				b.Fatal(err)
			}
		}
	}
	// The three take turns, so that what else the machine does meets all of them.
	var spent [3]time.Duration
	each := []func(){run(nil), run(off.Observer()), run(on.Observer())}
	n := 0
	for b.Loop() {
		for i := range each {
			start := time.Now()
			for range 20 {
				each[(i+n)%len(each)]()
			}
			spent[(i+n)%len(each)] += time.Since(start)
		}
		n++
	}
	b.ReportMetric(float64(spent[0].Nanoseconds())/float64(20*n), "ns/unwatched")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-off")
	b.ReportMetric(float64(spent[2])/float64(spent[0]), "x-on")
}
