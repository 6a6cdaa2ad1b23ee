package wasm

// Cost is what compiling a module, metered, is estimated to take on the engine's
// optimising compiler. It is an upper bound on purpose: a test compiles a corpus of bombs
// and compares. All values saturate.
type Cost struct {
	Nanos     uint64 // processor time in nanoseconds on the machine of the fit
	Bytes     uint64 // peak memory
	Worst     uint32 // function with the greatest share of Nanos, imports counted
	WorstNano uint64 // its share
}

// The prices, in nanoseconds and bytes. What they are multiplied with is named at their
// use in estimateFunc.
const (
	nsPerByte     = 800
	nsPerFunc     = 25_000
	nsPerType     = 20_000
	nsPerSegment  = 500
	nsPerEntry    = 25_000
	nsPerCall     = 3_000
	nsPerIndirect = 15_000
	nsPerBulk     = 30_000
	nsPerPhi      = 1
	nsPerLookup   = 12
	nsPerLive     = 50
	nsPerFlow     = 3
	nsPerBound    = 10
	nsPerLoopLive = 8

	bytesBase        = 16 << 20
	bytesPerByte     = 40
	bytesPerFuncByte = 600
	bytesPerBound    = 24
	bytesPerLoopLive = 16
	bytesPerPhi      = 100
	bytesPerLive     = 16
)

// Estimate says what compiling m costs. m must come from Parse.
func Estimate(m *Module) Cost {
	c := Cost{
		Nanos: satAdd(satMul(nsPerType, uint64(len(m.Types))), nsPerSegment*uint64(len(m.Datas)+len(m.Globals)+m.Facts.ElemCount)),
		Bytes: bytesBase + bytesPerByte*uint64(m.Facts.FileSize),
	}
	peak := uint64(0)
	for i := range m.Funcs {
		ns, bytes := estimateFunc(&m.Funcs[i])
		c.Nanos = satAdd(c.Nanos, ns)
		peak = max(peak, bytes)
		if ns > c.WorstNano {
			c.Worst, c.WorstNano = uint32(len(m.Imports)+i), ns
		}
	}
	c.Bytes = satAdd(c.Bytes, peak)
	return c
}

// sum adds up products, saturating.
type sum uint64

func (s *sum) add(price uint64, factors ...uint64) {
	for _, f := range factors {
		price = satMul(price, f)
	}
	*s = sum(satAdd(uint64(*s), price))
}

func estimateFunc(f *Func) (ns, bytes uint64) {
	x, j := &f.Facts, &f.Facts.Joins
	size := uint64(len(f.Body))
	// Everything that starts a basic block, and what the metering pass adds to it.
	blocks := 2*uint64(x.Blocks) + uint64(x.Ifs) + uint64(x.Jumps) + 3*uint64(x.Loops) + 4*uint64(x.Bulk) + 2
	flow := blocks + uint64(x.Edges)
	// The locals that can need a phi where control flow joins: those that are read
	// somewhere, and two of the metering pass.
	locals := uint64(min(x.Locals, x.LocalGets)) + 2
	alive := locals + uint64(x.MaxHeight)
	// Every edge into a join passes locals and operands; the engine looks through all of
	// them for each of them, and again for every redundant one that it finds only after
	// another one: once for each nesting of loops, once for each copy on the way round.
	var phis sum
	phis.add(1, locals, locals, j.Edges)
	phis.add(2, locals, j.Operands)
	phis.add(1, j.OperandsSq)
	rounds := 1 + uint64(x.LoopDepth) + min(uint64(x.Copies), locals)

	var n, b sum
	n.add(nsPerFunc)
	n.add(nsPerByte, size)
	n.add(nsPerEntry, uint64(x.BrTable))
	n.add(nsPerCall, uint64(x.Calls))
	n.add(nsPerIndirect, uint64(x.Indirect))
	n.add(nsPerBulk, uint64(x.Bulk))
	n.add(nsPerPhi, uint64(phis), rounds)
	// A local's value is searched backwards, block by block, up to a join.
	n.add(nsPerLookup, locals, j.EdgeRuns)
	n.add(nsPerLookup, j.GetRuns)
	n.add(nsPerLive, flow, alive)
	n.add(nsPerFlow, flow, blocks) // dominators
	// Each block repeats the bounds that the accesses before it have checked.
	n.add(nsPerBound, uint64(x.MemOps), blocks)
	// What is alive at a loop's head counts as alive in everything after it.
	n.add(nsPerLoopLive, uint64(x.Loops), alive, blocks)

	b.add(bytesPerFuncByte, size)
	b.add(bytesPerBound, uint64(x.MemOps), blocks)
	b.add(bytesPerLoopLive, uint64(x.Loops), alive, blocks)
	b.add(bytesPerPhi, locals, j.Edges)
	b.add(bytesPerPhi, j.Operands)
	b.add(bytesPerLive, flow, alive)
	return uint64(n), uint64(b)
}
