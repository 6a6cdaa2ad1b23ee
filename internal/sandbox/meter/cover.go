package meter

import (
	"strconv"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// Region is a stretch of code that runs as a whole: what one static charge pays for,
// before small ones are merged. What holds nothing but the ends of blocks is none. Code behind an
// unconditional branch counts to the region in front of it.
type Region struct {
	Func  uint32 // in the guest's index space
	Start int    // offset into the function's instructions, behind the declarations of its locals
	End   int    // where the next region or the body ends
}

// ExportCover is the prefix of the i64 globals that coverage adds: bit n of global i is
// set when region 64*i+n has been entered.
const ExportCover = "__belay_c"

// cover numbers regions while bodies are written, and marks them. One bit in a global
// for each: the guest can reach neither, nothing is charged for them, and no call of the
// host is needed, so that results and fuel are those of the module without them.
type cover struct {
	regions []Region
	global  uint32 // the first one
}

// begin takes the regions of the next function.
func (c *cover) begin(fn uint32, a *analysis, size int) {
	first := len(c.regions)
	for i := range a.events {
		if e := &a.events[i]; e.kind == evRegion && !e.empty {
			c.regions = append(c.regions, Region{Func: fn, Start: int(e.at), End: size})
		}
	}
	for i := first; i+1 < len(c.regions); i++ {
		c.regions[i].End = c.regions[i+1].Start
	}
}

// mark sets the bit of a region.
func (e *emitter) mark(n int) {
	g := e.cover.global + uint32(n/64)
	e.opU(wasm.OpGlobalGet, g)
	e.i64(int64(uint64(1) << (n % 64)))
	e.op(wasm.OpI64Or)
	e.opU(wasm.OpGlobalSet, g)
}

// globals adds the globals that the marks name.
func (c *cover) globals(out *wasm.Module) {
	for i := range (len(c.regions) + 63) / 64 {
		out.Globals = append(out.Globals,
			wasm.Global{Type: wasm.I64, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpI64Const}})
		out.Exports = append(out.Exports,
			wasm.Export{Name: ExportCover + strconv.Itoa(i), Kind: wasm.ExternGlobal, Index: c.global + uint32(i)})
	}
}
