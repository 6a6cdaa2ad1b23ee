// Package wasmtest lists, for tests, every instruction and type that the parser knows, and
// operands with which they are valid. What a compilation costs and what a unit of fuel buys
// are measured over the same list.
package wasmtest

import "github.com/belay-hooks/belay/internal/sandbox/wasm"

// Types returns all types of values; the first five are numbers.
func Types() []wasm.ValType {
	return []wasm.ValType{wasm.I32, wasm.I64, wasm.F32, wasm.F64, wasm.V128, wasm.FuncRef, wasm.ExternRef}
}

// Ops returns all instructions that the parser knows, in order.
func Ops() []wasm.Op {
	var out []wasm.Op
	for o := range wasm.Op(0xfe00) {
		if _, ok := o.Info(); ok {
			out = append(out, o)
		}
	}
	return out
}

// Zero returns the constant expression of 0 or of no reference.
func Zero(t wasm.ValType) wasm.ConstExpr {
	switch t {
	case wasm.I32:
		return wasm.ConstExpr{Op: wasm.OpI32Const}
	case wasm.I64:
		return wasm.ConstExpr{Op: wasm.OpI64Const}
	case wasm.F32:
		return wasm.ConstExpr{Op: wasm.OpF32Const}
	case wasm.F64:
		return wasm.ConstExpr{Op: wasm.OpF64Const}
	case wasm.V128:
		return wasm.ConstExpr{Op: wasm.OpV128Const}
	}
	return wasm.ConstExpr{Op: wasm.OpRefNull, Type: t}
}

// Instr returns the instruction with immediates that are valid where a memory is; repetitions
// i of it differ where they can. Offsets are 8 bytes apart.
func Instr(op wasm.Op, i int) wasm.Instr {
	info, _ := op.Info()
	in := wasm.Instr{Op: op, Bits: uint64(i)*0x9e3779b97f4a7c15 | 1, BitsHi: uint64(i)}
	switch info.Imm {
	case wasm.ImmI32:
		in.Bits = uint64(int32(in.Bits))
	case wasm.ImmF32:
		in.Bits &= 0x3fff_ffff
	case wasm.ImmMemArg, wasm.ImmMemArgLane:
		in.Bits, in.Offset = 0, uint32(i*8)
	case wasm.ImmShuffle:
		in.Bits, in.BitsHi = 0x1f00_1101_1202_1303, 0x1404_1505_1606_1707
	case wasm.ImmLane:
		in.Lane = uint8(i) % info.Arg
	}
	return in
}
