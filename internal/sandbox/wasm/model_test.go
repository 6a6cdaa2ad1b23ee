package wasm_test

import (
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// kitchenSink has every section, every kind of segment and every kind of immediate.
func kitchenSink() *wasm.Module {
	zero := wasm.ConstExpr{Op: wasm.OpI32Const}
	m := &wasm.Module{
		Types: []wasm.FuncType{
			{},
			{Params: []wasm.ValType{wasm.I32, wasm.V128}, Results: []wasm.ValType{wasm.I64, wasm.F32}},
		},
		Imports: []wasm.Import{{Module: "env", Name: "f", Type: 1}, {Module: "env", Name: "f", Type: 0}},
		Tables: []wasm.Table{
			{Type: wasm.FuncRef, Size: wasm.Size{Min: 3}},
			{Type: wasm.ExternRef, Size: wasm.Size{Min: 1, Max: 9, HasMax: true}},
			{Type: wasm.FuncRef, Size: wasm.Size{Min: 3}},
		},
		Memory: &wasm.Memory{Size: wasm.Size{Min: 1, Max: 2, HasMax: true}},
		Globals: []wasm.Global{
			{Type: wasm.I32, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpI32Const, Bits: uint64(1<<64 - 5)}},
			{Type: wasm.I64, Init: wasm.ConstExpr{Op: wasm.OpI64Const, Bits: 1 << 63}},
			{Type: wasm.F32, Init: wasm.ConstExpr{Op: wasm.OpF32Const, Bits: uint64(math.Float32bits(1.5))}},
			{Type: wasm.F64, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpF64Const, Bits: math.Float64bits(-2)}},
			{Type: wasm.V128, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpV128Const, Bits: 7, BitsHi: 8}},
			{Type: wasm.FuncRef, Init: wasm.ConstExpr{Op: wasm.OpRefFunc, Index: 2}},
			{Type: wasm.ExternRef, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpRefNull, Type: wasm.ExternRef}},
		},
		Exports: []wasm.Export{
			{Name: "memory", Kind: wasm.ExternMemory}, {Name: "f", Kind: wasm.ExternFunc, Index: 3},
			{Name: "t", Kind: wasm.ExternTable, Index: 2}, {Name: "", Kind: wasm.ExternGlobal, Index: 6},
		},
		HasStart: true, Start: 2,
		Elems: []wasm.Elem{
			{Type: wasm.FuncRef, Offset: zero, Init: []uint32{2, 3}},
			{Type: wasm.FuncRef, Table: 2, Offset: zero, Init: []uint32{2}},
			{Mode: wasm.SegPassive, Type: wasm.FuncRef, Init: []uint32{0}},
			{Mode: wasm.SegDeclarative, Type: wasm.FuncRef, Init: []uint32{1}},
			{Type: wasm.FuncRef, Offset: zero, Init: []uint32{wasm.RefNull, 2}},
			{Type: wasm.ExternRef, Table: 1, Offset: zero, Init: []uint32{wasm.RefNull}},
			{Mode: wasm.SegPassive, Type: wasm.ExternRef, Init: []uint32{wasm.RefNull}},
			{Mode: wasm.SegDeclarative, Type: wasm.ExternRef},
		},
		DataCount: true,
		Datas: []wasm.Data{
			{Offset: zero, Init: []byte("active")},
			{Mode: wasm.SegPassive, Init: []byte("passive")},
		},
	}
	b := &body{}
	b.block(wasm.OpBlock, wasm.BlockOf(wasm.F64)).block(wasm.OpLoop, wasm.BlockEmpty)
	b.ix(wasm.OpLocalGet, 0).op(wasm.OpIf, wasm.OpElse, wasm.OpEnd)
	b.ix(wasm.OpLocalGet, 0).ix(wasm.OpLocalGet, 0).table(0, 0).op(wasm.OpEnd)
	b.in(wasm.Instr{Op: wasm.OpF64Const, Bits: math.Float64bits(math.NaN())}).op(wasm.OpEnd, wasm.OpDrop)
	b.ix(wasm.OpLocalGet, 0).ix(wasm.OpLocalGet, 1).block(wasm.OpBlock, 1).ix(wasm.OpCall, 0).op(wasm.OpEnd, wasm.OpDrop,
		wasm.OpDrop)
	b.ix(wasm.OpLocalGet, 0).ix(wasm.OpLocalGet,
		1).i32(0).in(wasm.Instr{Op: wasm.OpCallIndirect, Index: 1, Index2: 2}).op(wasm.OpDrop, wasm.OpDrop)
	b.in(wasm.Instr{Op: wasm.OpRefNull, Type: wasm.ExternRef}).in(wasm.Instr{Op: wasm.OpRefNull,
		Type: wasm.ExternRef}).i32(1)
	b.in(wasm.Instr{Op: wasm.OpSelectT, Types: []wasm.ValType{wasm.ExternRef}}).op(wasm.OpRefIsNull, wasm.OpDrop)
	b.ix(wasm.OpRefFunc, 2).op(wasm.OpDrop)
	b.i32(0).i32(0).i32(0).ix(wasm.OpMemoryInit, 1).ix(wasm.OpDataDrop, 0)
	b.i32(0).i32(0).i32(0).op(wasm.OpMemoryCopy).i32(0).i32(0).i32(0).op(wasm.OpMemoryFill)
	b.i32(0).i32(0).i32(0).in(wasm.Instr{Op: wasm.OpTableInit, Index: 2, Index2: 2}).ix(wasm.OpElemDrop, 7)
	b.i32(0).i32(0).i32(0).in(wasm.Instr{Op: wasm.OpTableCopy, Index: 0, Index2: 2})
	b.i32(0).i32(0).ix(wasm.OpTableGet, 1).ix(wasm.OpTableSet, 1).ix(wasm.OpTableSize, 1).op(wasm.OpMemoryGrow,
		wasm.OpDrop)
	b.i32(0).ix(wasm.OpLocalGet, 1).in(wasm.Instr{Op: wasm.OpV128Load32Lane, Align: 2, Offset: 1 << 31, Lane: 3})
	b.ix(wasm.OpLocalGet, 1).in(wasm.Instr{Op: wasm.OpI8x16Shuffle, Bits: 0x1f1e1d1c1b1a1918, BitsHi: 0x0706050403020100})
	b.in(wasm.Instr{Op: wasm.OpI16x8ExtractLaneU, Lane: 7}).ix(wasm.OpGlobalSet, 0)
	b.in(wasm.Instr{Op: wasm.OpI64Const, Bits: 1 << 63}).in(wasm.Instr{Op: wasm.OpF32Const, Bits: 0x7fa00000})
	m.Funcs = []wasm.Func{
		{Type: 0, Body: (&body{}).end()},
		{Type: 1, Locals: []wasm.LocalRun{{Count: 2, Type: wasm.F64}, {Count: 0, Type: wasm.I32},
			{Count: 1, Type: wasm.FuncRef}}, Body: b.end()},
	}
	return m
}

// TestEncodeParse says that the model survives the bytes.
func TestEncodeParse(t *testing.T) {
	m := kitchenSink()
	lim := wasm.RelaxedLimits()
	b := mustEncode(t, m)
	got, err := wasm.Parse(b, lim)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, got, cmpopts.IgnoreFields(wasm.Func{}, "Facts"), cmpopts.IgnoreFields(wasm.Module{}, "Facts"),
		cmpopts.EquateEmpty()); d != "" {
		t.Errorf("model differs (-want +got):\n%s", d)
	}
	roundTrip(t, "sink", got, lim, engine(t))
	if got.Facts.MutableGlobals != 4 || got.Facts.OtherGlobals != 2 || !got.Facts.TableWrites || !got.Facts.SegmentDrops ||
		got.Facts.PassiveData != 1 || got.Facts.PassiveElems != 2 || !got.Facts.MemoryGrow || !got.Facts.SIMD {
		t.Errorf("facts %+v", got.Facts)
	}
}

// TestEncodeCanonical drops customs unless asked, and padding always.
func TestEncodeCanonical(t *testing.T) {
	padded := file(section(0, 1, 'x', 9), section(1, 0x81, 0x80, 0x00, 0x60, 0x80, 0x00, 0), section(3, 1, 0x80, 0x00),
		section(10, 1, 9, 0, 0x41, 0x80, 0x80, 0x00, 0x1a, 0x01, 0x01, 0x0b))
	m, err := wasm.Parse(padded, wasm.RelaxedLimits())
	if err != nil {
		t.Fatal(err)
	}
	got := mustEncode(t, m)
	want := file(section(1, 1, 0x60, 0, 0), section(3, 1, 0), section(10, 1, 7, 0, 0x41, 0x00, 0x1a, 0x01, 0x01, 0x0b))
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := wasm.Encode(&wasm.Module{Funcs: []wasm.Func{{Body: []byte{0xff}}}}); err == nil {
		t.Error("a body that is no body is encoded")
	}
}

// TestFacts holds the facts of one body against a count by hand.
func TestFacts(t *testing.T) {
	m := bombModule()
	m.Types = append(m.Types, wasm.FuncType{Params: []wasm.ValType{wasm.I32, wasm.V128}})
	b := &body{}
	b.op(wasm.OpLoop)              // nesting 2
	b.ix(wasm.OpLocalGet, 1)       // height 2
	b.ix(wasm.OpLocalGet, 1)       // height 4
	b.load(0)                      // height 5
	b.op(wasm.OpDrop, wasm.OpDrop) //
	b.op(wasm.OpDrop)              //
	b.ix(wasm.OpLocalGet, 0)       //
	b.op(wasm.OpIf)                // nesting 3
	b.ix(wasm.OpBr, 1)             // edge
	b.op(wasm.OpEnd)               //
	b.ix(wasm.OpLocalGet, 0)       //
	b.table(0, 1)                  // two edges
	b.op(wasm.OpEnd)               //
	b.ix(wasm.OpCall, 1)           //
	b.i32(1).op(wasm.OpMemoryGrow) //
	b.ix(wasm.OpLocalSet, 0)       //
	m.Funcs = []wasm.Func{{Type: 1, Locals: []wasm.LocalRun{{Count: 3, Type: wasm.V128}}, Body: b.end()},
		fn(0, (&body{}).end())}
	m, err := wasm.Parse(mustEncode(t, m), bombLimits())
	if err != nil {
		t.Fatal(err)
	}
	got := m.Funcs[0].Facts
	got.Joins = wasm.JoinFacts{}
	var sum struct{ nanos, bytes uint64 } // of the prices; the call has no operands
	for _, o := range []wasm.Op{
		wasm.OpLoop, wasm.OpLocalGet, wasm.OpLocalGet, wasm.OpI32Const, wasm.OpI32Load, wasm.OpDrop, wasm.OpDrop, wasm.OpDrop,
		wasm.OpLocalGet, wasm.OpIf, wasm.OpBr, wasm.OpEnd, wasm.OpLocalGet, wasm.OpBrTable, wasm.OpEnd,
		wasm.OpCall, wasm.OpI32Const, wasm.OpMemoryGrow, wasm.OpLocalSet, wasm.OpEnd,
	} {
		p, ok := o.Price()
		if !ok {
			t.Fatalf("%#x has no price", o)
		}
		sum.nanos, sum.bytes = sum.nanos+uint64(p.Nanos), sum.bytes+uint64(p.Bytes)
	}
	want := wasm.FuncFacts{
		Nanos: sum.nanos, Bytes: sum.bytes,
		Locals: 5, LocalSlots: 9, MaxHeight: 5, MaxNesting: 3, Instrs: 20, Blocks: 2, Loops: 1, Ifs: 1, Edges: 3,
		BrTable: 2, Jumps: 2, Calls: 1, LocalGets: 4, LocalSets: 1, LoopDepth: 1, MemOps: 1, Bulk: 1, MemoryGrow: 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestInstrRoundTrip draws instructions of every kind: written and read they are the same.
func TestInstrRoundTrip(t *testing.T) {
	var ops []wasm.Op
	for _, base := range []wasm.Op{0, 0xfc00, 0xfd00} {
		for i := range wasm.Op(256) {
			if _, ok := (base + i).Info(); ok {
				ops = append(ops, base+i)
			}
		}
	}
	if len(ops) != 437 {
		t.Errorf("%d instructions in the table, core 2.0 has 437", len(ops))
	}
	types := []wasm.ValType{wasm.I32, wasm.I64, wasm.F32, wasm.F64, wasm.V128, wasm.FuncRef, wasm.ExternRef}
	rapid.Check(t, func(t *rapid.T) {
		in := wasm.Instr{Op: rapid.SampledFrom(ops).Draw(t, "op")}
		inf, _ := in.Op.Info()
		u32 := func() uint32 { return rapid.Uint32().Draw(t, "u32") }
		u64 := func() uint64 { return rapid.Uint64().Draw(t, "u64") }
		switch inf.Imm {
		case wasm.ImmBlock:
			in.Block = rapid.SampledFrom([]wasm.BlockType{wasm.BlockEmpty, wasm.BlockOf(wasm.V128),
				wasm.BlockType(u32())}).Draw(t, "block")
		case wasm.ImmLabel, wasm.ImmFunc, wasm.ImmLocal, wasm.ImmGlobal, wasm.ImmTable, wasm.ImmData, wasm.ImmElem,
			wasm.ImmMemoryInit:
			in.Index = u32()
		case wasm.ImmCallIndirect, wasm.ImmTableInit, wasm.ImmTableCopy:
			in.Index, in.Index2 = u32(), u32()
		case wasm.ImmLabels:
			in.Labels = rapid.SliceOfN(rapid.Uint32(), 1, 9).Draw(t, "labels")
		case wasm.ImmMemArg:
			in.Align, in.Offset = u32()%32, u32()
		case wasm.ImmMemArgLane:
			in.Align, in.Offset, in.Lane = u32()%32, u32(), uint8(u32())
		case wasm.ImmLane:
			in.Lane = uint8(u32())
		case wasm.ImmI32:
			in.Bits = uint64(int64(int32(u32())))
		case wasm.ImmF32:
			in.Bits = uint64(u32())
		case wasm.ImmI64, wasm.ImmF64:
			in.Bits = u64()
		case wasm.ImmV128, wasm.ImmShuffle:
			in.Bits, in.BitsHi = u64(), u64()
		case wasm.ImmTypes:
			in.Types = rapid.SliceOfN(rapid.SampledFrom(types), 0, 3).Draw(t, "types")
		case wasm.ImmRefType:
			in.Type = rapid.SampledFrom(types[5:]).Draw(t, "ref")
		}
		b := wasm.AppendInstr(nil, &in)
		r := wasm.NewReader(b)
		var got wasm.Instr
		if err := r.Next(&got); err != nil {
			t.Fatalf("%v %x: %v", in.Op, b, err)
		}
		in.End = len(b)
		if d := cmp.Diff(in, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%v %x:\n%s", in.Op, b, d)
		}
		if err := r.Next(&got); err != io.EOF {
			t.Fatalf("after the end: %v", err)
		}
		for i := range b { // no proper prefix is an instruction
			r := wasm.NewReader(b[:i])
			if err := r.Next(&got); err == nil {
				t.Fatalf("%v: %x accepted", in.Op, b[:i])
			}
		}
	})
}
