package meter

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// counter runs functions of i32 and blocks without values, one instruction at a time, and
// adds up what CostTable says of each. It knows no regions: where no region is small
// enough to be paid for by its head, the metered module must charge exactly its count.
type counter struct {
	m     *wasm.Module
	funcs [][]ins
	used  int64
	limit int64
}

var errCounted = errors.New("over the limit of the count")

func newCounter(t testing.TB, m *wasm.Module, limit int64) *counter {
	t.Helper()
	c := &counter{m: m, limit: limit}
	for i := range m.Funcs {
		var is []ins
		r := wasm.NewReader(m.Funcs[i].Body)
		for in := (ins{}); r.Next(&in) == nil; {
			in.Labels = slices.Clone(in.Labels)
			is = append(is, in)
		}
		c.funcs = append(c.funcs, is)
	}
	return c
}

// closing is the place of the end, or with orElse of the else, of the construct at pc.
func closing(is []ins, pc int, orElse bool) int {
	for depth := 0; ; {
		pc++
		switch is[pc].Op {
		case wasm.OpBlock, wasm.OpLoop, wasm.OpIf:
			depth++
		case wasm.OpElse:
			if depth == 0 && orElse {
				return pc
			}
		case wasm.OpEnd:
			if depth == 0 {
				return pc
			}
			depth--
		}
	}
}

// call runs a function. A host function is charge, which costs its argument.
func (c *counter) call(f uint32, arg int32) error {
	if f < uint32(len(c.m.Imports)) {
		c.used += int64(uint32(arg))
		return nil
	}
	f -= uint32(len(c.m.Imports))
	declared := uint32(0)
	for _, r := range c.m.Funcs[f].Locals {
		declared += r.Count
	}
	c.used += 2 + int64(declared/8)
	vars := append([]int32{arg}, make([]int32, declared)...)
	is := c.funcs[f]
	var open []int // where the open constructs begin
	join := func(at int) {
		sets := 0
		for k := at; k < closing(is, at, false); k++ {
			if is[k].Op == wasm.OpLocalSet || is[k].Op == wasm.OpLocalTee {
				sets++
			}
		}
		c.used += int64(max(min(sets, len(vars))-8, 0))
	}
	// leave is the end of the innermost construct.
	leave := func() {
		at := open[len(open)-1]
		if open = open[:len(open)-1]; is[at].Op != wasm.OpLoop {
			join(at)
		}
	}
	var st []int32
	pop := func() int32 {
		v := st[len(st)-1]
		st = st[:len(st)-1]
		return v
	}
	pc := 0
	// branch goes to a label; false is out of the function.
	branch := func(depth uint32) bool {
		if int(depth) == len(open) {
			return false
		}
		at := open[len(open)-1-int(depth)]
		open = open[:len(open)-1-int(depth)]
		if pc = at - 1; is[at].Op != wasm.OpLoop {
			pc = closing(is, at, false)
			join(at)
		}
		return true
	}
	for ; pc < len(is); pc++ {
		if c.used > c.limit {
			return errCounted
		}
		in := &is[pc]
		c.used += cost(in.Op)
		switch in.Op {
		case wasm.OpLoop:
			c.used++
			join(pc)
			open = append(open, pc)
		case wasm.OpBlock:
			open = append(open, pc)
		case wasm.OpIf:
			open = append(open, pc)
			if pop() == 0 {
				if pc = closing(is, pc, true); is[pc].Op == wasm.OpEnd {
					leave()
				}
			}
		case wasm.OpElse:
			pc = closing(is, open[len(open)-1], false)
			leave()
		case wasm.OpEnd:
			if len(open) == 0 {
				return nil
			}
			leave()
		case wasm.OpBr:
			if !branch(in.Index) {
				return nil
			}
		case wasm.OpBrIf:
			if pop() != 0 && !branch(in.Index) {
				return nil
			}
		case wasm.OpBrTable:
			if !branch(in.Labels[min(uint32(pop()), uint32(len(in.Labels)-1))]) {
				return nil
			}
		case wasm.OpReturn:
			return nil
		case wasm.OpCall:
			if err := c.call(in.Index, pop()); err != nil {
				return err
			}
		case wasm.OpCallIndirect:
			if err := c.call(c.m.Elems[0].Init[pop()], pop()); err != nil {
				return err
			}
		case wasm.OpI32Const:
			st = append(st, int32(in.Bits))
		case wasm.OpLocalGet:
			st = append(st, vars[in.Index])
		case wasm.OpLocalSet:
			vars[in.Index] = pop()
		case wasm.OpDrop:
			pop()
		case wasm.OpI32Add:
			st[len(st)-2] += st[len(st)-1]
			pop()
		case wasm.OpI32Mul:
			st[len(st)-2] *= st[len(st)-1]
			pop()
		case wasm.OpI32And:
			st[len(st)-2] &= st[len(st)-1]
			pop()
		case wasm.OpI32ShrU:
			st[len(st)-2] = int32(uint32(st[len(st)-2]) >> st[len(st)-1])
			pop()
		default:
			return errors.New("the counter does not know " + in.Op.String())
		}
	}
	return errors.New("no end")
}

// pay is code of so many units (an even number). More than 12 are never paid for by a head.
func pay(units int) []ins {
	return slices.Repeat([]ins{i32c(0), o(wasm.OpDrop)}, units/2)
}

// seq joins instructions, given one by one or as lists.
func seq(parts ...any) []ins {
	var is []ins
	for _, p := range parts {
		switch p := p.(type) {
		case ins:
			is = append(is, p)
		case []ins:
			is = append(is, p...)
		}
	}
	return is
}

// withCallees has the body as export f, behind the import charge (0), a function that
// takes a value and costs 2+20 (1), and one that calls the import with 100 (2). Table 0
// holds both functions, in that order; f is 3.
func withCallees(t testing.TB, is []ins) []byte {
	t.Helper()
	var m mod
	h := m.hostCharge()
	takes := sig(ty(i32), nil)
	a := m.fn(takes, nil, pay(20)...)
	b := m.fn(takes, nil, i32c(100), call(h))
	f := m.fn(takes, locals(17, i32), is...)
	m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 2}}}
	m.Elems = []wasm.Elem{{Type: wasm.FuncRef, Offset: wasm.ConstExpr{Op: wasm.OpI32Const}, Init: []uint32{a, b}}}
	m.export("f", f)
	return m.bytes(t)
}

// charges are the regions of the last function that charge: what each costs, as in the
// order of the code, negative where it is also a check.
func charges(t testing.TB, file []byte) []int64 {
	t.Helper()
	m := parse(t, file)
	p := &pass{in: m, opts: Options{}.withDefaults(), units: newStackUnits(Options{}.withDefaults())}
	if err := p.run(); err != nil {
		t.Fatal(err)
	}
	f := &m.Funcs[len(m.Funcs)-1]
	a := &analysis{tableMax: make([]uint32, len(m.Tables))}
	sp := spaces{locals: 18, globals: uint64(len(m.Globals)), funcs: uint64(m.NumFuncs())}
	if err := a.walk(f.Body, sp, costEntry+2); err != nil {
		t.Fatal(err)
	}
	var out []int64
	for _, e := range a.events {
		switch {
		case e.kind != evRegion || e.cost == 0:
		case e.check:
			out = append(out, -e.cost)
		default:
			out = append(out, e.cost)
		}
	}
	return out
}

// Each construct is charged where the cost table says: by hand, by the counter and by
// the metered module alike. A function's entry costs 2 and 2 for its 17 locals.
func TestConstructsAreCharged(t *testing.T) {
	block, loop, iff, els, fin := blk(wasm.OpBlock), blk(wasm.OpLoop), blk(wasm.OpIf), o(wasm.OpElse), o(end)
	less := func(v uint32) []ins { return []ins{get(v), i32c(-1), o(wasm.OpI32Add), set(v)} }
	sets := func(n int) []ins { // of the 18 locals, the parameter included
		var is []ins
		for k := range n {
			is = append(is, i32c(0), set(uint32(1+k%17)))
		}
		return is
	}
	type runs map[uint64]int64 // argument: fuel
	for _, c := range []struct {
		name  string
		is    []ins
		parts []int64
		used  runs
	}{
		{"straight", seq(pay(20)), []int64{-24}, runs{0: 24}},
		{"block that code falls through", seq(block, pay(14), fin, pay(16)), []int64{-34}, runs{0: 34}},
		{"loop of one round", seq(pay(14), loop, pay(16), fin, pay(18)), []int64{-18, -17, 18}, runs{0: 53}},
		{"loop of three rounds", seq(i32c(3), set(1), loop, less(1), get(1), brIf(0), pay(14), fin, pay(16)),
			[]int64{-6, -7, 14, 16}, runs{0: 6 + 3*7 + 14 + 16}},
		{"if without else", seq(get(0), iff, pay(14), fin, pay(16)), []int64{-6, 14, 16}, runs{0: 22, 1: 36}},
		{"if and else", seq(get(0), iff, pay(14), els, pay(18), fin, pay(16)),
			[]int64{-6, 14, 18, 16}, runs{0: 40, 1: 36}},
		{"br", seq(block, br(0), pay(100), fin, pay(16)), []int64{-5, 16}, runs{0: 21}},
		{"br over code that others reach", seq(block, block, get(0), brIf(0), pay(14), br(1), fin,
			pay(18), fin, pay(16)),
			[]int64{-6, 15, 18, 16}, runs{0: 6 + 15 + 16, 1: 6 + 18 + 16}},
		{"br out of the function", seq(block, get(0), brIf(0), pay(14), br(1), fin, pay(18)),
			[]int64{-6, 15, 18}, runs{0: 21, 1: 24}},
		{"br out of an else", seq(block, get(0), iff, pay(14), els, pay(18), br(1), fin, pay(20), fin, pay(16)),
			[]int64{-6, 14, 19, 20, 16}, runs{0: 6 + 19 + 16, 1: 6 + 14 + 20 + 16}},
		{"br_if out of the function", seq(get(0), brIf(0), pay(14)), []int64{-6, 14}, runs{0: 20, 1: 6}},
		{"br_table", seq(block, block, block, get(0), brTable(0, 1, 2), pay(100), fin,
			pay(14), fin, pay(16), fin, pay(18)),
			[]int64{-8, 14, 16, 18}, runs{0: 56, 1: 42, 2: 26, 3: 26}},
		{"br_table out of the function", seq(block, get(0), brTable(0, 1), pay(100), fin, pay(14)),
			[]int64{-8, 14}, runs{0: 22, 1: 8}},
		{"br_table to a loop", seq(i32c(0), set(1), block, loop,
			get(1), i32c(1), o(wasm.OpI32Add), set(1), get(1), i32c(1), o(wasm.OpI32ShrU), brTable(0, 1), pay(100),
			fin, fin, pay(16)),
			[]int64{-6, -11, 16}, runs{0: 6 + 2*11 + 16}},
		{"return", seq(get(0), iff, pay(14), o(wasm.OpReturn), pay(100), fin, pay(16)),
			[]int64{-6, 15, 16}, runs{0: 22, 1: 21}},
		{"constructs in unreachable code", seq(block, br(0), block, loop, i32c(0), iff, pay(20), els, br(1), fin,
			i32c(1), call(0), fin, fin, fin, pay(16)),
			[]int64{-5, 16}, runs{0: 21}},
		{"ends one behind another", seq(block, block, block, get(0), brIf(1), pay(14), fin, pay(16), fin, fin, pay(18)),
			[]int64{-6, 30, 18}, runs{0: 54, 1: 24}},
		{"nested loops", seq(i32c(2), set(1), loop, i32c(2), set(2), loop, pay(14), less(2), get(2), brIf(0),
			pay(16), fin,
			pay(18), less(1), get(1), brIf(0), pay(20), fin, pay(22)),
			[]int64{-6, -3, -21, 16, 24, 20, 22}, runs{0: 6 + 2*(3+2*21+16+24) + 20 + 22}},
		{"if that sets 8 locals", seq(get(0), iff, sets(8), fin, pay(16)), []int64{-6, 16, 16}, runs{0: 22, 1: 38}},
		{"if that sets 10 locals", seq(get(0), iff, sets(10), fin, pay(16)), []int64{-6, 20, 18}, runs{0: 24, 1: 44}},
		{"else that sets 10 locals", seq(get(0), iff, pay(14), els, sets(10), fin, pay(16)), []int64{-6, 14, 20, 18},
			runs{0: 44, 1: 38}},
		{"block that sets 10 locals", seq(block, get(0), brIf(0), sets(10), fin, pay(16)), []int64{-6, 20, 18},
			runs{0: 44, 1: 24}},
		{"block that sets 10 locals and is not left", seq(block, sets(10), fin, pay(16)), []int64{-42}, runs{0: 42}},
		{"loop that sets all locals", seq(loop, get(0), iff, sets(30), i32c(0), set(0), br(1), fin, pay(14), fin, pay(16)),
			[]int64{-4, -13, 63, 24, 16}, runs{0: 4 + 13 + 24 + 16, 1: 4 + 13 + 63 + 13 + 24 + 16}},
		{"sets that cannot be reached", seq(block, br(0), sets(10), fin, pay(16)), []int64{-5, 18}, runs{0: 23}},
		{"calls", seq(i32c(50), call(0), i32c(0), call(1), i32c(0), call(2)),
			[]int64{-25}, runs{0: 25 + 50 + 22 + 2 + 7 + 100}},
		{"call_indirect", seq(get(0), get(0), x(wasm.OpCallIndirect, 1)),
			[]int64{-14}, runs{0: 14 + 22, 1: 14 + 2 + 7 + 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := withCallees(t, c.is)
			if got := charges(t, file); !slices.Equal(got, c.parts) {
				t.Errorf("charges %v, want %v", got, c.parts)
			}
			out := instrument(t, file, Options{})
			for arg, want := range c.used {
				n := newCounter(t, parse(t, file), 1<<20)
				if err := n.call(3, int32(arg)); err != nil || n.used != want {
					t.Errorf("f(%d): counted %d (%v), want %d", arg, n.used, err, want)
				}
				if got := everywhere(t, out, "f", 1<<20, arg); got.used != want || got.fault != "" {
					t.Errorf("f(%d): %+v, want %d", arg, got, want)
				}
			}
		})
	}
}

// bodies writes random control flow. Each region begins with code that its head does not
// pay for.
type bodies struct {
	*rand.Rand
	is []ins
}

func (b *bodies) add(parts ...any) { b.is = append(b.is, seq(parts...)...) }

func (b *bodies) pay() { b.add(pay(14 + 2*b.IntN(4))) }

// chance leaves a number below 2 to the power of bits on the stack, another each time.
func (b *bodies) chance(bits int) {
	b.add(get(1), i32c(1103515245), o(wasm.OpI32Mul), i32c(12345), o(wasm.OpI32Add),
		get(0), o(wasm.OpI32Add), set(1),
		get(1), i32c(16), o(wasm.OpI32ShrU), i32c(1<<bits-1), o(wasm.OpI32And))
}

// code writes statements that stand in depth open constructs.
func (b *bodies) code(depth uint32, room int) {
	b.pay()
	for range 1 + b.IntN(3) {
		b.statement(depth, room)
		b.pay()
	}
}

func (b *bodies) statement(depth uint32, room int) {
	label := func() uint32 { return b.Uint32N(depth + 1) }
	kind := b.IntN(9)
	if room == 0 {
		kind %= 6
	}
	switch kind {
	case 0:
		b.chance(1)
		b.add(brIf(label()))
	case 1:
		b.add(br(label()))
	case 2:
		b.chance(2)
		b.add(brTable(label(), label(), label()))
	case 3:
		b.add(o(wasm.OpReturn))
	case 4:
		b.add(i32c(b.Int32N(50)), call(b.Uint32N(3)))
	case 5:
		b.add(get(0))
		b.chance(1)
		b.add(x(wasm.OpCallIndirect, 1))
	case 6:
		b.chance(1)
		b.add(blk(wasm.OpIf))
		b.code(depth+1, room-1)
		if b.IntN(2) == 0 {
			b.add(o(wasm.OpElse))
			b.code(depth+1, room-1)
		}
		b.add(o(end))
	default:
		b.add(blk([]wasm.Op{wasm.OpBlock, wasm.OpLoop}[kind-7]))
		b.code(depth+1, room-1)
		b.add(o(end))
	}
}

// With every control flow, a metered run charges each instruction that it runs, and
// nothing else.
func TestChargesAreTheCount(t *testing.T) {
	const limit = 1 << 15
	r := newRuntime(t, interpreter)
	ended, over := 0, 0
	for seed := range uint64(300) {
		b := &bodies{Rand: rand.New(rand.NewPCG(seed, 1))}
		b.code(0, 4)
		file := withCallees(t, b.is)
		out := instrument(t, file, Options{})
		i, err := r.instantiate(&out)
		if err != nil {
			t.Fatal(err)
		}
		for arg := range uint64(3) {
			n := newCounter(t, parse(t, file), limit)
			counted := n.call(3, int32(arg))
			got, _ := i.invoke("f", Account{Limit: limit, Slice: 100}, arg)
			switch {
			case counted == nil && n.used <= limit:
				if ended++; got.used != n.used || got.fault != "" {
					t.Errorf("seed %d, f(%d): %+v, counted %d", seed, arg, got, n.used)
				}
			case counted == nil || errors.Is(counted, errCounted):
				if over++; got.fault != "fuel" {
					t.Errorf("seed %d, f(%d): %+v, counted %d", seed, arg, got, n.used)
				}
				i.stack.Set(uint64(out.StackBudget))
			default:
				t.Fatal(counted)
			}
		}
		if err := i.mod.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if ended < 500 || over < 10 {
		t.Errorf("%d runs ended, %d went over: the bodies are too much alike", ended, over)
	}
}

// The parser refuses each of these bodies before; the pass does so again, and says which
// function it is, imports counted.
func TestMalformedBodies(t *testing.T) {
	raw := func(is ...ins) []byte { b := body(is...); return b[:len(b)-1] }
	for _, c := range []struct {
		name, want string
		body       []byte
	}{
		{"nothing", "body without its end", nil},
		{"no end", "body without its end", raw(i32c(1), o(wasm.OpDrop))},
		{"an open block", "body without its end", body(blk(wasm.OpBlock))},
		{"code behind the end", "instructions behind the end of the body", append(body(), body()...)},
		{"local", "local index out of range", body(get(1), o(wasm.OpDrop))},
		{"local.set", "local index out of range", body(i32c(0), set(1))},
		{"local.tee", "local index out of range", body(i32c(0), tee(1))},
		{"global", "global index out of range", body(x(wasm.OpGlobalGet, 0), o(wasm.OpDrop))},
		{"global.set", "global index out of range", body(i32c(0), x(wasm.OpGlobalSet, 0))},
		{"call", "function index out of range", body(call(3))},
		{"ref.func", "function index out of range", body(x(wasm.OpRefFunc, 3), o(wasm.OpDrop))},
		{"br", "label out of range", body(br(1))},
		{"br_if", "label out of range", body(i32c(0), brIf(1))},
		{"br_table", "label out of range", body(i32c(0), brTable(0, 1, 0))},
		{"br_table's default", "label out of range", body(i32c(0), brTable(0, 1))},
		{"table.grow", "table index out of range", body(i32c(0), i32c(0), x(wasm.OpTableGrow, 0), o(wasm.OpDrop))},
		{"unreachable call", "function index out of range", body(o(wasm.OpUnreachable), call(3))},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m mod
			m.hostCharge()
			m.fn(sig(ty(i32), nil), nil)
			m.Funcs = append(m.Funcs, wasm.Func{Type: 1, Body: c.body})
			_, err := Instrument(&m.Module, Options{})
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, ErrModel) || e.Func != 2 || e.Msg != c.want {
				t.Errorf("%#v, want func 2: %s", err, c.want)
			}
		})
	}
}
