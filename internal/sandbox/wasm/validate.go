package wasm

import (
	"errors"
	"math"
)

// validator checks function bodies with the algorithm of the specification's appendix
// (an operand stack of types and a stack of open blocks). One is used for all bodies of
// a module, so that its stacks are allocated once.
type validator struct {
	m       *Module
	lim     *Limits
	refs    []bool
	hasData bool   // there is a data count section
	nData   uint32 // its value
	tables  uint64 // br_table entries so far, whole module

	locals []ValType
	opds   []ValType
	wide   int // v128 values among opds
	ctrl   []frame
	base   int  // height of the innermost block, as in ctrl
	dead   bool // unreachable, as in ctrl
	facts  *FuncFacts
	at     path   // how the current place is reached
	loops  uint32 // open loops
	plain  bool   // the last instruction made no new value
	in     Instr

	single [128]ValType // single[t:t+1] is the list of just t
}

// frame is an open block.
type frame struct {
	op      Op // OpBlock, OpLoop, OpIf, OpElse
	dead    bool
	height  int
	params  []ValType
	results []ValType
	edges   uint32 // edges to its label so far
	runs    uint64 // sum of the straight runs before those edges
	start   path   // where it was opened
	meet    path   // what all of those edges have in common, at most
}

// label is the types that a branch to the block carries.
func (f *frame) label() []ValType {
	if f.op == OpLoop {
		return f.params
	}
	return f.results
}

func newValidator(p *parser) *validator {
	v := &validator{m: p.m, lim: p.lim, refs: p.refs, hasData: p.seen[secDataCount], nData: p.dataCount}
	for i := range v.single {
		v.single[i] = ValType(i)
	}
	return v
}

// function validates the body of f, which starts at file offset base, and sets f.Facts.
func (v *validator) function(f *Func, base int) error {
	err := v.body(f)
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		e = newError(ErrMalformed, len(f.Body), "unexpected end of the body: end is missing")
	}
	e.Section, e.Offset = sectionNames[secCode], e.Offset+base
	return e
}

func (v *validator) body(f *Func) error {
	t := &v.m.Types[f.Type]
	v.locals = append(v.locals[:0], t.Params...)
	for _, l := range f.Locals {
		for range l.Count {
			v.locals = append(v.locals, l.Type)
		}
	}
	f.Facts = FuncFacts{Locals: uint32(len(v.locals))}
	v.facts, v.at, v.loops, v.plain = &f.Facts, path{}, 0, false
	for _, l := range v.locals {
		v.facts.LocalSlots += l.Slots()
	}
	v.opds, v.ctrl, v.wide = v.opds[:0], v.ctrl[:0], 0
	if err := v.open(OpBlock, nil, t.Results); err != nil {
		return err
	}
	r := NewReader(f.Body)
	for len(v.ctrl) > 0 {
		if err := r.Next(&v.in); err != nil {
			return err // io.EOF: the final end is missing
		}
		v.facts.Instrs++
		v.pay()
		if inf := v.in.Op.info(); inf.Sig.Fixed {
			if err := v.fixed(inf); err != nil {
				return err
			}
		} else if err := v.special(); err != nil {
			return err
		}
		if h := uint32(len(v.opds) + v.wide); h > v.facts.MaxHeight {
			v.facts.MaxHeight = h
		}
	}
	if r.Pos() != len(f.Body) {
		return newError(ErrMalformed, r.Pos(), "instructions after the end of the body: end of code expected")
	}
	return nil
}

func (v *validator) invalid(format string, args ...any) error {
	return newError(ErrInvalid, v.in.Start, "%s: "+format, append([]any{v.in.Op}, args...)...)
}

// fixed checks an instruction whose signature stands in the table, and what else the
// form of its immediates asks for.
func (v *validator) fixed(inf *OpInfo) error {
	if inf.Imm != ImmNone {
		if err := v.fixedImm(inf); err != nil {
			return err
		}
	}
	for i := int(inf.Sig.NIn) - 1; i >= 0; i-- {
		if err := v.pop(inf.Sig.In[i]); err != nil {
			return err
		}
	}
	if inf.Sig.Out != 0 {
		v.push(inf.Sig.Out)
	}
	v.plain = false
	if v.in.Op >= 0xfd00 {
		v.facts.SIMD++
	}
	return nil
}

func (v *validator) fixedImm(inf *OpInfo) error {
	in := &v.in
	switch inf.Imm {
	case ImmMemArg, ImmMemArgLane:
		v.facts.MemOps++
		v.at.known++
		if v.m.Memory == nil {
			return v.invalid("unknown memory 0")
		}
		if in.Align > uint32(inf.Arg) {
			return v.invalid("alignment 2^%d must not be larger than natural", in.Align)
		}
		if inf.Imm == ImmMemArgLane && in.Lane >= 16>>inf.Arg {
			return v.invalid("invalid lane index %d", in.Lane)
		}
	case ImmLane:
		if in.Lane >= inf.Arg {
			return v.invalid("invalid lane index %d", in.Lane)
		}
	case ImmShuffle:
		for i := range 8 {
			if in.Bits>>(8*i)&0xff >= 32 || in.BitsHi>>(8*i)&0xff >= 32 {
				return v.invalid("invalid lane index")
			}
		}
	case ImmMemory, ImmMemoryCopy, ImmMemoryInit:
		if v.m.Memory == nil {
			return v.invalid("unknown memory 0")
		}
		switch in.Op {
		case OpMemoryInit:
			v.bulk()
			return v.data(in.Index)
		case OpMemoryGrow:
			v.facts.MemoryGrow++
			v.bulk()
		case OpMemoryCopy, OpMemoryFill:
			v.bulk()
		}
	case ImmData:
		v.facts.Drops++
		return v.data(in.Index)
	case ImmElem:
		v.facts.Drops++
		if uint64(in.Index) >= uint64(len(v.m.Elems)) {
			return v.invalid("unknown element segment %d", in.Index)
		}
	}
	return nil
}

func (v *validator) data(i uint32) error {
	if !v.hasData {
		return newError(ErrMalformed, v.in.Start, "%s: data count section required", v.in.Op)
	}
	if i >= v.nData {
		return v.invalid("unknown data segment %d", i)
	}
	return nil
}

// The operand stack.

func (v *validator) push(t ValType) {
	v.opds = append(v.opds, t)
	if t == V128 {
		v.wide++
	}
}

func (v *validator) pushAll(ts []ValType) {
	for _, t := range ts {
		v.push(t)
	}
}

// popAny pops one operand; unknown when the code is unreachable and the block is empty.
func (v *validator) popAny() (ValType, error) {
	n := len(v.opds)
	if n == v.base {
		if v.dead {
			return unknown, nil
		}
		return 0, v.invalid("type mismatch: the operand stack is empty")
	}
	t := v.opds[n-1]
	v.opds = v.opds[:n-1]
	if t == V128 {
		v.wide--
	}
	return t, nil
}

func (v *validator) pop(want ValType) error {
	got, err := v.popAny()
	if err != nil {
		return err
	}
	if got != want && got != unknown && want != unknown {
		return v.invalid("type mismatch: %s on the stack, %s is needed", got, want)
	}
	return nil
}

// top says whether the topmost operands are exactly ts: the quick way for long lists.
func (v *validator) top(ts []ValType) bool {
	n := len(v.opds) - len(ts)
	return n >= v.base && sameTypes(v.opds[n:], ts)
}

func (v *validator) popAll(ts []ValType) error {
	if v.top(ts) {
		v.cut(len(v.opds) - len(ts))
		return nil
	}
	for i := len(ts) - 1; i >= 0; i-- {
		if v.dead && len(v.opds) == v.base {
			return nil // everything else is taken from the unknown depth
		}
		if err := v.pop(ts[i]); err != nil {
			return err
		}
	}
	return nil
}

// cut shortens the operand stack to n.
func (v *validator) cut(n int) {
	if v.wide > 0 {
		for _, t := range v.opds[n:] {
			if t == V128 {
				v.wide--
			}
		}
	}
	v.opds = v.opds[:n]
}

// The stack of blocks.

func (v *validator) open(op Op, params, results []ValType) error {
	if len(v.ctrl) >= v.lim.Nesting {
		return newError(ErrLimit, v.in.Start, "blocks nested deeper than %d", v.lim.Nesting)
	}
	v.ctrl = append(v.ctrl, frame{op: op, height: len(v.opds), params: params, results: results, start: v.at})
	v.base, v.dead = len(v.opds), false
	v.facts.MaxNesting = max(v.facts.MaxNesting, uint32(len(v.ctrl)))
	v.pushAll(params)
	return nil
}

// leave checks that the innermost block ends with its results and nothing else.
func (v *validator) leave() (*frame, error) {
	f := &v.ctrl[len(v.ctrl)-1]
	if err := v.popAll(f.results); err != nil {
		return nil, err
	}
	if len(v.opds) != f.height {
		return nil, v.invalid("type mismatch: %d operands too many at the end of the block", len(v.opds)-f.height)
	}
	return f, nil
}

func (v *validator) close() error {
	f, err := v.leave()
	if err != nil {
		return err
	}
	if f.op == OpIf && !sameTypes(f.params, f.results) {
		return v.invalid("type mismatch: if without else must have the same parameters and results")
	}
	v.join(f, v.dead)
	results := f.results
	v.ctrl = v.ctrl[:len(v.ctrl)-1]
	if n := len(v.ctrl); n > 0 {
		v.base, v.dead = v.ctrl[n-1].height, v.ctrl[n-1].dead
	}
	v.pushAll(results) // those of the body, too: they are operands at its end
	return nil
}

// kill marks the rest of the block as unreachable.
func (v *validator) kill() {
	v.cut(v.base)
	v.dead = true
	v.ctrl[len(v.ctrl)-1].dead = true
}

// branch counts an edge to the label and gives the types that it carries.
func (v *validator) branch(depth uint32) ([]ValType, error) {
	if uint64(depth) >= uint64(len(v.ctrl)) {
		return nil, v.invalid("unknown label %d", depth)
	}
	f := &v.ctrl[len(v.ctrl)-1-int(depth)]
	v.edge(f)
	v.facts.Edges++
	return f.label(), nil
}

func satAdd(a, b uint64) uint64 {
	if s := a + b; s >= a {
		return s
	}
	return math.MaxUint64
}

func satMul(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}
