package meter

import (
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// An assembler for test guests: instructions are written as values, one after another.

type ins = wasm.Instr

func o(op wasm.Op) ins                         { return ins{Op: op} }
func x(op wasm.Op, i uint32) ins               { return ins{Op: op, Index: i} }
func i32c(v int32) ins                         { return ins{Op: wasm.OpI32Const, Bits: uint64(int64(v))} }
func i64c(v int64) ins                         { return ins{Op: wasm.OpI64Const, Bits: uint64(v)} }
func get(i uint32) ins                         { return x(wasm.OpLocalGet, i) }
func set(i uint32) ins                         { return x(wasm.OpLocalSet, i) }
func tee(i uint32) ins                         { return x(wasm.OpLocalTee, i) }
func call(i uint32) ins                        { return x(wasm.OpCall, i) }
func br(i uint32) ins                          { return x(wasm.OpBr, i) }
func brIf(i uint32) ins                        { return x(wasm.OpBrIf, i) }
func brTable(l ...uint32) ins                  { return ins{Op: wasm.OpBrTable, Labels: l} }
func blk(op wasm.Op, t ...any) ins             { return ins{Op: op, Block: blockType(t)} }
func mem(op wasm.Op, off uint32) ins           { return ins{Op: op, Offset: off} }
func sig(in, out []wasm.ValType) wasm.FuncType { return wasm.FuncType{Params: in, Results: out} }
func ty(t ...wasm.ValType) []wasm.ValType      { return t }

func blockType(t []any) wasm.BlockType {
	if len(t) == 0 {
		return wasm.BlockEmpty
	}
	if v, ok := t[0].(wasm.ValType); ok {
		return wasm.BlockOf(v)
	}
	return wasm.BlockType(t[0].(int))
}

const end = wasm.OpEnd

// body ends a sequence with end.
func body(is ...ins) []byte {
	var b []byte
	for i := range is {
		b = wasm.AppendInstr(b, &is[i])
	}
	e := o(end)
	return wasm.AppendInstr(b, &e)
}

// mod builds a module around functions: each has its own type and is exported as f0, f1, …
type mod struct {
	wasm.Module
}

func (m *mod) fn(t wasm.FuncType, locals []wasm.LocalRun, is ...ins) uint32 {
	m.Types = append(m.Types, t)
	m.Funcs = append(m.Funcs, wasm.Func{Type: uint32(len(m.Types) - 1), Locals: locals, Body: body(is...)})
	return uint32(m.NumFuncs() - 1)
}

func (m *mod) export(name string, i uint32) {
	m.Exports = append(m.Exports, wasm.Export{Name: name, Kind: wasm.ExternFunc, Index: i})
}

func (m *mod) memory(pages uint32) {
	m.Memory = &wasm.Memory{Size: wasm.Size{Min: pages}}
	m.Exports = append(m.Exports, wasm.Export{Name: "memory", Kind: wasm.ExternMemory})
}

// hostCharge imports host.charge; before any fn.
func (m *mod) hostCharge() uint32 {
	m.Types = append(m.Types, sig(ty(wasm.I32), nil))
	m.Imports = append(m.Imports, wasm.Import{Module: "host", Name: "charge", Type: uint32(len(m.Types) - 1)})
	return uint32(len(m.Imports) - 1)
}

func (m *mod) bytes(t testing.TB) []byte {
	t.Helper()
	b, err := wasm.Encode(&m.Module)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// one is a module with a single exported function "f".
func one(t testing.TB, ft wasm.FuncType, locals []wasm.LocalRun, is ...ins) []byte {
	t.Helper()
	var m mod
	m.memory(1)
	m.export("f", m.fn(ft, locals, is...))
	return m.bytes(t)
}
