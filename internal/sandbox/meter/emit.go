package meter

import (
	"encoding/binary"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// Function indices from the guest's imports on move up by the two imports that the pass
// adds behind them.
const addedImports = 2

// layout is where the pass's own things are in the metered module.
type layout struct {
	imports           uint32 // of the guest
	yield, stack      uint32 // functions
	fuel, depth, grew uint32 // globals
	maxPages          uint32
}

func (l *layout) fn(i uint32) uint32 {
	if i >= l.imports {
		return i + addedImports
	}
	return i
}

// temps are the locals that the pass adds to one function.
type temps struct {
	fuel, i32 uint32
	nan       [nanF64x2 + 1]uint32
}

// emitter writes one metered body. The bytes between events are copied as they are;
// wasm.Encode decodes and writes the result again, instruction by instruction.
type emitter struct {
	layout
	out   []byte
	body  []byte
	t     temps
	dirty bool // the fuel global is older than the local

	// careful spills whether or not it is needed. Tests compare: leaving a spill out must
	// not change what anything costs.
	careful bool

	cover *cover // nil: no marks
	next  int    // number of the next region, with cover
}

func (e *emitter) op(o wasm.Op)            { e.out = append(e.out, byte(o)) }
func (e *emitter) opU(o wasm.Op, i uint32) { e.out = wasm.AppendU32(append(e.out, byte(o)), i) }
func (e *emitter) i32(v int32) {
	e.out = wasm.AppendS64(append(e.out, byte(wasm.OpI32Const)), int64(v))
}
func (e *emitter) i64(v int64) { e.out = wasm.AppendS64(append(e.out, byte(wasm.OpI64Const)), v) }
func (e *emitter) block(o wasm.Op, b wasm.BlockType) {
	e.out = wasm.AppendS64(append(e.out, byte(o)), int64(b))
}

// spill stores the counter where calls, the host and the caller look for it.
func (e *emitter) spill() {
	if e.dirty || e.careful {
		e.opU(wasm.OpLocalGet, e.t.fuel)
		e.opU(wasm.OpGlobalSet, e.fuel)
		e.dirty = false
	}
}

// settle finishes a charge: the new counter is on the stack. With check the global is
// brought up to date too, so that the fuel that a trap leaves behind is that of the last
// check, whether or not the check had to yield.
func (e *emitter) settle(check bool) {
	if !check {
		e.opU(wasm.OpLocalSet, e.t.fuel)
		e.dirty = true
		return
	}
	e.whenSpent(func() {
		e.opU(wasm.OpLocalTee, e.t.fuel)
		e.opU(wasm.OpGlobalSet, e.fuel)
	})
}

// settleRound is settle with a check for the charge at the head of a loop without parameters. When the counter is
// spent, the way leads back to the head, which charges again; so the charge is given back first. No way joins the code
// of the round in its middle then, and wazero's register allocator leaves that code as it would be without the check:
// a join there doubled what metering costs tight loops.
func (e *emitter) settleRound(cost int64) {
	e.whenSpent(func() {
		e.i64(cost)
		e.op(wasm.OpI64Add)
		e.opU(wasm.OpLocalSet, e.t.fuel)
		e.opU(wasm.OpBr, 1) // out of the if, to the loop
	})
}

// whenSpent puts the new counter, which is on the stack, into the local and the global. When it is below zero the host
// is asked, and then finds the host's answer on the stack.
func (e *emitter) whenSpent(then func()) {
	e.opU(wasm.OpLocalTee, e.t.fuel)
	e.opU(wasm.OpGlobalSet, e.fuel)
	e.opU(wasm.OpLocalGet, e.t.fuel)
	e.i64(0)
	// The way on must be the first to join behind the check: wazero's register allocator
	// takes over the registers of that one. With the call first, code that never yields
	// would be half as fast again.
	e.op(wasm.OpI64GeS)
	e.block(wasm.OpIf, wasm.BlockEmpty)
	e.op(wasm.OpElse)
	e.opU(wasm.OpLocalGet, e.t.fuel)
	e.opU(wasm.OpCall, e.yield)
	then()
	e.op(wasm.OpEnd)
	e.dirty = false
}

// prologue pays for the call: stack first, then the first region's fuel.
func (e *emitter) prologue(units int32, leaf bool, first int64) {
	e.opU(wasm.OpGlobalGet, e.depth)
	if leaf {
		// No code below reads the counter: compare it, and leave it alone.
		e.i32(units)
		e.op(wasm.OpI32LtS)
	} else {
		e.i32(units)
		e.op(wasm.OpI32Sub)
		e.opU(wasm.OpLocalTee, e.t.i32)
		e.opU(wasm.OpGlobalSet, e.depth)
		e.opU(wasm.OpLocalGet, e.t.i32)
		e.i32(0)
		e.op(wasm.OpI32LtS)
	}
	e.block(wasm.OpIf, wasm.BlockEmpty)
	e.opU(wasm.OpCall, e.stack)
	e.op(wasm.OpUnreachable)
	e.op(wasm.OpEnd)
	e.opU(wasm.OpGlobalGet, e.fuel)
	e.i64(first)
	e.op(wasm.OpI64Sub)
	e.settle(true)
}

// function writes the body. a.events[0] is the first region; wrapped is the type of the
// block around the body, wanted only when a.wrap.
func (e *emitter) function(body []byte, a *analysis, units int32, wrapped wasm.BlockType) {
	e.body = body
	e.prologue(units, !a.calls, a.events[0].cost)
	e.enter()
	if a.wrap {
		// Every exit lands behind this block, where the one epilogue is. Labels keep
		// their numbers: the block stands for the body's own label.
		e.block(wasm.OpBlock, wrapped)
	}
	pos := int32(0)
	for i := range a.events[1:] {
		ev := &a.events[i+1]
		e.out = append(e.out, body[pos:ev.at]...)
		pos = ev.end
		e.event(ev, a.unchecked)
	}
	last := int32(len(body) - 1)
	e.out = append(e.out, body[pos:last]...)
	if a.wrap {
		e.op(wasm.OpEnd)
		e.dirty = a.unchecked
	}
	if a.wrap || !a.deadEnd {
		e.spill()
		if a.calls {
			e.opU(wasm.OpGlobalGet, e.depth)
			e.i32(units)
			e.op(wasm.OpI32Add)
			e.opU(wasm.OpGlobalSet, e.depth)
		}
	}
	e.op(wasm.OpEnd)
}

// enter marks the region that begins here.
func (e *emitter) enter() {
	if e.cover != nil {
		e.mark(e.next)
		e.next++
	}
}

func (e *emitter) event(ev *event, unchecked bool) {
	switch ev.kind {
	case evRegion:
		switch {
		case ev.cost > 0:
			e.opU(wasm.OpLocalGet, e.t.fuel)
			e.i64(ev.cost)
			e.op(wasm.OpI64Sub)
			if ev.round {
				e.settleRound(ev.cost)
			} else {
				e.settle(ev.check)
			}
		default:
			// Some way that leads here may have charged.
			e.dirty = unchecked
		}
		if !ev.empty {
			e.enter()
		}
	case evBytes:
		e.counted(func() {
			e.opU(wasm.OpLocalGet, e.t.i32)
			e.i32(costBytesShift)
			e.op(wasm.OpI32ShrU)
			e.op(wasm.OpI64ExtendI32U)
		})
	case evElems:
		e.counted(func() {
			e.capped(ev.arg)
			e.op(wasm.OpI64ExtendI32U)
		})
	case evGrow:
		e.counted(func() {
			e.capped(e.maxPages)
			e.op(wasm.OpI64ExtendI32U)
			e.i64(costPageShift)
			e.op(wasm.OpI64Shl)
		})
		e.out = append(e.out, e.body[ev.at:ev.end]...)
		e.opU(wasm.OpLocalTee, e.t.i32)
		e.opU(wasm.OpGlobalGet, e.grew)
		e.opU(wasm.OpLocalGet, e.t.i32)
		e.i32(-1)
		e.op(wasm.OpI32Eq)
		e.op(wasm.OpI32Or)
		e.opU(wasm.OpGlobalSet, e.grew)
	case evCall:
		e.spill()
		if ev.op == wasm.OpCall {
			e.opU(wasm.OpCall, e.fn(ev.arg))
		} else {
			e.out = append(e.out, e.body[ev.at:ev.end]...)
		}
		e.opU(wasm.OpGlobalGet, e.fuel)
		e.opU(wasm.OpLocalSet, e.t.fuel)
	case evIndex:
		e.opU(ev.op, e.fn(ev.arg))
	case evReturn:
		e.opU(wasm.OpBr, ev.arg)
	case evNaN:
		e.canonical(ev.shape)
	}
}

// counted charges an amount that depends on the i32 on top of the stack, which stays.
// amount leaves it as an i64, made from the scratch local.
func (e *emitter) counted(amount func()) {
	e.opU(wasm.OpLocalTee, e.t.i32)
	e.opU(wasm.OpLocalGet, e.t.fuel)
	amount()
	e.op(wasm.OpI64Sub)
	e.settle(true)
}

// capped leaves min(scratch, limit), unsigned; no bound with limit 0.
func (e *emitter) capped(limit uint32) {
	e.opU(wasm.OpLocalGet, e.t.i32)
	if limit == 0 {
		return
	}
	e.i32(int32(limit))
	e.opU(wasm.OpLocalGet, e.t.i32)
	e.i32(int32(limit))
	e.op(wasm.OpI32LtU)
	e.op(wasm.OpSelect)
}

const (
	canonicalF32   = 0x7fc0_0000
	canonicalF64   = 0x7ff8_0000_0000_0000
	canonicalF32x2 = canonicalF32<<32 | canonicalF32
)

// canonical replaces a NaN on top of the stack: a value that does not equal itself.
func (e *emitter) canonical(shape nanShape) {
	t := e.t.nan[shape]
	e.opU(wasm.OpLocalTee, t)
	eq := wasm.OpF32Eq
	choose := wasm.OpSelect
	switch shape {
	case nanF32:
		e.op(wasm.OpF32Const)
		e.out = binary.LittleEndian.AppendUint32(e.out, canonicalF32)
	case nanF64:
		e.op(wasm.OpF64Const)
		e.out = binary.LittleEndian.AppendUint64(e.out, canonicalF64)
		eq = wasm.OpF64Eq
	default:
		bits := uint64(canonicalF32x2)
		eq, choose = wasm.OpF32x4Eq, wasm.OpV128Bitselect
		if shape == nanF64x2 {
			bits, eq = canonicalF64, wasm.OpF64x2Eq
		}
		in := wasm.Instr{Op: wasm.OpV128Const, Bits: bits, BitsHi: bits}
		e.out = wasm.AppendInstr(e.out, &in)
	}
	e.opU(wasm.OpLocalGet, t)
	e.opU(wasm.OpLocalGet, t)
	for _, o := range [2]wasm.Op{eq, choose} {
		in := wasm.Instr{Op: o}
		e.out = wasm.AppendInstr(e.out, &in)
	}
}
