package meter

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
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

// moved is the module with n more functions in front of its own, of different lengths, so
// that the engine places the code elsewhere. It has no imports.
func moved(t testing.TB, file []byte, n uint32) []byte {
	m := *parse(t, file)
	m.Types = append(slices.Clone(m.Types), sig(ty(i32), ty(i32)))
	var funcs []wasm.Func
	for i := range n {
		is := []ins{get(0)}
		for range (3*n+i)%5 + 1 {
			is = append(is, i32c(int32(i)), o(wasm.OpI32Mul), get(0), o(wasm.OpI32Add))
		}
		funcs = append(funcs, wasm.Func{Type: uint32(len(m.Types) - 1), Body: body(is...)})
	}
	for _, f := range m.Funcs {
		var out []byte
		var in ins
		for r := wasm.NewReader(f.Body); r.Next(&in) == nil; {
			if in.Op == wasm.OpCall {
				in.Index += n
			}
			out = wasm.AppendInstr(out, &in)
		}
		f.Body = out
		funcs = append(funcs, f)
	}
	m.Funcs = funcs
	m.Exports = slices.Clone(m.Exports)
	for i := range m.Exports {
		if x := &m.Exports[i]; x.Kind == wasm.ExternFunc {
			x.Index += n
		}
	}
	b, err := wasm.Encode(&m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// BenchmarkOverhead reports what metering costs on wazero's compiler as a ratio to the
// same module as written. Both take turns, and the least time of each counts, so that a
// busy machine does not show. Where the code happens to be placed is worth some 15
// percent either way: the figure is the median of several placements, of which the least
// and greatest are given too.
func BenchmarkOverhead(b *testing.B) {
	type pair struct{ plain, metered api.Module }
	const placements = 7
	r := newRuntime(b, compiler)
	var pairs []pair
	for n := range uint32(placements) {
		file := moved(b, benchGuest(b), n)
		out := instrument(b, file, Options{})
		metered, err := r.instantiate(&out)
		if err != nil {
			b.Fatal(err)
		}
		plain, err := r.InstantiateWithConfig(ctx, file, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			b.Fatal(err)
		}
		pairs = append(pairs, pair{plain, metered.mod})
	}
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			least := [placements][2]time.Duration{}
			once := func(k, which int, m api.Module) {
				r.acct = &Account{Limit: 1 << 60, Slice: 1 << 20}
				if which == 1 {
					m.ExportedGlobal(ExportFuel).(api.MutableGlobal).Set(0)
				}
				f := m.ExportedFunction(w.name)
				st := [1]uint64{w.rounds}
				t := time.Now()
				if err := f.CallWithStack(ctx, st[:]); err != nil {
					b.Fatal(err)
				}
				if d := time.Since(t); least[k][which] == 0 || d < least[k][which] {
					least[k][which] = d
				}
			}
			for b.Loop() {
				for k, p := range pairs {
					once(k, 0, p.plain)
					once(k, 1, p.metered)
				}
			}
			var ratios []float64
			for _, l := range least {
				ratios = append(ratios, float64(l[1])/float64(l[0]))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[placements/2], "metered/plain")
			b.ReportMetric(ratios[0], "least")
			b.ReportMetric(ratios[placements-1], "greatest")
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
