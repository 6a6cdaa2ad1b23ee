package wasm_test

import (
	"fmt"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/internal/sandbox/wasm/wasmtest"
)

// unit is one instruction in a setting in which the engine can neither leave it out nor
// know its operands, to be repeated. A unit leaves the operand stack as it finds it.
type unit struct {
	name string
	op   wasm.Op
	// emit appends the i-th repetition.
	emit func(b *body, i int)
	// whole is how many repetitions leave the stack as they find it; 0 means one.
	whole int
	// calls is the signature that the unit needs as type 1, of function 1.
	calls *wasm.FuncType
	// imported makes function 0 an import of that signature.
	imported bool
}

// Parameters of the function that units are put in: scanVars of each type, values that
// the engine knows nothing of.
const scanVars = 4

var scanTypes = wasmtest.Types()

// variable is the parameter number k of a type.
func variable(t wasm.ValType, k int) int {
	for i, s := range scanTypes {
		if s == t {
			return i*scanVars + k%scanVars
		}
	}
	panic("no such type")
}

func get(b *body, t wasm.ValType, k int) { b.ix(wasm.OpLocalGet, variable(t, k)) }
func set(b *body, t wasm.ValType, k int) { b.ix(wasm.OpLocalSet, variable(t, k)) }

// consume takes a value off the stack so that it counts: it goes into variable 3 of i32,
// i64 or v128, which the function stores at its end.
func consume(b *body, t wasm.ValType) {
	switch t {
	case wasm.I32:
	case wasm.F32:
		b.op(wasm.OpI32ReinterpretF32)
	case wasm.FuncRef, wasm.ExternRef:
		b.op(wasm.OpRefIsNull)
	case wasm.I64, wasm.F64:
		if t == wasm.F64 {
			b.op(wasm.OpI64ReinterpretF64)
		}
		get(b, wasm.I64, 3)
		b.op(wasm.OpI64Xor)
		set(b, wasm.I64, 3)
		return
	case wasm.V128:
		get(b, wasm.V128, 3)
		b.op(wasm.OpV128Xor)
		set(b, wasm.V128, 3)
		return
	}
	get(b, wasm.I32, 3)
	b.op(wasm.OpI32Xor)
	set(b, wasm.I32, 3)
}

// scanModule repeats a unit n times in one function.
func scanModule(u unit, n int) *wasm.Module {
	m := scanTables(u.calls)
	if u.imported {
		m.Imports = []wasm.Import{{Module: "env", Name: "f", Type: 1}}
	}
	b := &body{}
	for i := range n {
		u.emit(b, i)
	}
	for k := range scanVars {
		for _, s := range []struct {
			t  wasm.ValType
			op wasm.Op
		}{{wasm.I32, wasm.OpI32Store}, {wasm.I64, wasm.OpI64Store}, {wasm.F32, wasm.OpF32Store}, {wasm.F64, wasm.OpF64Store},
			{wasm.V128, wasm.OpV128Store}} {
			b.i32(0)
			get(b, s.t, k)
			b.op(s.op)
		}
	}
	m.Funcs[0].Body = b.end()
	return m
}

// scanArities are how many arguments and results calls are scanned with.
var scanArities = []int{0, 1, 2, 3, 4, 6, 8, 12, 16}

// callTypes are the signatures that calls are scanned with.
func callTypes() []wasm.FuncType {
	var out []wasm.FuncType
	for _, t := range scanTypes[:5] {
		for _, n := range scanArities {
			out = append(out, wasm.FuncType{Params: many(t, n), Results: many(t, n)})
			if n > 0 {
				out = append(out, wasm.FuncType{Params: many(t, n)}, wasm.FuncType{Results: many(t, n)})
			}
		}
		out = append(out, wasm.FuncType{Params: many(t, 128)}, wasm.FuncType{Params: many(t, 128), Results: many(t, 16)})
	}
	return out
}

// scanTables is a module with all that instructions can name; function 0 is to
// get the body, and calls function 1.
func scanTables(calls *wasm.FuncType) *wasm.Module {
	m := bombModule()
	var params []wasm.ValType
	for _, t := range scanTypes {
		params = append(params, many(t, scanVars)...)
	}
	if calls == nil {
		calls = &wasm.FuncType{}
	}
	m.Types = []wasm.FuncType{{Params: params}, *calls}
	m.Funcs = []wasm.Func{{}, {Type: 1, Body: (&body{}).op(wasm.OpUnreachable).end()}}
	m.Tables = []wasm.Table{
		{Type: wasm.FuncRef, Size: wasm.Size{Min: 1}},
		{Type: wasm.ExternRef, Size: wasm.Size{Min: 1}},
	}
	m.Elems = []wasm.Elem{{Type: wasm.FuncRef, Mode: wasm.SegPassive, Init: []uint32{1}}}
	m.DataCount, m.Datas = true, []wasm.Data{{Mode: wasm.SegPassive}}
	for _, t := range scanTypes {
		m.Globals = append(m.Globals, wasm.Global{Type: t, Mutable: true, Init: wasmtest.Zero(t)})
	}
	return m
}

// scanUnits are the settings of one instruction.
func scanUnits(op wasm.Op) []unit {
	info, ok := op.Info()
	if !ok {
		return nil
	}
	if info.Sig.Fixed {
		return fixedUnits(op, info)
	}
	return specialUnits(op)
}

func fixedUnits(op wasm.Op, info wasm.OpInfo) []unit {
	ins := info.Sig.In[:info.Sig.NIn]
	memory := info.Imm == wasm.ImmMemArg || info.Imm == wasm.ImmMemArgLane
	operands := func(b *body, i, first int) {
		for k, t := range ins {
			if k == 0 && memory {
				get(b, wasm.I32, 0)
				b.i32(1).op(wasm.OpI32Add).ix(wasm.OpLocalTee, variable(wasm.I32, 0))
				continue
			}
			get(b, t, k+first)
		}
		in := wasmtest.Instr(op, i)
		b.in(in)
	}
	units := []unit{{name: "used", op: op, emit: func(b *body, i int) {
		operands(b, i, i)
		if info.Sig.Out != 0 {
			consume(b, info.Sig.Out)
		}
	}}}
	if len(ins) > 0 && ins[0] == info.Sig.Out {
		units = append(units, unit{name: "chain", op: op, emit: func(b *body, i int) {
			get(b, ins[0], 0)
			for k, t := range ins[1:] {
				get(b, t, k+1)
			}
			in := wasmtest.Instr(op, i)
			b.in(in)
			set(b, ins[0], 0)
		}})
	}
	if info.Sig.Out != 0 {
		const alive = 24
		units = append(units, unit{name: "alive", op: op, emit: func(b *body, i int) {
			operands(b, i, i)
			if i%alive == alive-1 {
				for range alive {
					consume(b, info.Sig.Out)
				}
			}
		}, whole: alive})
	}
	return units
}

func specialUnits(op wasm.Op) []unit {
	one := func(emit func(b *body, i int)) []unit { return []unit{{name: "used", op: op, emit: emit}} }
	perType := func(ts []wasm.ValType, emit func(b *body, t wasm.ValType, i int)) []unit {
		var out []unit
		for _, t := range ts {
			out = append(out, unit{name: t.String(), op: op, emit: func(b *body, i int) { emit(b, t, i) }})
		}
		return out
	}
	cond := func(b *body, i int) { get(b, wasm.I32, i) }
	switch op {
	case wasm.OpUnreachable:
		return one(func(b *body, i int) { cond(b, i); b.op(wasm.OpIf, wasm.OpUnreachable, wasm.OpEnd) })
	case wasm.OpReturn:
		return one(func(b *body, i int) { cond(b, i); b.op(wasm.OpIf, wasm.OpReturn, wasm.OpEnd) })
	case wasm.OpBlock, wasm.OpLoop:
		return one(func(b *body, i int) { b.op(op, wasm.OpEnd) })
	case wasm.OpIf, wasm.OpEnd:
		return one(func(b *body, i int) { cond(b, i); b.op(wasm.OpIf, wasm.OpEnd) })
	case wasm.OpElse:
		return one(func(b *body, i int) { cond(b, i); b.op(wasm.OpIf, wasm.OpElse, wasm.OpEnd) })
	case wasm.OpBr:
		return one(func(b *body, i int) { b.op(wasm.OpBlock).ix(op, 0).op(wasm.OpEnd) })
	case wasm.OpBrIf:
		return []unit{
			{name: "block", op: op, emit: func(b *body, i int) { b.op(wasm.OpBlock); cond(b, i); b.ix(op, 0).op(wasm.OpEnd) }},
			{name: "body", op: op, emit: func(b *body, i int) { cond(b, i); b.ix(op, 0) }},
		}
	case wasm.OpBrTable:
		var out []unit
		for _, n := range []int{0, 1, 4, 16, 64} {
			out = append(out, unit{name: fmt.Sprint(n + 1), op: op, emit: func(b *body, i int) {
				b.op(wasm.OpBlock)
				cond(b, i)
				b.table(make([]uint32, n+1)...).op(wasm.OpEnd)
			}})
		}
		return out
	case wasm.OpCall, wasm.OpCallIndirect:
		return callUnits(op)
	case wasm.OpDrop:
		return perType(scanTypes, func(b *body, t wasm.ValType, i int) { get(b, t, i); b.op(op) })
	case wasm.OpSelect:
		return perType(scanTypes[:5], func(b *body, t wasm.ValType, i int) {
			get(b, t, i)
			get(b, t, i+1)
			cond(b, i)
			b.op(op)
			consume(b, t)
		})
	case wasm.OpSelectT:
		return perType(scanTypes, func(b *body, t wasm.ValType, i int) {
			get(b, t, i)
			get(b, t, i+1)
			cond(b, i)
			b.in(wasm.Instr{Op: op, Types: []wasm.ValType{t}})
			consume(b, t)
		})
	case wasm.OpLocalGet, wasm.OpLocalSet:
		return perType(scanTypes, func(b *body, t wasm.ValType, i int) { get(b, t, i); set(b, t, i+1) })
	case wasm.OpLocalTee:
		return perType(scanTypes, func(b *body, t wasm.ValType, i int) {
			get(b, t, i)
			b.ix(op, variable(t, i+1)).op(wasm.OpDrop)
		})
	case wasm.OpGlobalGet:
		return perType(scanTypes, func(b *body, t wasm.ValType, i int) {
			b.ix(op, globalOf(t))
			consume(b, t)
		})
	case wasm.OpGlobalSet:
		return perType(scanTypes, func(b *body, t wasm.ValType, i int) { get(b, t, i); b.ix(op, globalOf(t)) })
	case wasm.OpRefNull:
		return perType(scanTypes[5:], func(b *body, t wasm.ValType, i int) {
			b.in(wasm.Instr{Op: op, Type: t})
			set(b, t, i)
		})
	case wasm.OpRefIsNull:
		return perType(scanTypes[5:], func(b *body, t wasm.ValType, i int) { get(b, t, i); consume(b, t) })
	case wasm.OpRefFunc:
		return one(func(b *body, i int) { b.ix(op, 1); consume(b, wasm.FuncRef) })
	}
	return tableUnits(op)
}

func globalOf(t wasm.ValType) int { return variable(t, 0) / scanVars }

func tableUnits(op wasm.Op) []unit {
	var out []unit
	for table, t := range []wasm.ValType{wasm.FuncRef, wasm.ExternRef} {
		i32 := func(b *body, k int) { get(b, wasm.I32, k) }
		emit := func(b *body, i int) {
			switch op {
			case wasm.OpTableGet:
				i32(b, i)
			case wasm.OpTableSet:
				i32(b, i)
				get(b, t, i)
			case wasm.OpTableGrow:
				get(b, t, i)
				i32(b, i)
			case wasm.OpTableFill:
				i32(b, i)
				get(b, t, i)
				i32(b, i+1)
			case wasm.OpTableInit, wasm.OpTableCopy:
				i32(b, i)
				i32(b, i+1)
				i32(b, i+2)
			}
			in := wasm.Instr{Op: op, Index: uint32(table)}
			switch op {
			case wasm.OpTableInit:
				in.Index, in.Index2 = 0, uint32(table)
			case wasm.OpTableCopy:
				in.Index2 = uint32(table)
			}
			b.in(in)
			switch op {
			case wasm.OpTableGet:
				consume(b, t)
			case wasm.OpTableGrow, wasm.OpTableSize:
				consume(b, wasm.I32)
			}
		}
		if op != wasm.OpTableInit || table == 0 {
			out = append(out, unit{name: t.String(), op: op, emit: emit})
		}
	}
	return out
}

func callUnits(op wasm.Op) []unit {
	var out []unit
	if op == wasm.OpCall {
		for _, n := range scanArities {
			ft := wasm.FuncType{Params: many(wasm.I64, n), Results: many(wasm.I64, n)}
			out = append(out,
				unit{name: fmt.Sprintf("import %d:%d", n, n), op: op, calls: &ft, imported: true, emit: func(b *body, i int) {
					for k := range n {
						get(b, wasm.I64, i+k)
					}
					b.ix(op, 0)
					for k := range n {
						set(b, wasm.I64, k)
					}
				}})
		}
	}
	for _, ft := range callTypes() {
		t := wasm.I32
		if len(ft.Params)+len(ft.Results) > 0 {
			t = append(append([]wasm.ValType{}, ft.Params...), ft.Results...)[0]
		}
		name := fmt.Sprintf("%s %d:%d", t, len(ft.Params), len(ft.Results))
		call := func(b *body, i int) {
			for k, p := range ft.Params {
				get(b, p, i+k)
			}
			if op == wasm.OpCallIndirect {
				get(b, wasm.I32, i)
				b.in(wasm.Instr{Op: op, Index: 1})
			} else {
				b.ix(op, 1)
			}
		}
		if len(ft.Results) == 0 {
			out = append(out, unit{name: name, op: op, calls: &ft, emit: call})
		} else {
			out = append(out, unit{name: name, op: op, calls: &ft, emit: func(b *body, i int) {
				call(b, i)
				for k := range ft.Results {
					set(b, ft.Results[0], k)
				}
			}})
		}
	}
	return out
}
