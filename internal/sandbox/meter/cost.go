package meter

import "github.com/belay-hooks/belay/internal/sandbox/wasm"

// CostTable is the version of the cost table below, and of what hostcalls charge. Fuel is
// part of what a recorded run repeats, so a change of any figure, or of where charges are
// made, is a new version. Version 1 had 1 for ref.func, 8 for memory.fill and nothing for
// locals that ways set differently, and let analyses work for less than they took.
//
// One unit is about one simple machine instruction. TestPricesAreInProportion measures
// what each takes.
//
//	per call of a function        2 + one per 8 locals (parameters not counted)
//	per round of a loop           1 + one per local that it sets, beyond 8
//	end of a block or an if       one per local that it sets, beyond 8
//	block, else, end, nop         0 (loop and if themselves: 0 and 1)
//	unreachable, constants, drop, select, local.*, global.*, br, br_if, return,
//	  integer arithmetic and comparison, conversions of integers, loads and stores,
//	  memory.size, table.size, ref.null, ref.is_null  1
//	ref.func                      100: a call into the host
//	float arithmetic, comparison, conversion        2
//	float ceil, floor, trunc, nearest, min, max     4
//	integer div and rem, float div and sqrt         6
//	br_table                      3
//	table.get, table.set          2
//	call                          6
//	call_indirect                 8
//	vector instructions           2, arithmetic on or to float lanes 4, div or sqrt of them 8
//	data.drop, elem.drop          4
//	memory.copy, .init            8 + one per 16 bytes
//	memory.fill                   16 + one per 16 bytes
//	table.copy, .fill, .init      8 + one per element
//	table.grow                    64 + one per element, at most the table's maximum
//	memory.grow                   64 + 4,096 per page, at most the memory's maximum
//
// A construct sets as many locals as there are local.set and local.tee between its
// beginning and its end, those that cannot be reached included, but at most as many as
// the function has, parameters included.
//
// Static costs are charged when a region is entered: a stretch of code that starts at the
// function's start, a loop's start or end, a branch of an if, the end of a block that
// something branches to, or behind a br_if. A region of at most 12 units is paid for
// where its level starts, at the head of the innermost loop around it or of the function,
// whether or not it is then reached; in the order of the code, and up to 64 units for
// each head. What depends on an operand is charged just before the instruction. Code
// behind an unconditional branch costs nothing. Host functions charge for themselves.
const CostTable = 2

const (
	costEntry       = 2
	costLocalsShift = 3
	costLoopRound   = 1
	costRefFunc     = 100
	costJoinFree    = 8  // locals that are moved for nothing where ways meet
	costBytesShift  = 4  // memory.copy, fill, init
	costPageShift   = 12 // memory.grow
	costMergeRegion = 12
	costMergeHead   = 64
)

// cost is the static cost of one instruction.
func cost(op wasm.Op) int64 {
	switch op {
	case wasm.OpBlock, wasm.OpLoop, wasm.OpElse, wasm.OpEnd, wasm.OpNop:
		return 0
	case wasm.OpBrTable:
		return 3
	case wasm.OpRefFunc:
		return costRefFunc
	case wasm.OpCall:
		return 6
	case wasm.OpCallIndirect:
		return 8
	case wasm.OpTableGet, wasm.OpTableSet:
		return 2
	case wasm.OpMemoryGrow, wasm.OpTableGrow:
		return 64
	case wasm.OpMemoryFill:
		return 16
	case wasm.OpMemoryCopy, wasm.OpMemoryInit,
		wasm.OpTableCopy, wasm.OpTableFill, wasm.OpTableInit:
		return 8
	case wasm.OpDataDrop, wasm.OpElemDrop:
		return 4
	case wasm.OpI32DivS, wasm.OpI32DivU, wasm.OpI32RemS, wasm.OpI32RemU,
		wasm.OpI64DivS, wasm.OpI64DivU, wasm.OpI64RemS, wasm.OpI64RemU,
		wasm.OpF32Div, wasm.OpF64Div, wasm.OpF32Sqrt, wasm.OpF64Sqrt:
		return 6
	case wasm.OpF32Ceil, wasm.OpF32Floor, wasm.OpF32Trunc, wasm.OpF32Nearest, wasm.OpF32Min, wasm.OpF32Max,
		wasm.OpF64Ceil, wasm.OpF64Floor, wasm.OpF64Trunc, wasm.OpF64Nearest, wasm.OpF64Min, wasm.OpF64Max:
		return 4
	}
	switch {
	case op >= wasm.OpF32Eq && op <= wasm.OpF64Ge,
		op >= wasm.OpF32Abs && op <= wasm.OpF64Copysign,
		op >= wasm.OpI32TruncF32S && op <= wasm.OpI32TruncF64U,
		op >= wasm.OpI64TruncF32S && op <= wasm.OpF64PromoteF32,
		op >= wasm.OpI32TruncSatF32S && op <= wasm.OpI64TruncSatF64U:
		return 2
	case op>>8 == 0xfd:
		return simdCost(op)
	}
	return 1
}

func simdCost(op wasm.Op) int64 {
	switch op {
	case wasm.OpF32x4Div, wasm.OpF32x4Sqrt, wasm.OpF64x2Div, wasm.OpF64x2Sqrt:
		return 8
	case wasm.OpF32x4DemoteF64x2Zero, wasm.OpF64x2PromoteLowF32x4,
		wasm.OpF32x4Ceil, wasm.OpF32x4Floor, wasm.OpF32x4Trunc, wasm.OpF32x4Nearest,
		wasm.OpF64x2Ceil, wasm.OpF64x2Floor, wasm.OpF64x2Trunc, wasm.OpF64x2Nearest:
		return 4
	}
	// Splats and lane moves are not among these: they move bits, whatever the name says.
	if op >= wasm.OpF32x4Eq && op <= wasm.OpF64x2Ge || op >= wasm.OpF32x4Abs {
		return 4
	}
	return 2
}
