package wasm_test

import "github.com/belay-hooks/belay/internal/sandbox/wasm"

// body builds a function body. Every method appends one instruction.
type body struct{ b []byte }

func (b *body) in(in wasm.Instr) *body { b.b = wasm.AppendInstr(b.b, &in); return b }
func (b *body) op(ops ...wasm.Op) *body {
	for _, o := range ops {
		b.in(wasm.Instr{Op: o, Block: wasm.BlockEmpty})
	}
	return b
}
func (b *body) ix(op wasm.Op, i int) *body { return b.in(wasm.Instr{Op: op, Index: uint32(i)}) }
func (b *body) i32(v int) *body            { return b.in(wasm.Instr{Op: wasm.OpI32Const, Bits: uint64(v)}) }
func (b *body) block(op wasm.Op, t wasm.BlockType) *body {
	return b.in(wasm.Instr{Op: op, Block: t})
}
func (b *body) table(labels ...uint32) *body {
	return b.in(wasm.Instr{Op: wasm.OpBrTable, Labels: labels})
}
func (b *body) rep(n int, f func(i int)) *body {
	for i := range n {
		f(i)
	}
	return b
}
func (b *body) end() []byte { return b.op(wasm.OpEnd).b }

// bump changes local i, so that it is a different value afterwards.
func (b *body) bump(i int) *body {
	return b.ix(wasm.OpLocalGet, i).i32(1).op(wasm.OpI32Add).ix(wasm.OpLocalSet, i)
}

// load pushes a value that the engine cannot know.
func (b *body) load(off int) *body {
	return b.i32(0).in(wasm.Instr{Op: wasm.OpI32Load, Offset: uint32(off)})
}

func many(t wasm.ValType, n int) []wasm.ValType {
	ts := make([]wasm.ValType, n)
	for i := range ts {
		ts[i] = t
	}
	return ts
}

// bombModule is a module with one memory and one function type ()->(), to which types
// and functions are added.
func bombModule() *wasm.Module {
	return &wasm.Module{
		Types:   []wasm.FuncType{{}},
		Memory:  &wasm.Memory{Size: wasm.Size{Min: 1}},
		Exports: []wasm.Export{{Name: "memory", Kind: wasm.ExternMemory}},
	}
}

func one(locals int, b []byte) *wasm.Module {
	m := bombModule()
	m.Funcs = []wasm.Func{fn(locals, b)}
	return m
}

func fn(locals int, b []byte) wasm.Func {
	f := wasm.Func{Body: b}
	if locals > 0 {
		f.Locals = []wasm.LocalRun{{Count: uint32(locals), Type: wasm.I32}}
	}
	return f
}

// bomb is a family of modules that grow with n.
type bomb struct {
	name  string
	max   int // greatest n worth trying: beyond it some limit refuses
	build func(n int) *wasm.Module
}
