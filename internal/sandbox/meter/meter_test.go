package meter

import (
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

var (
	i32, i64, f32, f64, v128 = wasm.I32, wasm.I64, wasm.F32, wasm.F64, wasm.V128
	nullary                  = sig(nil, nil)
)

// spin counts its argument down in a loop of six units a round.
func spin(t testing.TB) []byte {
	return one(t, sig(ty(i64), ty(i64)), []wasm.LocalRun{{Count: 1, Type: i64}},
		blk(wasm.OpLoop),
		get(0), i64c(1), o(wasm.OpI64Sub), tee(0), o(wasm.OpI64Eqz), o(wasm.OpI32Eqz), brIf(0),
		o(end),
		get(1))
}

func fib(t testing.TB) []byte {
	return one(t, sig(ty(i32), ty(i32)), nil,
		get(0), i32c(2), o(wasm.OpI32LtU), blk(wasm.OpIf), get(0), o(wasm.OpReturn), o(end),
		get(0), i32c(1), o(wasm.OpI32Sub), call(0),
		get(0), i32c(2), o(wasm.OpI32Sub), call(0),
		o(wasm.OpI32Add))
}

func TestFuelIsTheSameEverywhere(t *testing.T) {
	for _, c := range []struct {
		name  string
		file  []byte
		limit int64
		args  []uint64
		want  outcome
	}{
		{"spin", spin(t), 1 << 20, []uint64{1000}, outcome{}},
		{"spin out of fuel", spin(t), 5000, []uint64{1000}, outcome{}},
		{"fib", fib(t), 1 << 20, []uint64{15}, outcome{}},
		{"fib out of fuel", fib(t), 9999, []uint64{15}, outcome{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := everywhere(t, instrument(t, c.file, Options{}), "f", c.limit, c.args...)
			t.Logf("%+v", got)
		})
	}
}
