package meter

import "github.com/belay-hooks/belay/internal/sandbox/wasm"

// The sign and payload of a NaN that arithmetic produces are not fixed by
// WebAssembly, and wazero's engines differ in them (also from one CPU to the
// next). The pass makes every such result the canonical NaN. It leaves alone:
//
//   - abs, neg, copysign, reinterpret, loads, stores, splats, lane moves and select act on
//     bits and are the same everywhere;
//   - pmin and pmax (lane-wise) are defined as one comparison and a choice of one of the
//     two operands: the bits of an operand come out unchanged, a NaN's too;
//   - conversions from integers never give a NaN;
//   - a result that is only ever consumed by an instruction that cannot tell one NaN from
//     another, and that is itself made canonical or gives no NaN: see absorbs.

// nanShape is the kind of value whose NaN is to be made canonical.
type nanShape uint8

const (
	nanNone nanShape = iota
	nanF32
	nanF64
	nanF32x4
	nanF64x2
)

// produces is the shape of an instruction's result when its NaN bits are not fixed.
func produces(op wasm.Op) nanShape {
	switch {
	case op < wasm.OpF32Ceil:
		return nanNone
	case op <= wasm.OpF32Max, op == wasm.OpF32DemoteF64:
		return nanF32
	case op >= wasm.OpF64Ceil && op <= wasm.OpF64Max, op == wasm.OpF64PromoteF32:
		return nanF64
	case op < wasm.OpF32x4DemoteF64x2Zero:
		return nanNone
	}
	switch op {
	case wasm.OpF32x4DemoteF64x2Zero, wasm.OpF32x4Ceil, wasm.OpF32x4Floor, wasm.OpF32x4Trunc,
		wasm.OpF32x4Nearest, wasm.OpF32x4Sqrt, wasm.OpF32x4Add, wasm.OpF32x4Sub, wasm.OpF32x4Mul,
		wasm.OpF32x4Div, wasm.OpF32x4Min, wasm.OpF32x4Max:
		return nanF32x4
	case wasm.OpF64x2PromoteLowF32x4, wasm.OpF64x2Ceil, wasm.OpF64x2Floor, wasm.OpF64x2Trunc,
		wasm.OpF64x2Nearest, wasm.OpF64x2Sqrt, wasm.OpF64x2Add, wasm.OpF64x2Sub, wasm.OpF64x2Mul,
		wasm.OpF64x2Div, wasm.OpF64x2Min, wasm.OpF64x2Max:
		return nanF64x2
	}
	return nanNone
}

// absorbs is the shape of the operands whose NaN bits an instruction cannot show: it
// compares them, converts them to integers or traps, or gives a NaN that the pass makes
// canonical. The operands must be lanes of the same shape: an f64x2 instruction sees the
// payloads of f32x4 NaNs as ordinary bits.
func absorbs(op wasm.Op) nanShape {
	switch op {
	case wasm.OpF64PromoteF32,
		wasm.OpI32TruncF32S, wasm.OpI32TruncF32U, wasm.OpI64TruncF32S, wasm.OpI64TruncF32U,
		wasm.OpI32TruncSatF32S, wasm.OpI32TruncSatF32U, wasm.OpI64TruncSatF32S, wasm.OpI64TruncSatF32U:
		return nanF32
	case wasm.OpF32DemoteF64,
		wasm.OpI32TruncF64S, wasm.OpI32TruncF64U, wasm.OpI64TruncF64S, wasm.OpI64TruncF64U,
		wasm.OpI32TruncSatF64S, wasm.OpI32TruncSatF64U, wasm.OpI64TruncSatF64S, wasm.OpI64TruncSatF64U:
		return nanF64
	case wasm.OpF64x2PromoteLowF32x4, wasm.OpI32x4TruncSatF32x4S, wasm.OpI32x4TruncSatF32x4U:
		return nanF32x4
	case wasm.OpF32x4DemoteF64x2Zero, wasm.OpI32x4TruncSatF64x2SZero, wasm.OpI32x4TruncSatF64x2UZero:
		return nanF64x2
	}
	switch {
	case op >= wasm.OpF32Eq && op <= wasm.OpF32Ge:
		return nanF32
	case op >= wasm.OpF64Eq && op <= wasm.OpF64Ge:
		return nanF64
	case op >= wasm.OpF32x4Eq && op <= wasm.OpF32x4Ge:
		return nanF32x4
	case op >= wasm.OpF64x2Eq && op <= wasm.OpF64x2Ge:
		return nanF64x2
	}
	return produces(op)
}

// operand is what the analysis knows of one value on the operand stack.
type operand struct {
	event int32 // the pending canonicalisation of this value, or -1
	shape nanShape
}

// flow follows operands through straight-line code, to find the results that
// need not be made canonical. It forgets results that it cannot follow, and
// those are made canonical.
type flow struct {
	stack []operand
}

func (f *flow) reset() { f.stack = f.stack[:0] }

func (f *flow) pop() operand {
	if n := len(f.stack); n > 0 {
		o := f.stack[n-1]
		f.stack = f.stack[:n-1]
		return o
	}
	return operand{event: -1}
}

func (f *flow) push(n uint8) {
	for range n {
		f.stack = append(f.stack, operand{event: -1})
	}
}

// step moves over one instruction that is neither control nor call. events are the
// function's, for the canonicalisations that turn out to be needless.
func (f *flow) step(op wasm.Op, events []event) {
	switch op {
	case wasm.OpLocalGet, wasm.OpGlobalGet, wasm.OpRefNull, wasm.OpRefFunc, wasm.OpTableSize:
		f.push(1)
		return
	case wasm.OpLocalSet, wasm.OpGlobalSet, wasm.OpDrop:
		f.pop()
		return
	case wasm.OpLocalTee, wasm.OpTableGet, wasm.OpRefIsNull:
		f.pop()
		f.push(1)
		return
	case wasm.OpSelect, wasm.OpSelectT:
		f.pop()
		f.pop()
		f.pop()
		f.push(1)
		return
	}
	info, _ := op.Info()
	if !info.Sig.Fixed {
		f.reset()
		return
	}
	shape := absorbs(op)
	for range info.Sig.NIn {
		if o := f.pop(); o.event >= 0 && o.shape == shape {
			events[o.event].kind = evNothing
		}
	}
	if info.Sig.Out != 0 {
		f.push(1)
	}
}

// result says that the value on top of the stack is the one that an event makes canonical.
func (f *flow) result(ev int, shape nanShape) {
	if n := len(f.stack); n > 0 {
		f.stack[n-1] = operand{event: int32(ev), shape: shape}
	}
}
