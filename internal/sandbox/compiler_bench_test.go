package sandbox

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkLoadApart is loading a module that no cache has, compiled in a
// process of its own, and as x-apart its time relative to compiling it here.
func BenchmarkLoadApart(b *testing.B) {
	for _, tc := range []struct {
		name string
		file []byte
	}{{"guard", guest(b, "guard")}, {"divisions", divisions(b, 20_000)}} {
		b.Run(tc.name, func(b *testing.B) {
			engines := [2]*Engine{open(b, Options{Compiler: ownCompiler(b, CompilerCommand)}), open(b, Options{})}
			var spent [2][]time.Duration
			for b.Loop() {
				for i, e := range engines { // they take turns, so that what else the machine does meets both
					start := time.Now()
					load(b, e, tc.file).Close()
					spent[i] = append(spent[i], time.Since(start))
				}
			}
			median := func(d []time.Duration) float64 {
				slices.Sort(d)
				return float64(d[len(d)/2].Microseconds())
			}
			b.ReportMetric(median(spent[0])/1000, "ms/apart")
			b.ReportMetric(median(spent[1])/1000, "ms/here")
			b.ReportMetric(median(spent[0])/median(spent[1]), "x-apart")
		})
	}
}
