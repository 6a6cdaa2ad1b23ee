package wasm_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/internal/sandbox/wasm/wasmtest"
)

// Every instruction that the parser takes has a price, and is in the scan that the price
// comes from, in settings that are valid.
func TestEveryOpcodeIsPriced(t *testing.T) {
	ops := wasmtest.Ops()
	if len(ops) < 430 {
		t.Fatalf("%d instructions: the parser takes more", len(ops))
	}
	for _, op := range ops {
		if p, ok := op.Price(); !ok || p.Nanos == 0 || p.Bytes == 0 {
			t.Errorf("%s has no price", op)
		}
		units := scanUnits(op)
		if len(units) == 0 {
			t.Errorf("%s is not scanned", op)
		}
		for _, u := range units {
			m, err := wasm.Parse(mustEncode(t, scanModule(u, 24)), bombLimits())
			if err != nil {
				t.Errorf("%s %s: %v", op, u.name, err)
				continue
			}
			if !uses(t, m.Funcs[0].Body, op) {
				t.Errorf("%s %s: the setting lacks the instruction", op, u.name)
			}
		}
	}
	for o := range wasm.Op(0x10000) {
		if _, known := o.Info(); known {
			continue
		}
		if _, priced := o.Price(); priced {
			t.Errorf("%#x has a price, and is no instruction", uint32(o))
		}
	}
}

func uses(t *testing.T, body []byte, op wasm.Op) bool {
	t.Helper()
	r := wasm.NewReader(body)
	var in wasm.Instr
	for r.Next(&in) == nil {
		if in.Op == op {
			return true
		}
	}
	return false
}

// The operands of a call are in its price, and what a call takes and gives can only make
// it dearer.
func TestCallsArePricedByTheirOperands(t *testing.T) {
	cost := func(params, results int) uint64 {
		ft := wasm.FuncType{Params: many(wasm.F64, params), Results: many(wasm.F64, results)}
		b := &body{}
		b.rep(400, func(int) {
			b.rep(params, func(k int) { b.ix(wasm.OpLocalGet, k) }).ix(wasm.OpCall, 0).rep(results,
				func(int) { b.op(wasm.OpDrop) })
		})
		file := bombModule()
		file.Types = append(file.Types, ft, wasm.FuncType{Params: many(wasm.F64, 16)})
		file.Funcs = []wasm.Func{{Type: 1, Body: (&body{}).op(wasm.OpUnreachable).end()}, {Type: 2, Body: b.end()}}
		m, err := wasm.Parse(mustEncode(t, file), bombLimits())
		if err != nil {
			t.Fatal(err)
		}
		return wasm.Estimate(m).Nanos / uint64(m.Funcs[1].Facts.Calls)
	}
	for n := range 16 {
		if a, b := cost(n, 0), cost(n+1, 0); b < a+500 {
			t.Errorf("%d arguments: %d ns, %d: %d ns", n, a, n+1, b)
		}
		if a, b := cost(1, n), cost(1, n+1); b < a+900 {
			t.Errorf("%d results: %d ns, %d: %d ns", n, a, n+1, b)
		}
	}
}
