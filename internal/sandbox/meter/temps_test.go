package meter

import (
	"slices"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// A function gets the locals that its own code wants, and no others: each one costs the
// engine's compiler. They join a last run of their type.
func TestOnlyTempsInUse(t *testing.T) {
	run := func(n uint32, v wasm.ValType) wasm.LocalRun { return wasm.LocalRun{Count: n, Type: v} }
	drop := o(wasm.OpDrop)
	vec := func(op wasm.Op) []ins { return []ins{{Op: wasm.OpV128Const}, {Op: op}, drop} }
	for _, c := range []struct {
		name string
		own  []wasm.LocalRun
		is   []ins
		want []wasm.LocalRun
	}{
		{"nothing", nil, nil, []wasm.LocalRun{run(1, i64)}},
		{"own of another type", locals(3, i32), nil, []wasm.LocalRun{run(3, i32), run(1, i64)}},
		{"own of the same type", locals(3, i64), nil, []wasm.LocalRun{run(4, i64)}},
		{"a call", nil, []ins{call(0)}, []wasm.LocalRun{run(1, i64), run(1, i32)}},
		{"a call behind a branch", nil, []ins{o(wasm.OpReturn), call(0)}, []wasm.LocalRun{run(1, i64)}},
		{"memory.grow", nil, []ins{i32c(0), o(wasm.OpMemoryGrow), drop}, []wasm.LocalRun{run(1, i64), run(1, i32)}},
		{"f32", nil, []ins{{Op: wasm.OpF32Const}, o(wasm.OpF32Sqrt), drop}, []wasm.LocalRun{run(1, i64), run(1, f32)}},
		{"f64", nil, []ins{{Op: wasm.OpF64Const}, o(wasm.OpF64Sqrt), drop}, []wasm.LocalRun{run(1, i64), run(1, f64)}},
		{"f32x4", nil, vec(wasm.OpF32x4Sqrt), []wasm.LocalRun{run(1, i64), run(1, v128)}},
		{"f64x2", nil, vec(wasm.OpF64x2Sqrt), []wasm.LocalRun{run(1, i64), run(1, v128)}},
		{"both vectors", nil, slices.Concat(vec(wasm.OpF32x4Sqrt), vec(wasm.OpF64x2Sqrt)),
			[]wasm.LocalRun{run(1, i64), run(1, v128)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m mod
			m.memory(1)
			m.fn(nullary, nil)
			m.fn(nullary, c.own, c.is...)
			opts := Options{}.withDefaults()
			p := &pass{in: parse(t, m.bytes(t)), opts: opts, units: newStackUnits(opts)}
			if err := p.run(); err != nil {
				t.Fatal(err)
			}
			if got := p.out.Funcs[1].Locals; !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
