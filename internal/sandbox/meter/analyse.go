package meter

import (
	"errors"
	"io"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// eventKind is what the emitter has to do at a place in a body.
type eventKind uint8

const (
	evNothing eventKind = iota // a canonicalisation that turned out to be needless
	evRegion                   // charge cost; check makes it a place to yield
	evBytes                    // charge by the byte count on top of the stack
	evElems                    // charge by the element count on top, at most arg (0: no bound)
	evGrow                     // memory.grow: charge, and note a refusal
	evCall                     // call or call_indirect: spill before, reload after
	evIndex                    // instruction whose function index moves
	evReturn                   // return becomes a branch out of the wrapping block
	evNaN                      // make the value on top canonical
)

// event is a place in a body at which the emitter does more than copy. It replaces the
// bytes [at, end); most events replace none.
type event struct {
	kind    eventKind
	check   bool     // evRegion
	round   bool     // evRegion: the head of a loop to which a branch needs no operands
	empty   bool     // evRegion: nothing in it costs anything, such as the end of a block at the end of a block
	shape   nanShape // evNaN
	op      wasm.Op  // evCall, evIndex
	at, end int32
	arg     uint32 // function index, bound of evElems, branch depth of evReturn
	cost    int64  // evRegion
	head    int32  // evRegion: the region that heads its level
	taken   int64  // evRegion, of a head: the units it pays for other regions
}

// label is an open block. entryDead says that the block itself is behind an
// unconditional branch; targeted, that live code branches to its label. head is
// the region at the start of the innermost loop around its code, or of the
// function. The code between its beginning and its end sets as many locals as
// analysis.sets has grown by.
type label struct {
	op        wasm.Op
	head      int32
	entryDead bool
	targeted  bool
	region    int32  // of a loop: the region at its head
	sets      uint64 // sets of locals before it, as written
}

// analysis is what one walk over a body finds. Its slices are reused for the next body.
type analysis struct {
	events []event
	labels []label
	flow   flow
	in     wasm.Instr

	regionAt  int  // index of the region that collects costs
	dead      bool // behind an unconditional branch
	calls     bool // has a live call or call_indirect
	unchecked bool // has a region that charges without a check
	scratch   bool // needs an i32 temporary
	nans      [nanF64x2 + 1]bool

	wrap     bool // live code returns, or branches to the body's own label
	deadEnd  bool // the end of the body is reached by branches only
	locals   uint64
	sets     uint64 // local.set and local.tee so far, dead ones included
	tableMax []uint32
}

// index spaces that a body may use.
type spaces struct {
	locals, globals, funcs uint64
}

// walk analyses one body. Errors are only possible on a module that wasm.Parse would
// refuse: the pass must never be what makes such a module valid, so it looks again at
// every index space that it extends.
func (a *analysis) walk(body []byte, sp spaces, entry int64) error {
	a.events, a.labels = a.events[:0], append(a.labels[:0], label{op: wasm.OpBlock})
	a.flow.reset()
	a.dead, a.calls, a.unchecked, a.scratch, a.wrap, a.deadEnd = false, false, false, false, false, false
	a.nans = [len(a.nans)]bool{}
	a.locals, a.sets = sp.locals, 0
	a.region(0, entry, true)

	r := wasm.NewReader(body)
	for {
		if err := r.Next(&a.in); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return err
		}
		if len(a.labels) == 0 {
			return errors.New("instructions behind the end of the body")
		}
		if err := a.indices(sp); err != nil {
			return err
		}
		a.step()
	}
	if len(a.labels) != 0 {
		return errors.New("body without its end")
	}
	a.merge()
	return nil
}

// merge lets the head of a level pay for small regions of that level: a region
// runs once at most between two runs of its head. That saves the time of
// charges: most are a single subtraction, but in the tightest of loops.
func (a *analysis) merge() {
	for i := range a.events {
		e := &a.events[i]
		if e.kind != evRegion || e.check {
			continue
		}
		if e.empty = e.cost == 0; e.empty {
			continue
		}
		h := &a.events[e.head]
		if e.cost <= costMergeRegion && h.taken+e.cost <= costMergeHead {
			h.taken += e.cost
			h.cost += e.cost
			e.cost = 0
			continue
		}
		a.unchecked = true
	}
}

func (a *analysis) indices(sp spaces) error {
	switch a.in.Op {
	case wasm.OpLocalGet, wasm.OpLocalSet, wasm.OpLocalTee:
		if uint64(a.in.Index) >= sp.locals {
			return errors.New("local index out of range")
		}
	case wasm.OpGlobalGet, wasm.OpGlobalSet:
		if uint64(a.in.Index) >= sp.globals {
			return errors.New("global index out of range")
		}
	case wasm.OpCall, wasm.OpRefFunc:
		if uint64(a.in.Index) >= sp.funcs {
			return errors.New("function index out of range")
		}
	case wasm.OpBr, wasm.OpBrIf:
		if uint64(a.in.Index) >= uint64(len(a.labels)) {
			return errors.New("label out of range")
		}
	case wasm.OpBrTable:
		for _, l := range a.in.Labels {
			if uint64(l) >= uint64(len(a.labels)) {
				return errors.New("label out of range")
			}
		}
	case wasm.OpTableGrow:
		if uint64(a.in.Index) >= uint64(len(a.tableMax)) {
			return errors.New("table index out of range")
		}
	}
	return nil
}

// region starts a new region at an offset of the body.
func (a *analysis) region(at int, cost int64, check bool) {
	a.regionAt = len(a.events)
	if check {
		a.labels[len(a.labels)-1].head = int32(a.regionAt)
	}
	head := a.labels[len(a.labels)-1].head
	a.events = append(a.events, event{kind: evRegion, at: int32(at), end: int32(at), cost: cost, check: check, head: head})
	a.flow.reset()
}

func (a *analysis) event(k eventKind, at, end int, arg uint32) {
	a.events = append(a.events, event{kind: k, op: a.in.Op, at: int32(at), end: int32(end), arg: arg})
}

func (a *analysis) target(depth uint32) { a.labels[len(a.labels)-1-int(depth)].targeted = true }

func (a *analysis) step() {
	in := &a.in
	switch in.Op {
	case wasm.OpLocalSet, wasm.OpLocalTee:
		a.sets++
	case wasm.OpBlock, wasm.OpLoop, wasm.OpIf:
		a.labels = append(a.labels, label{op: in.Op, head: a.labels[len(a.labels)-1].head, entryDead: a.dead, sets: a.sets})
	case wasm.OpElse:
		a.labels[len(a.labels)-1].op = wasm.OpElse
	case wasm.OpEnd:
		a.end()
		return
	}
	if in.Op == wasm.OpElse {
		if a.dead = a.labels[len(a.labels)-1].entryDead; !a.dead {
			a.region(in.End, 0, false)
		}
		return
	}
	if a.dead {
		if in.Op == wasm.OpCall || in.Op == wasm.OpRefFunc {
			a.event(evIndex, in.Start, in.End, in.Index)
		}
		return
	}
	a.charge(cost(in.Op))
	a.live()
}

// charge adds to the running region.
func (a *analysis) charge(c int64) {
	a.events[a.regionAt].cost += c
}

func (a *analysis) end() {
	l := a.labels[len(a.labels)-1]
	a.labels = a.labels[:len(a.labels)-1]
	if len(a.labels) == 0 {
		a.wrap, a.deadEnd = l.targeted, a.dead
		return
	}
	wasDead := a.dead
	if a.dead = l.entryDead; a.dead {
		return
	}
	// A loop's end is reached only from above, but what follows it is of another level.
	if l.targeted || l.op != wasm.OpBlock || wasDead {
		a.region(a.in.End, 0, false)
	}
	if l.op == wasm.OpLoop {
		a.events[l.region].cost += a.join(&l)
	} else {
		a.charge(a.join(&l))
	}
	a.flow.reset()
}

// join is the cost of coming to a label: where ways meet, the engine moves each
// local that one of them has set to the place where the others have it.
func (a *analysis) join(l *label) int64 {
	moved := min(a.sets-l.sets, a.locals)
	return max(int64(moved)-costJoinFree, 0)
}

// live handles an instruction that can be reached, apart from else and end.
func (a *analysis) live() {
	in := &a.in
	switch in.Op {
	case wasm.OpBlock:
		a.flow.reset()
	case wasm.OpLoop:
		a.region(in.End, costLoopRound, true)
		a.labels[len(a.labels)-1].region = int32(a.regionAt)
		a.events[a.regionAt].round = in.Block < 0 // other types may have parameters
	case wasm.OpIf:
		a.region(in.End, 0, false)
	case wasm.OpBrIf:
		a.target(in.Index)
		a.region(in.End, 0, false)
	case wasm.OpBr:
		a.target(in.Index)
		a.dead = true
	case wasm.OpBrTable:
		for _, l := range in.Labels {
			a.target(l)
		}
		a.dead = true
	case wasm.OpReturn:
		a.target(uint32(len(a.labels) - 1))
		a.event(evReturn, in.Start, in.End, uint32(len(a.labels)-1))
		a.dead = true
	case wasm.OpUnreachable:
		a.dead = true
	case wasm.OpCall, wasm.OpCallIndirect:
		a.event(evCall, in.Start, in.End, in.Index)
		a.calls = true
		a.flow.reset()
	default:
		a.plain()
	}
}

func (a *analysis) plain() {
	in := &a.in
	switch in.Op {
	case wasm.OpRefFunc:
		a.event(evIndex, in.Start, in.End, in.Index)
	case wasm.OpMemoryCopy, wasm.OpMemoryFill, wasm.OpMemoryInit:
		a.event(evBytes, in.Start, in.Start, 0)
		a.scratch = true
	case wasm.OpTableCopy, wasm.OpTableFill, wasm.OpTableInit:
		a.event(evElems, in.Start, in.Start, 0)
		a.scratch = true
	case wasm.OpTableGrow:
		a.event(evElems, in.Start, in.Start, a.tableMax[in.Index])
		a.scratch = true
	case wasm.OpMemoryGrow:
		a.event(evGrow, in.Start, in.End, 0)
		a.scratch = true
	}
	a.flow.step(in.Op, a.events)
	if shape := produces(in.Op); shape != nanNone {
		a.flow.result(len(a.events), shape)
		a.events = append(a.events, event{kind: evNaN, shape: shape, at: int32(in.End), end: int32(in.End)})
		a.nans[shape] = true
	}
}
