package meter

import (
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

var (
	i32, i64, f32, f64, v128 = wasm.I32, wasm.I64, wasm.F32, wasm.F64, wasm.V128
	nullary                  = sig(nil, nil)
)

func locals(n uint32, t wasm.ValType) []wasm.LocalRun { return []wasm.LocalRun{{Count: n, Type: t}} }

// spin counts its argument down.
func spin(t testing.TB) []byte {
	return one(t, sig(ty(i64), ty(i64)), locals(1, i64),
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

// divLate divides 100 by n, n-1, n-2 … in a loop, and so traps after n+1 rounds.
func divLate(t testing.TB) []byte {
	return one(t, sig(ty(i32), nil), nil,
		blk(wasm.OpLoop),
		i32c(100), get(0), o(wasm.OpI32DivU), o(wasm.OpDrop),
		get(0), i32c(1), o(wasm.OpI32Sub), set(0), br(0),
		o(end))
}

// hostCharges calls a host function that costs its argument, five times.
func hostCharges(t testing.TB) []byte {
	var m mod
	h := m.hostCharge()
	m.export("f", m.fn(sig(ty(i32), ty(i32)), locals(1, i32),
		blk(wasm.OpLoop),
		get(0), call(h),
		get(1), i32c(1), o(wasm.OpI32Add), tee(1), i32c(5), o(wasm.OpI32LtU), brIf(0),
		o(end),
		get(1)))
	return m.bytes(t)
}

// pair gives two results, by return from inside of a block or from the end, and picks
// among three labels on the way, one of them the function's own.
func pair(t testing.TB) []byte {
	var m mod
	p := m.fn(sig(ty(i32), ty(i32, i64)), nil,
		blk(wasm.OpBlock), blk(wasm.OpBlock),
		i32c(7), i64c(70),
		get(0), i32c(3), o(wasm.OpI32Eq), brIf(2),
		o(wasm.OpDrop), o(wasm.OpDrop),
		get(0), brTable(0, 1, 0),
		o(end),
		i32c(1), i64c(10), o(wasm.OpReturn),
		o(end),
		i32c(2), i64c(20))
	// 1000*i32 + i64
	m.export("f", m.fn(sig(ty(i32), ty(i64)), locals(1, i64),
		get(0), call(p), set(1), o(wasm.OpI64ExtendI32U), i64c(1000), o(wasm.OpI64Mul), get(1), o(wasm.OpI64Add)))
	return m.bytes(t)
}

// late charges on a way that passes a call by and meets it again: the charge
// must not be forgotten where the two join.
func late(t testing.TB) []byte {
	var m mod
	h := m.hostCharge()
	is := []ins{blk(wasm.OpBlock), get(0), brIf(0)}
	for range 10 {
		is = append(is, i32c(1), o(wasm.OpDrop))
	}
	is = append(is, get(0), o(wasm.OpI32Eqz), brIf(0), i32c(0), call(h), o(end))
	m.export("f", m.fn(sig(ty(i32), nil), nil, is...))
	return m.bytes(t)
}

// carried counts its argument down in a loop that has it as its parameter, and not as a local.
func carried(t testing.TB) []byte {
	var m mod
	f := m.fn(sig(ty(i32), ty(i32)), locals(1, i32),
		get(0),
		blk(wasm.OpLoop, 0), // the type of the function
		i32c(1), o(wasm.OpI32Sub), tee(1), get(1), brIf(0),
		o(end))
	m.export("f", f)
	return m.bytes(t)
}

// The figures are CostTable: a change of any of them needs a new version.
func TestFuelIsTheSameEverywhere(t *testing.T) {
	bench := benchGuest(t)
	const plenty = 1 << 30
	for _, c := range []struct {
		name   string
		file   []byte
		export string
		limit  int64
		arg    uint64
		want   outcome
	}{
		{"spin", spin(t), "f", plenty, 1000, outcome{results: "[0]", used: 8003}},
		{"spin out of fuel", spin(t), "f", 5000, 1000, outcome{results: "[]", fault: "fuel", used: 5003}},
		{"loop with a parameter", carried(t), "f", plenty, 1000, outcome{results: "[0]", used: 6003}},
		{"fib", fib(t), "f", plenty, 15, outcome{results: "[610]", used: 34518}},
		{"fib out of fuel", fib(t), "f", 9999, 15, outcome{results: "[]", fault: "fuel", used: 10024}},
		{"trap in a loop", divLate(t), "f", plenty, 1000,
			outcome{fault: "integer divide by zero", results: "[]", used: 15017}},
		{"host charges", hostCharges(t), "f", plenty, 1000, outcome{results: "[5]", used: 5078}},
		{"host charges out of fuel", hostCharges(t), "f", 2500, 1000, outcome{results: "[]", fault: "fuel", used: 3048}},
		{"C sieve", bench, "sieve", plenty, 1, outcome{results: "[1028]", used: 456446}},
		{"C hook", bench, "hook", plenty, 2, outcome{results: "[3327438884]", used: 115801}},
		{"C floats", bench, "floats", plenty, 2, outcome{results: "[730]", used: 30744}},
		{"C hook out of fuel", bench, "hook", 12345, 2, outcome{results: "[]", fault: "fuel", used: 12352}},
		{"join behind a call", late(t), "f", plenty, 0, outcome{results: "[]", used: 2 + 2 + 23 + 7}},
		{"pair by return", pair(t), "f", plenty, 0, outcome{results: "[1010]", used: 34}},
		{"pair by the end", pair(t), "f", plenty, 1, outcome{results: "[2020]", used: 34}},
		{"pair by branch", pair(t), "f", plenty, 3, outcome{results: "[7070]", used: 34}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cover := range []bool{false, true} {
				if got := everywhere(t, instrument(t, c.file, Options{Cover: cover}), c.export, c.limit, c.arg); got != c.want {
					t.Errorf("cover %t:\ngot  %+v\nwant %+v", cover, got, c.want)
				}
			}
		})
	}
}
