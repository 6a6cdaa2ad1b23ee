package wasm

// What the validator notes about control flow for the estimate, along its single walk
// over a body. The engine's work on a basic block grows with what dominates the block, so
// every place is described by how much of that there is; where control flow joins, no
// more can remain than the least of the ways in has.

// path says how a place in a body is reached.
type path struct {
	run   uint32 // basic blocks since the last join
	known uint32 // memory accesses on every way here
	depth uint32 // basic blocks on every way here
	heads uint32 // loop heads on every way here
}

func (p path) meet(q path) path {
	return path{min(p.run, q.run), min(p.known, q.known), min(p.depth, q.depth), min(p.heads, q.heads)}
}

// step begins a basic block that only the current place leads to.
func (v *validator) step() {
	v.at.run++
	v.begin()
}

// begin begins a basic block at v.at.
func (v *validator) begin() {
	v.at.depth++
	j := &v.facts.Joins
	j.Bounds += uint64(v.at.known)
	j.Depths += uint64(v.at.depth)
	j.Heads += uint64(v.at.heads)
}

// head begins the block of a loop's head.
func (v *validator) head() {
	v.at.run = 0
	v.at.heads++
	v.begin()
}

// bulk counts an operation that the engine and the metering pass turn into a loop with
// checks around it.
func (v *validator) bulk() {
	v.facts.Bulk++
	v.at.heads++
	for range 4 {
		v.step()
	}
}

// edge counts a way from the current place to the label of f.
func (v *validator) edge(f *frame) {
	if f.edges == 0 {
		f.meet = v.at
	} else {
		f.meet = f.meet.meet(v.at)
	}
	f.edges++
	f.runs += uint64(v.at.run) + 1
	j := &v.facts.Joins
	j.Bounds += uint64(v.at.known)
	j.Depths += uint64(v.at.depth)
}

// join ends f, whose end is unreachable when dead, and goes on behind it.
func (v *validator) join(f *frame, dead bool) {
	j, arity := &v.facts.Joins, uint64(len(f.label()))
	switch f.op {
	case OpLoop:
		// The label is the head: it was joined by the way in, too.
		v.loops--
		f.edges++
		f.runs += uint64(f.start.run) + 1
	case OpIf: // without else: the way past it
		here := v.at
		if !dead {
			v.edge(f)
		}
		v.at = f.start
		v.edge(f)
		v.at = here
	default:
		if f.edges > 0 && !dead {
			v.edge(f)
		}
	}
	edges := uint64(f.edges)
	j.Operands = satAdd(j.Operands, satMul(arity, edges))
	j.OperandsSq = satAdd(j.OperandsSq, satMul(arity*arity, edges))
	if len(v.ctrl) == 1 {
		return // the end of the body: nothing follows that could read locals
	}
	if f.op == OpLoop || f.edges == 0 {
		v.step()
	} else {
		v.at = f.meet
		v.at.run = 0
		v.begin()
	}
	j.Edges += edges
	j.EdgeRuns = satAdd(j.EdgeRuns, f.runs)
}
