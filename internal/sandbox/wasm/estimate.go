package wasm

// Cost is what compiling a module is estimated to take on the engine's optimising
// compiler. It is an upper bound on purpose: a test compiles a corpus of bombs and
// compares. All values saturate.
type Cost struct {
	Nanos     uint64 // nanoseconds of one worker on the machine of the fit
	Worst     uint32 // function with the greatest share, imports counted
	WorstNano uint64 // its share
}

// The terms of the estimate, in nanoseconds each. B counts ends, elses and jumps with the
// blocks, because each starts a basic block; L is locals with parameters.
const (
	nsPerByte    = 800
	nsPerFunc    = 25_000
	nsPerType    = 7_000
	nsPerEntry   = 25_000 // br_table
	nsPerBlock2  = 2      // B²
	nsPerLabel   = 9      // (locals set inside + arity) · edges², per label
	nsPerLoopLoc = 5_000  // loops · L
	nsPerFlowLoc = 250    // (B + edges) · L
)

// Estimate says what compiling m costs. m must come from Parse.
func Estimate(m *Module) Cost {
	c := Cost{Nanos: satMul(nsPerType, uint64(len(m.Types)))}
	for i := range m.Funcs {
		n := estimateFunc(&m.Funcs[i])
		c.Nanos = satAdd(c.Nanos, n)
		if n > c.WorstNano {
			c.Worst, c.WorstNano = uint32(len(m.Imports)+i), n
		}
	}
	return c
}

func estimateFunc(f *Func) uint64 {
	x := &f.Facts
	locals := uint64(x.Locals)
	blocks := 2*uint64(x.Blocks) + uint64(x.Ifs) + uint64(x.Jumps) + 1
	n := nsPerFunc + satMul(nsPerByte, uint64(len(f.Body)))
	n = satAdd(n, satMul(nsPerEntry, uint64(x.BrTable)))
	n = satAdd(n, satMul(nsPerBlock2, satMul(blocks, blocks)))
	n = satAdd(n, satMul(nsPerLabel, x.LabelWork))
	n = satAdd(n, satMul(nsPerLoopLoc, satMul(uint64(x.Loops), locals)))
	return satAdd(n, satMul(nsPerFlowLoc, satMul(blocks+uint64(x.Edges), locals)))
}
