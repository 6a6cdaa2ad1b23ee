package wasm

// Cost is what compiling a module, metered, is estimated to take on the engine's
// optimising compiler. It is an upper bound on purpose: a test compiles a corpus of bombs
// and compares. All values saturate.
type Cost struct {
	Nanos     uint64 // processor time in nanoseconds on the machine of the fit
	Bytes     uint64 // peak memory with two workers
	Worst     uint32 // function with the greatest share of Nanos, imports counted
	WorstNano uint64 // its share
}

// Budget is a ceiling for [Cost].
type Budget struct{ Nanos, Bytes uint64 }

// UnreviewedBudget is for unreviewed modules: one that an agent proposes, or a
// file named on a command line. One second, 256 MB.
func UnreviewedBudget() Budget { return Budget{Nanos: 1e9, Bytes: 256 << 20} }

// InstalledBudget is for modules that an operator installs: six seconds and 1 GB, spent
// once, one compile at a time.
func InstalledBudget() Budget { return Budget{Nanos: 6e9, Bytes: 1 << 30} }

// Within returns nil when c keeps b, else an *Error of class ErrLimit that names the most
// expensive function.
func (c Cost) Within(b Budget) error {
	if c.Nanos <= b.Nanos && c.Bytes <= b.Bytes {
		return nil
	}
	e := newError(ErrLimit, -1, "compiling it is estimated at %d ms and %d MB, allowed are %d ms and %d MB; "+
		"this function, the most expensive, takes %d ms", c.Nanos/1e6, c.Bytes>>20, b.Nanos/1e6, b.Bytes>>20, c.WorstNano/1e6)
	e.Func = int(c.Worst)
	return e
}

// The prices, in nanoseconds and bytes. What they are multiplied with is named at their
// use in estimateFunc.
const (
	nsPerByte     = 60
	nsPerFunc     = 25_000
	nsPerType     = 35_000
	nsPerSegment  = 500
	nsPerLocal    = 16
	nsPerEntry    = 3_000
	nsPerBulk     = 60_000
	nsPerHigh     = 8_000
	nsPerPhi      = 1
	nsPerMove     = 1_000
	nsPerLookup   = 15
	nsPerLive     = 50
	nsPerFlow     = 5
	nsPerBound    = 14
	nsPerLoopLive = 8

	bytesBase        = 40 << 20
	bytesPerByte     = 100
	bytesPerLocal    = 10
	bytesPerFuncByte = 60
	bytesPerBulk     = 30_000
	bytesPerBound    = 24
	bytesPerLoopLive = 4
	bytesPerMove     = 1_000
	bytesPerLive     = 16
)

// free is how many locals cost nothing extra where control flow joins: as many as there
// are registers.
const free = 16

// Estimate says what compiling m costs. m must come from Parse.
func Estimate(m *Module) Cost {
	c := Cost{
		Nanos: satAdd(satMul(nsPerType, uint64(len(m.Types))),
			nsPerSegment*uint64(len(m.Datas)+len(m.Globals)+m.Facts.ElemCount)),
		Bytes: bytesBase + bytesPerByte*uint64(m.Facts.FileSize),
	}
	var first, second uint64 // two functions are compiled at a time
	for i := range m.Funcs {
		ns, bytes := estimateFunc(&m.Funcs[i])
		c.Nanos = satAdd(c.Nanos, ns)
		c.Bytes = satAdd(c.Bytes, bytesPerLocal*uint64(m.Funcs[i].Facts.Locals))
		first, second = max(first, bytes), max(second, min(first, bytes))
		if ns > c.WorstNano {
			c.Worst, c.WorstNano = uint32(len(m.Imports)+i), ns
		}
	}
	c.Bytes = satAdd(c.Bytes, satAdd(first, second))
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
	// Everything that starts a basic block. The metering pass puts a check with two more
	// at the start, at loop heads and around bulk operations; entries of br_table get one.
	blocks := 2*uint64(x.Blocks) + uint64(x.Ifs) + uint64(x.Jumps) + uint64(x.BrTable) +
		3*uint64(x.Loops) + 8*uint64(x.Bulk) + 2
	depths := 3 * satAdd(j.Depths, satMul(uint64(x.BrTable), uint64(x.BrTable)))
	heads := 3 * j.Heads
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

	// What remains of them becomes one move for each edge.
	moves := satMul(locals-min(locals, free), j.Edges)
	moves = satAdd(moves, j.Operands)

	var n, b sum
	n.add(nsPerFunc)
	n.add(nsPerByte, size)
	n.add(nsPerLocal, uint64(x.Locals))
	n.add(nsPerEntry, uint64(x.BrTable))
	n.add(1, x.Nanos)
	n.add(nsPerBulk, uint64(x.Bulk))
	n.add(nsPerHigh, uint64(x.MaxHeight))
	n.add(nsPerPhi, uint64(phis), rounds)
	n.add(nsPerMove, moves)
	// A local's value is searched backwards, block by block, up to a join.
	n.add(nsPerLookup, locals, j.EdgeRuns)
	n.add(nsPerLookup, j.GetRuns)
	n.add(nsPerLive, flow, alive)
	// For each block and edge the engine walks up to what dominates it.
	n.add(nsPerFlow, depths)
	// Each block repeats the bounds that the accesses before it have checked.
	n.add(nsPerBound, j.Bounds)
	// A value alive at a loop's head counts as alive in everything that the
	// head dominates.
	n.add(nsPerLoopLive, heads, alive)

	b.add(bytesPerFuncByte, size)
	b.add(1, x.Bytes)
	b.add(bytesPerBulk, uint64(x.Bulk))
	b.add(bytesPerBound, j.Bounds)
	b.add(bytesPerLoopLive, heads, alive)
	b.add(bytesPerMove, moves)
	b.add(bytesPerLive, flow, alive)
	return uint64(n), uint64(b)
}
