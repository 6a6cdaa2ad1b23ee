package wasm_test

import "github.com/belay-hooks/belay/internal/sandbox/wasm"

// bombs are modules that are small for what they cost the engine. The first rows are
// those whose price started the estimate; the others look for more of the kind.
var bombs = append([]bomb{
	{"nest 256 x n", 168, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(int) {
			b.rep(256, func(int) { b.op(wasm.OpBlock) }).rep(256, func(int) { b.op(wasm.OpEnd) })
		})
		return one(0, b.end())
	}},
	{"nest n with locals", 4000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(i int) { b.bump(i%100).op(wasm.OpBlock).load(0).ix(wasm.OpBrIf, 0) })
		return one(100, b.rep(n, func(int) { b.op(wasm.OpEnd) }).end())
	}},
	{"loop, 100 locals, n br_if", 12000, func(n int) *wasm.Module { return loopBrIf(100, n) }},
	{"loop, 1000 locals, n br_if", 12000, func(n int) *wasm.Module { return loopBrIf(1000, n) }},
	{"n locals, 1000 br_if", 4000, func(n int) *wasm.Module { return blockBrIf(n, 1000) }},
	{"20 locals, n br_if", 12000, func(n int) *wasm.Module { return blockBrIf(20, n) }},
	{"loop, 100 locals read, n br_if", 12000, func(n int) *wasm.Module {
		b := (&body{}).op(wasm.OpLoop)
		b.rep(n, func(i int) { b.ix(wasm.OpLocalGet, i%100).ix(wasm.OpBrIf, 0) })
		return one(100, b.op(wasm.OpEnd).end())
	}},
	{"n br_if on one local", 30000, func(n int) *wasm.Module {
		b := (&body{}).load(0).ix(wasm.OpLocalSet, 0)
		b.rep(n, func(i int) { b.ix(wasm.OpLocalGet, 0).ix(wasm.OpBrIf, 0) })
		return one(1, b.end())
	}},
	{"a loop that rotates n locals", 4096, func(n int) *wasm.Module {
		b := &body{}
		b.load(0).ix(wasm.OpLocalSet, 0)
		b.rep(n-1, func(i int) { b.ix(wasm.OpLocalGet, 0).ix(wasm.OpLocalSet, i+1) })
		b.op(wasm.OpLoop)
		b.rep(n-1, func(i int) { b.ix(wasm.OpLocalGet, i+1).ix(wasm.OpLocalSet, i) })
		b.load(0).ix(wasm.OpBrIf, 0).op(wasm.OpEnd)
		b.rep(n, func(i int) { b.i32(0).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store) })
		return one(n, b.end())
	}},
	{"n nested loops around 100 constant locals", 3900, func(n int) *wasm.Module {
		b := &body{}
		b.rep(100, func(i int) { b.load(0).ix(wasm.OpLocalSet, i) })
		b.rep(n, func(i int) { b.op(wasm.OpLoop) })
		b.rep(100, func(i int) { b.i32(0).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store) })
		b.rep(n, func(i int) { b.load(0).ix(wasm.OpBrIf, 0).op(wasm.OpEnd) })
		return one(100, b.end())
	}},
	{"n loops, 1000 locals", 10000, func(n int) *wasm.Module { return loops(n, 1000) }},
	{"n loops, 10 locals", 10000, func(n int) *wasm.Module { return loops(n, 10) }},
	{"n nested loops, 100 locals", 3900, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(i int) { b.op(wasm.OpLoop).bump(i % 100) })
		b.rep(n, func(i int) { b.load(0).ix(wasm.OpBrIf, 0).op(wasm.OpEnd) })
		return one(100, b.end())
	}},
	{"n nested loops, one local", 3900, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(i int) { b.op(wasm.OpLoop) }).bump(0)
		b.rep(n, func(i int) { b.load(0).ix(wasm.OpBrIf, 0).op(wasm.OpEnd) })
		return one(1, b.end())
	}},
	{"br_table 4096 to a loop, n locals", 4000, func(n int) *wasm.Module {
		b := (&body{}).op(wasm.OpLoop)
		b.rep(n, func(i int) { b.bump(i) })
		return one(n, b.load(0).table(make([]uint32, 4096)...).op(wasm.OpEnd).end())
	}},
	{"br_table n to a block, 1000 locals", 4096, func(n int) *wasm.Module {
		b := (&body{}).op(wasm.OpBlock)
		b.rep(1000, func(i int) { b.bump(i) })
		b.load(0).table(make([]uint32, n)...).op(wasm.OpEnd)
		b.rep(1000, func(i int) { b.i32(i*4).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store) })
		return one(1000, b.end())
	}},
	{"br_table to n labels", 3900, func(n int) *wasm.Module {
		b := &body{}
		labels := make([]uint32, n)
		for i := range labels {
			labels[i] = uint32(i)
		}
		b.rep(n, func(i int) { b.op(wasm.OpBlock) }).load(0).table(labels...)
		b.rep(n, func(i int) { b.op(wasm.OpEnd).bump(i % 50) })
		return one(50, b.end())
	}},
	{"n br_tables of 10", 12000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(i int) { b.op(wasm.OpBlock).load(0).table(make([]uint32, 10)...).op(wasm.OpEnd) })
		return one(0, b.end())
	}},
	{"32 br_tables of n", 4096, func(n int) *wasm.Module {
		m := bombModule()
		for range 32 {
			m.Funcs = append(m.Funcs, fn(0, (&body{}).load(0).table(make([]uint32, n)...).end()))
		}
		return m
	}},
	{"block with 16 results, n br_if", 20000, func(n int) *wasm.Module {
		b := (&body{}).block(wasm.OpBlock, 1)
		b.rep(16, func(i int) { b.load(i * 4) })
		b.rep(n, func(int) { b.load(0).ix(wasm.OpBrIf, 0) })
		b.op(wasm.OpEnd).rep(16, func(int) { b.op(wasm.OpDrop) })
		m := one(0, b.end())
		m.Types = append(m.Types, wasm.FuncType{Results: many(wasm.I32, 16)})
		return m
	}},
	{"n loops with 128 parameters", 8000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(int) {
			b.rep(128, func(int) { b.ix(wasm.OpLocalGet, 0) })
			b.block(wasm.OpLoop, 1).load(0).ix(wasm.OpBrIf, 0).rep(128, func(int) { b.op(wasm.OpDrop) }).op(wasm.OpEnd)
		})
		m := one(1, b.end())
		m.Types = append(m.Types, wasm.FuncType{Params: many(wasm.I32, 128)})
		return m
	}},
	{"n nested loops with 128 parameters", 4000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(128, func(i int) { b.load(i * 4) })
		b.rep(n, func(int) { b.block(wasm.OpLoop, 1).load(0).ix(wasm.OpBrIf, 0) })
		b.op(wasm.OpUnreachable).rep(n, func(int) { b.op(wasm.OpEnd) })
		m := one(0, b.end())
		m.Types = append(m.Types, wasm.FuncType{Params: many(wasm.I32, 128)})
		return m
	}},
	{"n empty functions", 30000, func(n int) *wasm.Module {
		m := bombModule()
		for range n {
			m.Funcs = append(m.Funcs, fn(0, (&body{}).end()))
		}
		return m
	}},
	{"n functions of 4096 locals", 30000, func(n int) *wasm.Module {
		m := bombModule()
		for range n {
			m.Funcs = append(m.Funcs, fn(4096, (&body{}).end()))
		}
		return m
	}},
	{"n functions, 4096 locals, an if", 30000, func(n int) *wasm.Module {
		m := bombModule()
		for range n {
			m.Funcs = append(m.Funcs, fn(4096, (&body{}).load(0).op(wasm.OpIf).bump(0).op(wasm.OpEnd).end()))
		}
		return m
	}},
	{"n functions of 128 parameters", 30000, func(n int) *wasm.Module {
		m := bombModule()
		m.Types = append(m.Types, wasm.FuncType{Params: many(wasm.I64, 128), Results: many(wasm.I64, 16)})
		for range n {
			f := fn(0, (&body{}).op(wasm.OpUnreachable).end())
			f.Type = 1
			m.Funcs = append(m.Funcs, f)
		}
		return m
	}},
	{"n types", 4095, func(n int) *wasm.Module {
		m := one(0, (&body{}).end())
		for i := range n {
			m.Types = append(m.Types, wasm.FuncType{Params: many(wasm.I32, i%113), Results: many(wasm.F64, i%15+1)})
		}
		return m
	}},
	{"loads, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 0, func(b *body) { b.load(64).op(wasm.OpDrop) })
	}},
	{"loads kept, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 2, func(b *body) { b.load(64).ix(wasm.OpLocalSet, 0) })
	}},
	{"stores, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 1, func(b *body) {
			b.i32(0).ix(wasm.OpLocalGet, 0).in(wasm.Instr{Op: wasm.OpI32Store})
		})
	}},
	{"adds to one local, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 1, func(b *body) { b.bump(0) })
	}},
	{"divisions, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 2, func(b *body) {
			b.ix(wasm.OpLocalGet, 0).ix(wasm.OpLocalGet, 1).op(wasm.OpI32DivS).ix(wasm.OpLocalSet, 0)
		})
	}},
	{"conversions, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 1, func(b *body) {
			b.ix(wasm.OpLocalGet, 0).op(wasm.OpF64ConvertI32S, wasm.OpI32TruncF64S).ix(wasm.OpLocalSet, 0)
		})
	}},
	{"saturating conversions, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 1, func(b *body) {
			b.ix(wasm.OpLocalGet, 0).op(wasm.OpF32ConvertI32U, wasm.OpI32TruncSatF32U).ix(wasm.OpLocalSet, 0)
		})
	}},
	{"float min and max, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 1, func(b *body) {
			b.load(0).op(wasm.OpF32ConvertI32S).load(4).op(wasm.OpF32ConvertI32S, wasm.OpF32Min,
				wasm.OpI32TruncSatF32S).ix(wasm.OpLocalSet, 0)
		})
	}},
	{"float adds, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) {
			b.i32(0).ix(wasm.OpLocalGet, 0).ix(wasm.OpLocalGet, 1)
			b.rep(100, func(int) { b.ix(wasm.OpLocalGet, 0).op(wasm.OpF64Add) })
			b.op(wasm.OpF64Mul).ix(wasm.OpLocalTee, 0).op(wasm.OpF64Store)
		})
		for i := range m.Funcs {
			m.Funcs[i].Locals = []wasm.LocalRun{{Count: 2, Type: wasm.F64}}
		}
		return m
	}},
	{"float ceil, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) {
			b.i32(0).ix(wasm.OpLocalGet, 0)
			b.rep(100, func(int) { b.op(wasm.OpF32Ceil, wasm.OpF32Sqrt) })
			b.ix(wasm.OpLocalTee, 0).op(wasm.OpF32Store)
		})
		for i := range m.Funcs {
			m.Funcs[i].Locals = []wasm.LocalRun{{Count: 2, Type: wasm.F32}}
		}
		return m
	}},
	{"lane-wise float ceil, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) {
			b.i32(0).ix(wasm.OpLocalGet, 0)
			b.rep(100, func(int) { b.op(wasm.OpF32x4Ceil, wasm.OpF64x2Sqrt) })
			b.ix(wasm.OpLocalTee, 0).op(wasm.OpV128Store)
		})
		for i := range m.Funcs {
			m.Funcs[i].Locals = []wasm.LocalRun{{Count: 2, Type: wasm.V128}}
		}
		return m
	}},
	{"lanes, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) {
			b.i32(0).ix(wasm.OpLocalGet, 0)
			b.rep(50, func(i int) {
				b.ix(wasm.OpLocalGet, 0).in(wasm.Instr{Op: wasm.OpI8x16ExtractLaneS, Lane: uint8(i % 16)})
				b.in(wasm.Instr{Op: wasm.OpI8x16ReplaceLane, Lane: uint8(i % 15)}).op(wasm.OpI8x16Popcnt, wasm.OpI8x16Abs)
			})
			b.ix(wasm.OpLocalTee, 0).op(wasm.OpV128Store)
		})
		for i := range m.Funcs {
			m.Funcs[i].Locals = []wasm.LocalRun{{Count: 2, Type: wasm.V128}}
		}
		return m
	}},
	{"i32 unary, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 1, func(b *body) {
			b.ix(wasm.OpLocalGet, 0)
			b.rep(100, func(int) { b.op(wasm.OpI32Clz, wasm.OpI32Popcnt, wasm.OpI32Ctz, wasm.OpI32Eqz) })
			b.ix(wasm.OpLocalSet, 0)
		})
	}},
	{"calls, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 0, func(b *body) { b.ix(wasm.OpCall, 0) })
	}},
	{"calls with 50 live values, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 50, func(b *body) {
			b.rep(50, func(i int) { b.load(i*4).ix(wasm.OpLocalSet, i) })
			b.rep(300, func(i int) { b.ix(wasm.OpCall, 0) })
			b.rep(50, func(i int) { b.i32(0).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store) })
		})
	}},
	{"calls with 128 arguments, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 1, func(b *body) {
			b.rep(128, func(int) { b.ix(wasm.OpLocalGet, 0) })
			b.ix(wasm.OpCall, 0).rep(16, func(int) { b.op(wasm.OpDrop) })
		})
		m.Types = append(m.Types, wasm.FuncType{Params: many(wasm.I32, 128), Results: many(wasm.I32, 16)})
		m.Funcs[0] = wasm.Func{Type: 1, Body: (&body{}).op(wasm.OpUnreachable).end()}
		return m
	}},
	{"indirect calls, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) { b.i32(0).op(wasm.OpCallIndirect) })
		m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 1}}}
		return m
	}},
	{"memory.fill, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 0, func(b *body) { b.i32(0).i32(0).i32(0).op(wasm.OpMemoryFill) })
	}},
	{"memory.init, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) { b.i32(0).i32(0).i32(0).op(wasm.OpMemoryInit).op(wasm.OpDataDrop) })
		m.DataCount, m.Datas = true, []wasm.Data{{Mode: wasm.SegPassive}}
		return m
	}},
	{"table.fill, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) {
			b.i32(0).in(wasm.Instr{Op: wasm.OpRefNull, Type: wasm.FuncRef}).i32(0).op(wasm.OpTableFill)
			b.in(wasm.Instr{Op: wasm.OpRefNull, Type: wasm.FuncRef}).i32(0).op(wasm.OpTableGrow, wasm.OpDrop)
			b.i32(0).op(wasm.OpTableGet, wasm.OpDrop)
		})
		m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 1}}}
		return m
	}},
	{"v128 in many locals, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) {
			b.rep(60, func(i int) { b.i32(0).op(wasm.OpV128Load).ix(wasm.OpLocalSet, i) })
			b.rep(60, func(i int) {
				b.i32(0).ix(wasm.OpLocalGet, i).ix(wasm.OpLocalGet, 59-i).op(wasm.OpF32x4Min, wasm.OpF64x2Nearest, wasm.OpV128Store)
			})
		})
		for i := range m.Funcs {
			m.Funcs[i].Locals = []wasm.LocalRun{{Count: 60, Type: wasm.V128}}
		}
		return m
	}},
	{"bulk memory, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 0, func(b *body) { b.i32(0).i32(0).i32(0).op(wasm.OpMemoryCopy) })
	}},
	{"memory.grow, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 0, func(b *body) { b.i32(0).op(wasm.OpMemoryGrow, wasm.OpDrop) })
	}},
	{"bulk tables, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) { b.i32(0).i32(0).i32(0).op(wasm.OpTableCopy) })
		m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 1}}}
		return m
	}},
	{"v128 shuffles, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 0, func(b *body) {
			b.i32(0).in(wasm.Instr{Op: wasm.OpV128Const, Bits: 1}).in(wasm.Instr{Op: wasm.OpV128Const, Bits: 1})
			b.in(wasm.Instr{Op: wasm.OpI8x16Shuffle}).op(wasm.OpV128Store)
		})
	}},
	{"v128 arithmetic, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 0, func(b *body) {
			b.i32(0).i32(0).op(wasm.OpV128Load)
			for _, op := range []wasm.Op{wasm.OpI8x16Popcnt, wasm.OpI32x4TruncSatF32x4U, wasm.OpF32x4ConvertI32x4U,
				wasm.OpI8x16Abs, wasm.OpI64x2Abs} {
				b.op(op)
			}
			b.i32(3).op(wasm.OpI8x16ShrS).i32(3).op(wasm.OpI64x2ShrS, wasm.OpI64x2AllTrue, wasm.OpI32Store)
		})
	}},
	{"n operands alive", 20000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(i int) { b.load(i * 4) }).rep(n-1, func(int) { b.op(wasm.OpI32Add) })
		return one(1, b.ix(wasm.OpLocalSet, 0).end())
	}},
	{"n operands alive across calls", 20000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(i int) { b.ix(wasm.OpCall, 1) }).rep(n-1, func(int) { b.op(wasm.OpI32Add) })
		m := one(1, b.ix(wasm.OpLocalSet, 0).end())
		m.Types = append(m.Types, wasm.FuncType{Results: []wasm.ValType{wasm.I32}})
		m.Funcs = append(m.Funcs, wasm.Func{Type: 1, Body: (&body{}).load(0).end()})
		return m
	}},
	{"n operands alive across ifs", 10000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(i int) { b.load(i*4).load(0).op(wasm.OpIf).i32(0).i32(0).op(wasm.OpI32Store, wasm.OpEnd) })
		b.rep(n-1, func(int) { b.op(wasm.OpI32Add) })
		return one(1, b.ix(wasm.OpLocalSet, 0).end())
	}},
	{"n ifs, 10 locals", 12000, func(n int) *wasm.Module { return ifs(n, 10) }},
	{"n ifs, 1000 locals", 6000, func(n int) *wasm.Module { return ifs(n, 1000) }},
	{"n ifs, 4096 locals", 6000, func(n int) *wasm.Module { return ifs(n, 4096) }},
	{"500 ifs, n locals alive", 4096, func(n int) *wasm.Module { return aliveAcrossIfs(n, 500) }},
	{"n ifs, 500 locals alive", 10000, func(n int) *wasm.Module { return aliveAcrossIfs(500, n) }},
	{"n nested ifs, 100 locals", 4000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(i int) { b.bump(i % 100).load(0).op(wasm.OpIf) })
		b.rep(n, func(i int) { b.op(wasm.OpElse).bump((i * 7) % 100).op(wasm.OpEnd) })
		return one(100, b.end())
	}},
	{"n br_if to all labels", 12000, func(n int) *wasm.Module {
		b := &body{}
		const depth = 200
		b.rep(depth, func(int) { b.op(wasm.OpBlock) })
		b.rep(n, func(i int) { b.bump(i%20).load(0).ix(wasm.OpBrIf, i%depth) })
		b.rep(depth, func(int) { b.op(wasm.OpEnd) })
		b.rep(20, func(i int) { b.i32(0).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store) })
		return one(20, b.end())
	}},
	{"loop nest of 30 with n br_if to all heads", 12000, func(n int) *wasm.Module {
		b := &body{}
		const depth = 30
		b.rep(depth, func(int) { b.op(wasm.OpLoop) })
		b.rep(n, func(i int) { b.bump(i%20).load(0).ix(wasm.OpBrIf, i%depth) })
		b.rep(depth, func(int) { b.op(wasm.OpEnd) })
		return one(20, b.end())
	}},
	{"n returns", 30000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(n, func(i int) { b.load(0).op(wasm.OpIf, wasm.OpReturn, wasm.OpEnd) })
		return one(0, b.end())
	}},
	{"n br_if to the end, 16 results", 8000, func(n int) *wasm.Module {
		b := &body{}
		b.rep(16, func(i int) { b.load(i * 4) })
		b.rep(n, func(int) { b.load(0).ix(wasm.OpBrIf, 0) })
		m := one(0, b.end())
		m.Types = append(m.Types, wasm.FuncType{Results: many(wasm.I32, 16)})
		m.Funcs[0].Type = 1
		return m
	}},
	{"selects, n bytes", 8 << 20, func(n int) *wasm.Module {
		return inBodies(n, 2, func(b *body) {
			b.ix(wasm.OpLocalGet, 0).ix(wasm.OpLocalGet, 1).load(0).op(wasm.OpSelect).ix(wasm.OpLocalSet, 0)
		})
	}},
	{"dead code, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) { b.op(wasm.OpI32Add, wasm.OpDrop) })
		for i := range m.Funcs[1:] {
			m.Funcs[i+1].Body = append([]byte{0}, m.Funcs[i+1].Body...)
		}
		return m
	}},
	{"dead blocks, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) { b.op(wasm.OpBlock, wasm.OpEnd) })
		for i := range m.Funcs[1:] {
			m.Funcs[i+1].Body = append([]byte{0}, m.Funcs[i+1].Body...)
		}
		return m
	}},
	{"globals, n bytes", 8 << 20, func(n int) *wasm.Module {
		m := inBodies(n, 0, func(b *body) { b.ix(wasm.OpGlobalGet, 0).ix(wasm.OpGlobalSet, 0) })
		m.Globals = []wasm.Global{{Type: wasm.I32, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpI32Const}}}
		return m
	}},
	{"n globals", 4096, func(n int) *wasm.Module {
		m := one(0, (&body{}).end())
		for range n {
			m.Globals = append(m.Globals,
				wasm.Global{Type: wasm.V128, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpV128Const}})
		}
		return m
	}},
	{"n data segments", 100000, func(n int) *wasm.Module {
		m := one(0, (&body{}).end())
		for i := range n {
			m.Datas = append(m.Datas, wasm.Data{Offset: wasm.ConstExpr{Op: wasm.OpI32Const, Bits: uint64(i % 65536)}})
		}
		return m
	}},
	{"n elements", 65536, func(n int) *wasm.Module {
		m := one(0, (&body{}).end())
		m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 65536}}}
		m.Elems = []wasm.Elem{{Type: wasm.FuncRef, Offset: wasm.ConstExpr{Op: wasm.OpI32Const}, Init: make([]uint32, n)}}
		return m
	}},
}, dense...)

func loopBrIf(locals, n int) *wasm.Module {
	b := (&body{}).op(wasm.OpLoop)
	b.rep(n, func(i int) { b.bump(i%locals).load(0).ix(wasm.OpBrIf, 0) })
	return one(locals, b.op(wasm.OpEnd).end())
}

func blockBrIf(locals, n int) *wasm.Module {
	b := (&body{}).op(wasm.OpBlock)
	b.rep(max(n, locals), func(i int) {
		b.bump(i % locals)
		if i < n {
			b.load(0).ix(wasm.OpBrIf, 0)
		}
	})
	b.op(wasm.OpEnd)
	b.rep(locals, func(i int) { b.i32(0).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store) })
	return one(locals, b.end())
}

func loops(n, locals int) *wasm.Module {
	b := &body{}
	b.rep(n, func(i int) { b.op(wasm.OpLoop).bump(i%locals).load(0).ix(wasm.OpBrIf, 0).op(wasm.OpEnd) })
	return one(locals, b.end())
}

func ifs(n, locals int) *wasm.Module {
	b := &body{}
	b.rep(n, func(i int) {
		b.load(0).op(wasm.OpIf).bump(i % locals).op(wasm.OpElse).bump((i * 7) % locals).op(wasm.OpEnd)
	})
	b.rep(min(locals, 1000), func(i int) { b.i32(0).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store) })
	return one(locals, b.end())
}

// aliveAcrossIfs keeps all locals alive from the start to the end of the function.
func aliveAcrossIfs(locals, n int) *wasm.Module {
	b := &body{}
	b.rep(locals, func(i int) { b.load(i*4).ix(wasm.OpLocalSet, i) })
	b.rep(n, func(int) { b.load(0).op(wasm.OpIf).i32(0).i32(0).op(wasm.OpI32Store, wasm.OpEnd) })
	b.rep(locals, func(i int) { b.i32(0).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store) })
	return one(locals, b.end())
}

// inBodies fills functions of at most 120,000 bytes with repetitions of f, n bytes in
// all. Function 0 is empty.
func inBodies(n, locals int, f func(*body)) *wasm.Module {
	m := bombModule()
	m.Funcs = []wasm.Func{fn(0, (&body{}).end())}
	one := &body{}
	f(one)
	const most = 120_000
	for n > 0 {
		b := make([]byte, 0, most+len(one.b))
		for len(b) < min(n, most) {
			b = append(b, one.b...)
		}
		n -= len(b)
		sink := &body{b: b}
		for i := range locals {
			sink.i32(0).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store)
		}
		b = sink.b
		m.Funcs = append(m.Funcs, fn(locals, append(b, byte(wasm.OpEnd))))
	}
	return m
}
