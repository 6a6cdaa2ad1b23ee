package meter

import (
	"os"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

func benchGuest(t testing.TB) []byte {
	b, err := os.ReadFile("testdata/guests/bench.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var workloads = []struct {
	name   string
	rounds uint64
}{{"spin", 300}, {"sieve", 10}, {"fib", 22}, {"hook", 60}, {"floats", 500}}

// BenchmarkOverhead reports what metering costs on wazero's compiler as a ratio to the
// same module as written. Both take turns within one run, and the least time of each
// counts, so that a busy machine shows in the spread and not in the ratio.
func BenchmarkOverhead(b *testing.B) {
	file := benchGuest(b)
	out := instrument(b, file, Options{})
	r := newRuntime(b, compiler)
	metered, err := r.instantiate(&out)
	if err != nil {
		b.Fatal(err)
	}
	plain, err := r.InstantiateWithConfig(ctx, file, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			pf, mf := plain.ExportedFunction(w.name), metered.mod.ExportedFunction(w.name)
			least := [2]time.Duration{1 << 62, 1 << 62}
			var st [1]uint64
			once := func(k int, f api.Function) {
				r.acct = &Account{Limit: 1 << 60, Slice: 1 << 20}
				metered.fuel.Set(0)
				st[0] = w.rounds
				t := time.Now()
				if err := f.CallWithStack(ctx, st[:]); err != nil {
					b.Fatal(err)
				}
				least[k] = min(least[k], time.Since(t))
			}
			for b.Loop() {
				once(0, pf)
				once(1, mf)
			}
			b.ReportMetric(float64(least[1])/float64(least[0]), "metered/plain")
			b.ReportMetric(float64(r.acct.Used(int64(metered.fuel.Get())))/float64(least[0].Nanoseconds()), "fuel/ns")
		})
	}
}

// BenchmarkInstrument measures the pass itself.
func BenchmarkInstrument(b *testing.B) {
	m := parse(b, benchGuest(b))
	b.SetBytes(int64(m.Facts.FileSize))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Instrument(m, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
