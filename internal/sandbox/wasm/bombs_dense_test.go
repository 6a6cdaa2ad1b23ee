package wasm_test

import (
	"errors"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// dense are bombs of instructions that take few bytes and much of the engine: what a
// price for bytes alone misses.
var dense = []bomb{
	{"calls of 16 that feed each other, n bytes", 8 << 20, func(n int) *wasm.Module {
		return feeding(n, wasm.FuncType{Params: many(wasm.F64, 16), Results: many(wasm.F64, 16)},
			func(b *body) { b.ix(wasm.OpCall, 0) })
	}},
	{"indirect calls of 16 that feed each other, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := feeding(n, wasm.FuncType{Params: many(wasm.I64, 16), Results: many(wasm.I64, 16)},
			func(b *body) { b.i32(0).ix(wasm.OpCallIndirect, 1) })
		m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 1}}}
		return m
	}},
	{"conversions that feed each other, n bytes", 8 << 20, func(n int) *wasm.Module {
		return chained(n, wasm.F64, func(b *body) { b.op(wasm.OpI64TruncF64U, wasm.OpF64ConvertI64U) })
	}},
	{"float min through a local, n bytes", 8 << 20, func(n int) *wasm.Module {
		return chained(n, wasm.F64, func(b *body) { b.ix(wasm.OpLocalTee, 0).ix(wasm.OpLocalGet, 1).op(wasm.OpF64Min) })
	}},
	{"float ceil through a local, n bytes", 8 << 20, func(n int) *wasm.Module {
		return chained(n, wasm.F32, func(b *body) { b.ix(wasm.OpLocalTee, 0).op(wasm.OpF32Ceil) })
	}},
	{"float sqrt through a local, n bytes", 8 << 20, func(n int) *wasm.Module {
		return chained(n, wasm.F64, func(b *body) { b.ix(wasm.OpLocalTee, 0).op(wasm.OpF64Sqrt) })
	}},
	{"loads of what was loaded, n bytes", 8 << 20, func(n int) *wasm.Module {
		return chained(n, wasm.I32, func(b *body) { b.op(wasm.OpI32Load) })
	}},
	{"i64 division that feeds itself, n bytes", 8 << 20, func(n int) *wasm.Module {
		return chained(n, wasm.I64, func(b *body) { b.ix(wasm.OpLocalGet, 1).op(wasm.OpI64DivS) })
	}},
	{"ref.func, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := chained(n, wasm.I32, func(b *body) { b.ix(wasm.OpRefFunc, 0).op(wasm.OpRefIsNull, wasm.OpI32Xor) })
		m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 1}}}
		m.Elems = []wasm.Elem{{Type: wasm.FuncRef, Mode: wasm.SegDeclarative, Init: []uint32{0}}}
		return m
	}},
	{"stores of what was loaded, n bytes", 8 << 20, func(n int) *wasm.Module {
		return chained(n, wasm.I32, func(b *body) {
			b.ix(wasm.OpLocalTee, 0).ix(wasm.OpLocalGet, 1).op(wasm.OpI32Store).ix(wasm.OpLocalGet, 0).op(wasm.OpI32Load)
		})
	}},
}

// chained fills functions with repetitions of f, n bytes in all, each of which takes one
// value and leaves one.
func chained(n int, t wasm.ValType, f func(*body)) *wasm.Module {
	get, put := (&body{}).ix(wasm.OpLocalGet, 0).b, (&body{}).ix(wasm.OpLocalSet, 0)
	store := map[wasm.ValType]wasm.Op{wasm.I32: wasm.OpI32Store, wasm.I64: wasm.OpI64Store, wasm.F32: wasm.OpF32Store,
		wasm.F64: wasm.OpF64Store}
	m := inBodies(n, 0, f)
	for i := range m.Funcs[1:] {
		b := m.Funcs[i+1].Body
		tail := &body{b: append([]byte{}, put.b...)}
		tail.i32(0).ix(wasm.OpLocalGet, 0).op(store[t])
		body := append(append(append([]byte{}, get...), b[:len(b)-1]...), tail.end()...)
		m.Funcs[i+1] = wasm.Func{Type: 1, Body: body}
	}
	m.Types = append(m.Types, wasm.FuncType{Params: many(t, 2)})
	return m
}

// feeding fills functions with repetitions of f, which calls function 0 of type t, whose
// results are the arguments of the next call.
func feeding(n int, t wasm.FuncType, f func(*body)) *wasm.Module {
	m := inBodies(n, 0, f)
	m.Types = append(m.Types, t)
	m.Funcs[0] = wasm.Func{Type: 1, Body: (&body{}).op(wasm.OpUnreachable).end()}
	for i := range m.Funcs[1:] {
		b := m.Funcs[i+1].Body
		args := &body{}
		for k := range t.Params {
			args.ix(wasm.OpLocalGet, k)
		}
		m.Funcs[i+1] = wasm.Func{Type: 1, Body: append(args.b, b...)}
	}
	return m
}

// TestDenseBombs are modules that passed the ceiling of installed ones while a
// byte of code had one price, and took the engine several times the allowed
// time: each is refused now, at the size at which it was accepted then.
func TestDenseBombs(t *testing.T) {
	for i, b := range dense {
		then := 5_300_000 // bytes of code; 1,100 ns each came to less than 6 s
		switch i {
		case 0: // 3,000 ns more for a call
			then = 2_200_000
		case 1: // 28,000 ns more
			then = 700_000
		}
		m, err := wasm.Parse(mustEncode(t, b.build(then)), bombLimits())
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
			continue
		}
		if err := wasm.Estimate(m).Within(wasm.InstalledBudget()); !errors.Is(err, wasm.ErrLimit) {
			t.Errorf("%s: %d bytes are estimated at %d ms and pass", b.name, then, wasm.Estimate(m).Nanos/1e6)
		}
	}
}
