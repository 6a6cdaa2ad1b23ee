package meter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// generator writes random programs that are valid by construction: every shape of control
// flow, calls, tables, memory, and every instruction with a fixed signature.
type generator struct {
	*rand.Rand
	m      mod
	floats bool
	byOut  map[wasm.ValType][]wasm.Op

	fts    []wasm.FuncType // of the functions
	vars   []wasm.ValType  // parameters and locals of the one under way
	labels [][]wasm.ValType
	body   []ins
	budget int
}

func program(seed uint64, floats bool) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), floats: floats, byOut: map[wasm.ValType][]wasm.Op{}}
	for p := range wasm.Op(0xfe00) {
		info, ok := p.Info()
		if !ok || !info.Sig.Fixed || info.Sig.Out == 0 || p == wasm.OpMemoryGrow {
			continue
		}
		all := append([]wasm.ValType{info.Sig.Out}, info.Sig.In[:info.Sig.NIn]...)
		if !floats && (slices.Contains(all, f32) || slices.Contains(all, f64) || produces(p) != nanNone) {
			continue
		}
		g.byOut[info.Sig.Out] = append(g.byOut[info.Sig.Out], p)
	}
	g.m.memory(1)
	for _, t := range g.types() {
		g.m.Globals = append(g.m.Globals, wasm.Global{Type: t, Mutable: true, Init: wasm.ConstExpr{Op: constOf(t)}})
	}
	n := 2 + g.IntN(4)
	for range n {
		g.fts = append(g.fts, sig(g.some(3), g.some(3)))
	}
	g.m.Types = slices.Clone(g.fts) // so that function i has type i
	g.m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: uint32(n) + 1}}}
	el := wasm.Elem{Type: wasm.FuncRef, Offset: wasm.ConstExpr{Op: wasm.OpI32Const}}
	for i, ft := range g.fts {
		var runs []wasm.LocalRun
		g.vars = slices.Clone(ft.Params)
		for _, t := range g.some(5) {
			runs = append(runs, wasm.LocalRun{Count: 1, Type: t})
			g.vars = append(g.vars, t)
		}
		g.body, g.labels, g.budget = nil, [][]wasm.ValType{ft.Results}, 150
		g.stmts()
		g.exprs(ft.Results, 0)
		g.m.Funcs = append(g.m.Funcs, wasm.Func{Type: uint32(i), Locals: runs, Body: body(g.body...)})
		g.m.export(fmt.Sprintf("f%d", i), uint32(i))
		el.Init = append(el.Init, uint32(i))
	}
	g.m.Elems = []wasm.Elem{el}
	return g
}

func (g *generator) types() []wasm.ValType {
	if g.floats {
		return []wasm.ValType{i32, i64, f32, f64, v128}
	}
	return []wasm.ValType{i32, i64, v128}
}

func (g *generator) some(n int) (ts []wasm.ValType) {
	for range g.IntN(n + 1) {
		ts = append(ts, pick(g, g.types()))
	}
	return ts
}

func pick[T any](g *generator, s []T) T { return s[g.IntN(len(s))] }

func constOf(t wasm.ValType) wasm.Op {
	switch t {
	case i32:
		return wasm.OpI32Const
	case i64:
		return wasm.OpI64Const
	case f32:
		return wasm.OpF32Const
	case f64:
		return wasm.OpF64Const
	}
	return wasm.OpV128Const
}

func (g *generator) emit(is ...ins) { g.body = append(g.body, is...) }

// open starts a block of a type and pushes its label; loops have labels without values.
func (g *generator) open(op wasm.Op, results []wasm.ValType) {
	in := ins{Op: op}
	switch len(results) {
	case 0:
		in.Block = wasm.BlockEmpty
	case 1:
		in.Block = wasm.BlockOf(results[0])
	default:
		g.m.Types = append(g.m.Types, sig(nil, results))
		in.Block = wasm.BlockType(len(g.m.Types) - 1)
	}
	g.emit(in)
	if op == wasm.OpLoop {
		results = nil
	}
	g.labels = append(g.labels, results)
}

func (g *generator) close() {
	g.emit(o(end))
	g.labels = g.labels[:len(g.labels)-1]
}

func (g *generator) drop(n int) {
	for range n {
		g.emit(o(wasm.OpDrop))
	}
}

func (g *generator) exprs(ts []wasm.ValType, d int) {
	for _, t := range ts {
		g.expr(t, d)
	}
}

func (g *generator) stmts() {
	for range 1 + g.IntN(4) {
		if g.budget--; g.budget < 0 {
			return
		}
		g.stmt()
	}
}

func (g *generator) stmt() {
	depth := uint32(g.IntN(len(g.labels)))
	target := g.labels[len(g.labels)-1-int(depth)]
	switch g.IntN(16) {
	case 0, 1, 2:
		if len(g.vars) > 0 {
			i := g.IntN(len(g.vars))
			g.expr(g.vars[i], 0)
			g.emit(set(uint32(i)))
		}
	case 3:
		i := g.IntN(len(g.m.Globals))
		g.expr(g.m.Globals[i].Type, 0)
		g.emit(x(wasm.OpGlobalSet, uint32(i)))
	case 4, 5:
		g.expr(i32, 0)
		g.open(wasm.OpIf, nil)
		g.stmts()
		if g.IntN(2) == 0 {
			g.emit(o(wasm.OpElse))
			g.stmts()
		}
		g.close()
	case 6, 7:
		g.open(wasm.OpLoop, nil)
		g.stmts()
		g.expr(i32, 0)
		g.emit(brIf(0))
		g.close()
	case 8:
		g.open(wasm.OpBlock, nil)
		g.stmts()
		g.close()
	case 9, 10:
		g.exprs(target, 1)
		g.expr(i32, 0)
		g.emit(brIf(depth))
		g.drop(len(target))
	case 11:
		// Behind a branch follows dead code up to the end of a block of its own.
		g.open(wasm.OpBlock, nil)
		switch g.IntN(4) {
		case 0:
			g.exprs(g.labels[0], 1)
			g.emit(o(wasm.OpReturn))
		case 1:
			g.exprs(target, 1)
			g.emit(br(depth + 1))
		case 2:
			ls := []uint32{0}
			for i, l := range slices.Backward(g.labels) {
				if len(l) == 0 && g.IntN(2) == 0 {
					ls = append(ls, uint32(len(g.labels)-1-i))
				}
			}
			g.expr(i32, 1)
			g.emit(brTable(ls...))
		default:
			g.emit(o(wasm.OpUnreachable))
		}
		if g.IntN(3) == 0 {
			g.stmts()
		}
		g.close()
	case 12:
		i := g.IntN(len(g.fts))
		g.exprs(g.fts[i].Params, 1)
		if g.IntN(2) == 0 {
			g.emit(call(uint32(i)))
		} else {
			g.expr(i32, 2)
			g.emit(i32c(7), o(wasm.OpI32And), ins{Op: wasm.OpCallIndirect, Index: uint32(i)})
		}
		g.drop(len(g.fts[i].Results))
	case 13:
		g.expr(i32, 1)
		g.emit(i32c(0x7fff), o(wasm.OpI32And))
		g.expr(i64, 1)
		g.emit(mem(wasm.OpI64Store, uint32(g.IntN(100))))
	case 14:
		g.emit(i32c(int32(g.IntN(1000))))
		g.expr(i32, 1)
		g.emit(i32c(int32(g.IntN(1000))), o(wasm.OpMemoryFill))
	default:
		g.expr(i32, 1)
		g.emit(i32c(3), o(wasm.OpI32And), o(wasm.OpMemoryGrow), o(wasm.OpDrop))
	}
}

func (g *generator) expr(t wasm.ValType, d int) {
	g.budget--
	for range 2 {
		if i := slices.Index(g.vars, t); i >= 0 && g.IntN(3) == 0 {
			i += slices.Index(g.vars[i:], t)
			g.emit(get(uint32(i)))
			return
		}
	}
	if d > 4 || g.budget < 0 {
		g.constant(t)
		return
	}
	switch k := g.IntN(12); {
	case k == 0:
		g.constant(t)
	case k == 1:
		for i, gl := range g.m.Globals {
			if gl.Type == t {
				g.emit(x(wasm.OpGlobalGet, uint32(i)))
			}
		}
	case k == 2:
		g.open(wasm.OpBlock, ty(t))
		g.stmts()
		g.expr(t, d+1)
		g.close()
	case k == 3:
		g.expr(i32, d+1)
		g.open(wasm.OpIf, ty(t))
		g.expr(t, d+1)
		g.emit(o(wasm.OpElse))
		g.expr(t, d+1)
		g.close()
	case k == 4:
		g.expr(t, d+1)
		g.expr(t, d+1)
		g.expr(i32, d+1)
		g.emit(ins{Op: wasm.OpSelectT, Types: ty(t)})
	case k == 5:
		// A block with several results, of which the others go.
		more := g.some(2)
		g.open(wasm.OpBlock, append(ty(t), more...))
		g.stmts()
		g.expr(t, d+1)
		g.exprs(more, d+1)
		g.close()
		g.drop(len(more))
	default:
		g.op(pick(g, g.byOut[t]), d)
	}
}

func (g *generator) constant(t wasm.ValType) {
	in := ins{Op: constOf(t), Bits: g.Uint64(), BitsHi: g.Uint64()}
	switch g.IntN(3) {
	case 0:
		in.Bits = uint64(g.IntN(20))
	case 1:
		if t == f32 || t == f64 {
			in.Bits = pick(g, odd64)
			if t == f32 {
				in.Bits = pick(g, odd32)
			}
		}
	}
	g.emit(in)
}

func (g *generator) op(p wasm.Op, d int) {
	info, _ := p.Info()
	in := ins{Op: p, Bits: g.Uint64(), BitsHi: g.Uint64()}
	for _, t := range info.Sig.In[:info.Sig.NIn] {
		g.expr(t, d+1)
		if info.Imm == wasm.ImmMemArg || info.Imm == wasm.ImmMemArgLane && t == i32 {
			g.emit(i32c(0x7fff), o(wasm.OpI32And))
		}
	}
	switch info.Imm {
	case wasm.ImmMemArgLane:
		in.Lane = uint8(g.IntN(16 >> info.Arg))
	case wasm.ImmLane:
		in.Lane = uint8(g.IntN(int(info.Arg)))
	case wasm.ImmShuffle:
		for i := range 8 {
			in.Bits = in.Bits<<8 | uint64(g.IntN(32))
			in.BitsHi = in.BitsHi<<8 | uint64(g.IntN(32)+0*i)
		}
	}
	g.emit(in)
}

// asWritten runs the program's functions unmetered and compares with a metered instance:
// only where nothing ended for lack of fuel or stack, and only without floats, whose NaNs
// may differ by right.
func asWritten(m *wasm.Module, file []byte, r *runtime, out *Output, plain api.Module,
	limit int64) (n int, why string) {
	i, err := r.instantiate(out)
	if err != nil {
		return 0, err.Error()
	}
	for _, x := range m.Exports {
		if x.Kind != wasm.ExternFunc {
			continue
		}
		args := make([]uint64, 0, 8)
		for _, p := range m.FuncType(x.Index).Params {
			args = append(args, make([]uint64, p.Slots())...)
		}
		got, _ := i.invoke(x.Name, Account{Limit: limit}, args...)
		if got.fault == "fuel" || got.fault == "stack" {
			return n, "" // the plain one might never end
		}
		f := plain.ExportedFunction(x.Name)
		res, err := f.Call(ctx, args...)
		normal(f.Definition().ResultTypes(), res)
		want := outcome{results: fmt.Sprint(res), fault: fault(err), used: got.used, grew: got.grew}
		if n++; got != want {
			return n, fmt.Sprintf("%s: metered %+v, as written %+v", x.Name, got, want)
		}
		a, _ := i.mod.Memory().Read(0, i.mod.Memory().Size())
		b, _ := plain.Memory().Read(0, plain.Memory().Size())
		if string(a) != string(b) {
			return n, x.Name + ": memory differs"
		}
	}
	return n, ""
}

// spillsEverywhere wants the same outcomes from a module that spills at every chance,
// and from one whose regions are marked.
func spillsEverywhere(t testing.TB, m *wasm.Module, opts Options, r *runtime, limit int64) string {
	t.Helper()
	var is [3]*instance
	for k := range is {
		opts.Cover = k == 2
		p := &pass{in: m, opts: opts.withDefaults(), units: newStackUnits(opts.withDefaults()), careful: k == 1}
		if err := p.run(); err != nil {
			return err.Error()
		}
		i, err := r.instantiate(&p.result)
		if err != nil {
			return err.Error()
		}
		is[k] = i
	}
	for _, x := range m.Exports {
		if x.Kind != wasm.ExternFunc {
			continue
		}
		var args []uint64
		for _, p := range m.FuncType(x.Index).Params {
			args = append(args, make([]uint64, p.Slots())...)
		}
		a, _ := is[0].invoke(x.Name, Account{Limit: limit}, args...)
		for k, how := range []string{1: "spilling always", 2: "with marks"} {
			if k == 0 {
				continue
			}
			if b, _ := is[k].invoke(x.Name, Account{Limit: limit}, args...); a != b {
				return fmt.Sprintf("%s: %+v, %s %+v", x.Name, a, how, b)
			}
			if why := sameState(is[0], is[k]); why != "" {
				return fmt.Sprintf("%s, %s: %s", x.Name, how, why)
			}
		}
	}
	return ""
}

// checkProgram wants a random program to be accepted, to behave the same on
// both engines, and the same as unmetered.
func checkProgram(t testing.TB, seed uint64, r *runtime) (calls, same int) {
	t.Helper()
	const limit = 30_000
	g := program(seed, seed%2 == 0)
	file := g.m.bytes(t)
	lim := relaxed()
	m, err := wasm.Parse(file, lim)
	if err != nil {
		t.Fatalf("seed %d: the generator is wrong: %v", seed, err)
	}
	calls, why := agree(t, m, limit)
	if why != "" {
		t.Errorf("seed %d: %s", seed, why)
	}
	opts := Options{MemoryPages: 300, TableElems: 1 << 16}
	if why := spillsEverywhere(t, m, opts, r, limit); why != "" {
		t.Errorf("seed %d: %s", seed, why)
	}
	if g.floats {
		return calls, 0
	}
	out := instrument(t, file, opts)
	// The plain module needs the same cap.
	capped := *m
	capped.Memory = &wasm.Memory{Size: wasm.Size{Min: 1, Max: 300, HasMax: true}}
	plainFile, err := wasm.Encode(&capped)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := r.InstantiateWithConfig(ctx, plainFile, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	same, why = asWritten(m, file, r, &out, plain, limit)
	if why != "" {
		t.Errorf("seed %d: %s", seed, why)
	}
	return calls, same
}

func TestRandomPrograms(t *testing.T) {
	n := uint64(200)
	if testing.Short() {
		n = 60
	}
	r := newRuntime(t, compiler)
	var calls, same int
	for seed := range n {
		c, s := checkProgram(t, seed, r)
		calls, same = calls+c, same+s
	}
	t.Logf("%d programs, %d calls agree between engines, %d with the program as written", n, calls, same)
	if calls < int(n) || same < int(n)/3 {
		t.Error("the programs do not do much")
	}
}

// FuzzPrograms looks for a program on which the engines, or metered and plain, differ.
func FuzzPrograms(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) { checkProgram(t, seed, newRuntime(t, compiler)) })
}
