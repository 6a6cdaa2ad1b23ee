package wasm

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// TestWhatEachFactAdds: each fact about a function has its term in the estimate, and its weight there. The locals that
// count are at least two, and of the blocks there are at least two.
func TestWhatEachFactAdds(t *testing.T) {
	with := func(change func(*FuncFacts)) FuncFacts { var f FuncFacts; change(&f); return f }
	joins := func(change func(*JoinFacts)) FuncFacts { var f FuncFacts; change(&f.Joins); return f }
	const none, noneBytes = nsPerFunc + nsPerLive*2*2, bytesPerLive * 2 * 2
	for _, c := range []struct {
		name      string
		f         FuncFacts
		ns, bytes uint64 // beyond those of a function of nothing
	}{
		{"nothing", FuncFacts{}, 0, 0},
		{"locals that are never read", with(func(f *FuncFacts) { f.Locals = 3 }), nsPerLocal * 3, 0},
		{"locals of which some are read", with(func(f *FuncFacts) { f.Locals, f.LocalGets = 3, 2 }),
			nsPerLocal*3 + nsPerLive*2*2, bytesPerLive * 2 * 2},
		{"a local that is read often", with(func(f *FuncFacts) { f.Locals, f.LocalGets = 1, 9 }), nsPerLocal + nsPerLive*2,
			bytesPerLive * 2},
		{"blocks", with(func(f *FuncFacts) { f.Blocks = 3 }), nsPerLive * 6 * 2, bytesPerLive * 6 * 2},
		{"ifs", with(func(f *FuncFacts) { f.Ifs = 3 }), nsPerLive * 3 * 2, bytesPerLive * 3 * 2},
		{"jumps", with(func(f *FuncFacts) { f.Jumps = 3 }), nsPerLive * 3 * 2, bytesPerLive * 3 * 2},
		{"loops", with(func(f *FuncFacts) { f.Loops = 3 }), nsPerLive * 9 * 2, bytesPerLive * 9 * 2},
		{"edges", with(func(f *FuncFacts) { f.Edges = 3 }), nsPerLive * 3 * 2, bytesPerLive * 3 * 2},
		{"entries of a table", with(func(f *FuncFacts) { f.BrTable = 3 }), nsPerEntry*3 + nsPerLive*3*2 + nsPerFlow*3*9,
			bytesPerLive * 3 * 2},
		{"bulk operations", with(func(f *FuncFacts) { f.Bulk = 3 }), nsPerBulk*3 + nsPerLive*24*2,
			bytesPerBulk*3 + bytesPerLive*24*2},
		{"operands", with(func(f *FuncFacts) { f.MaxHeight = 3 }), nsPerHigh*3 + nsPerLive*2*3, bytesPerLive * 2 * 3},
		{"instructions", with(func(f *FuncFacts) { f.Nanos, f.Bytes = 7, 9 }), 7, 9},
		{"joins", joins(func(j *JoinFacts) { j.Edges = 3 }), nsPerPhi * 2 * 2 * 3, 0},
		{"joins with operands", joins(func(j *JoinFacts) { j.Operands = 3 }), nsPerPhi*2*2*3 + nsPerMove*3, bytesPerMove * 3},
		{"joins with many operands", joins(func(j *JoinFacts) { j.OperandsSq = 5 }), nsPerPhi * 5, 0},
		{"the same in loops", with(func(f *FuncFacts) { f.Joins.OperandsSq, f.LoopDepth = 5, 2 }), nsPerPhi * 5 * 3, 0},
		{"the same with a copy", with(func(f *FuncFacts) { f.Joins.OperandsSq, f.Copies = 5, 1 }), nsPerPhi * 5 * 2, 0},
		{"the same with more copies than locals", with(func(f *FuncFacts) { f.Joins.OperandsSq, f.Copies = 5, 9 }),
			nsPerPhi * 5 * 3, 0},
		{"as many locals as there are registers",
			with(func(f *FuncFacts) { f.Joins.Edges, f.Locals, f.LocalGets = 3, free-2, free-2 }),
			nsPerLocal*(free-2) + nsPerLive*2*(free-2) + nsPerPhi*free*free*3, bytesPerLive * 2 * (free - 2)},
		{"more locals than registers", with(func(f *FuncFacts) { f.Joins.Edges, f.Locals, f.LocalGets = 3, free, free }),
			nsPerLocal*free + nsPerLive*2*free + nsPerPhi*(free+2)*(free+2)*3 + nsPerMove*2*3,
			bytesPerLive*2*free + bytesPerMove*2*3},
		{"runs before edges", joins(func(j *JoinFacts) { j.EdgeRuns = 3 }), nsPerLookup * 2 * 3, 0},
		{"runs before reads", joins(func(j *JoinFacts) { j.GetRuns = 3 }), nsPerLookup * 3, 0},
		{"depths", joins(func(j *JoinFacts) { j.Depths = 4 }), nsPerFlow * 12, 0},
		{"bounds", joins(func(j *JoinFacts) { j.Bounds = 3 }), nsPerBound * 3, bytesPerBound * 3},
		{"heads", joins(func(j *JoinFacts) { j.Heads = 2 }), nsPerLoopLive * 6 * 2, bytesPerLoopLive * 6 * 2},
		{"more than can be counted",
			joins(func(j *JoinFacts) { j.Edges, j.Heads, j.Bounds = math.MaxUint64, math.MaxUint64, math.MaxUint64/2 }),
			math.MaxUint64 - none, math.MaxUint64 - noneBytes},
	} {
		ns, bytes := estimateFunc(&Func{Facts: c.f})
		if ns != none+c.ns || bytes != noneBytes+c.bytes {
			t.Errorf("%s: %d ns and %d bytes more, want %d and %d", c.name, ns-none, bytes-noneBytes, c.ns, c.bytes)
		}
	}
	if ns, bytes := estimateFunc(&Func{Body: make([]byte, 7)}); ns != none+nsPerByte*7 ||
		bytes != noneBytes+bytesPerFuncByte*7 {
		t.Errorf("a body: %d ns and %d bytes more", ns-none, bytes-noneBytes)
	}
}

// TestEstimatesOfModules: what a module costs beside its functions, of which two are in memory at a time.
func TestEstimatesOfModules(t *testing.T) {
	fn := func(price uint64) Func { return Func{Facts: FuncFacts{Nanos: price, Bytes: price}} }
	const one, oneBytes = nsPerFunc + nsPerLive*2*2, bytesPerLive * 2 * 2
	for _, c := range []struct {
		name string
		m    Module
		want Cost
	}{
		{"nothing", Module{}, Cost{Bytes: bytesBase}},
		{"a file", Module{Facts: ModuleFacts{FileSize: 3}}, Cost{Bytes: bytesBase + bytesPerByte*3}},
		{"types", Module{Types: make([]FuncType, 3)}, Cost{Nanos: nsPerType * 3, Bytes: bytesBase}},
		{"data", Module{Datas: make([]Data, 3)}, Cost{Nanos: nsPerSegment * 3, Bytes: bytesBase}},
		{"globals", Module{Globals: make([]Global, 3)}, Cost{Nanos: nsPerSegment * 3, Bytes: bytesBase}},
		{"elements", Module{Facts: ModuleFacts{ElemCount: 3}}, Cost{Nanos: nsPerSegment * 3, Bytes: bytesBase}},
		{"one function", Module{Funcs: []Func{fn(5)}},
			Cost{Nanos: one + 5, Bytes: bytesBase + oneBytes + 5, WorstNano: one + 5}},
		{"the first is the worst of equals", Module{Imports: make([]Import, 2), Funcs: []Func{fn(5), fn(5)}},
			Cost{Nanos: 2 * (one + 5), Bytes: bytesBase + 2*(oneBytes+5), Worst: 2, WorstNano: one + 5}},
		{"the two greatest of three, behind imports", Module{Imports: make([]Import, 2), Funcs: []Func{fn(5), fn(1), fn(9)}},
			Cost{Nanos: 3*one + 15, Bytes: bytesBase + 2*oneBytes + 14, Worst: 4, WorstNano: one + 9}},
		{"the greatest first", Module{Funcs: []Func{fn(9), fn(1), fn(5)}},
			Cost{Nanos: 3*one + 15, Bytes: bytesBase + 2*oneBytes + 14, WorstNano: one + 9}},
		{"locals stay", Module{Funcs: []Func{{Facts: FuncFacts{Locals: 3}}}},
			Cost{Nanos: one + nsPerLocal*3, Bytes: bytesBase + oneBytes + bytesPerLocal*3, WorstNano: one + nsPerLocal*3}},
	} {
		if got := Estimate(&c.m); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	// A budget is kept up to its last unit, and says which function is to blame.
	b := Budget{Nanos: 2e6, Bytes: 3 << 20}
	for _, c := range []struct {
		cost Cost
		want string
	}{
		{Cost{}, ""},
		{Cost{Nanos: 2e6, Bytes: 3 << 20}, ""},
		{Cost{Nanos: 2e6 + 1, Worst: 7, WorstNano: 1e6},
			"estimated at 2 ms and 0 MB, allowed are 2 ms and 3 MB; this function, the most expensive, takes 1 ms"},
		{Cost{Bytes: 3<<20 + 1, Worst: 7}, "estimated at 0 ms and 3 MB"},
	} {
		err := c.cost.Within(b)
		var e *Error
		if (err == nil) != (c.want == "") ||
			err != nil &&
				(!errors.Is(err, ErrLimit) || !errors.As(err, &e) || e.Func != 7 || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.cost, err, c.want)
		}
	}
}
