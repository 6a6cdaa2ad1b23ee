package meter

import (
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// Instrument writes the metered form of a module that wasm.Parse has accepted. m is not
// changed; the result shares nothing with it or with its file. Time and memory grow
// with the size of the file. Metered code over 64 MiB is refused with ErrLimit: compilers
// emit 1.2 to 1.5 bytes for one, a hostile module could ask for fifty.
// Errors are of type *Error, of one of the classes ErrReserved, ErrLimit, ErrModel and
// ErrOptions. Safe for concurrent use.
func Instrument(m *wasm.Module, opts Options) (Output, error) {
	if err := opts.Validate(); err != nil {
		return Output{}, err
	}
	opts = opts.withDefaults()
	p := &pass{in: m, opts: opts, units: newStackUnits(opts)}
	if err := p.run(); err != nil {
		return Output{}, err
	}
	return p.result, nil
}

// maxCode bounds the metered bodies, in bytes: eight times the largest file.
const maxCode = 64 << 20

// pass is one run over one module.
type pass struct {
	in     *wasm.Module
	opts   Options
	units  stackUnits
	out    wasm.Module
	at     layout
	result Output

	careful bool // see emitter
}

func (p *pass) run() error {
	if err := p.names(); err != nil {
		return err
	}
	if err := p.sizes(); err != nil {
		return err
	}
	m := p.in
	p.out.Types = append([]wasm.FuncType(nil), m.Types...)
	n := uint32(len(m.Imports))
	g := uint32(len(m.Globals))
	p.at = layout{imports: n, yield: n, stack: n + 1, fuel: g, depth: g + 1, grew: g + 2, maxPages: p.result.MemoryPages}
	p.out.Imports = append(append([]wasm.Import(nil), m.Imports...),
		wasm.Import{Module: ImportModule, Name: ImportYield,
			Type: p.typeOf([]wasm.ValType{wasm.I64}, []wasm.ValType{wasm.I64})},
		wasm.Import{Module: ImportModule, Name: ImportStack, Type: p.typeOf(nil, nil)})
	p.globals()
	if err := p.exports(); err != nil {
		return err
	}
	p.segments()
	if err := p.functions(); err != nil {
		return err
	}
	out, err := wasm.Encode(&p.out)
	if err != nil {
		return &Error{Class: ErrModel, Func: -1, Msg: "cannot be written back", Cause: err}
	}
	r := &p.result
	r.Wasm, r.CostTable = out, CostTable
	r.StackBudget = int32(p.units.budget)
	r.SizeIn, r.SizeOut = m.Facts.FileSize, len(out)
	r.Imports = len(m.Imports)
	p.state()
	return nil
}

// names refuses whatever could be taken for something that the pass adds.
func (p *pass) names() error {
	for i := range p.in.Imports {
		im := &p.in.Imports[i]
		if strings.HasPrefix(im.Module, Reserved) || strings.HasPrefix(im.Name, Reserved) {
			return refuse(ErrReserved, -1, "import %d: names with %s are belay's own", i, Reserved)
		}
	}
	for i := range p.in.Exports {
		if strings.HasPrefix(p.in.Exports[i].Name, Reserved) {
			return refuse(ErrReserved, -1, "export %d: names with %s are belay's own", i, Reserved)
		}
	}
	return nil
}

// sizes gives memory and tables a maximum.
func (p *pass) sizes() error {
	if mem := p.in.Memory; mem != nil {
		s, ok := capSize(mem.Size, p.opts.MemoryPages)
		if !ok {
			return refuse(ErrLimit, -1, "the memory needs %d pages at least, the cap is %d", mem.Min, p.opts.MemoryPages)
		}
		p.out.Memory = &wasm.Memory{Size: s}
		p.result.MemoryPages = s.Max
	}
	for i, t := range p.in.Tables {
		s, ok := capSize(t.Size, p.opts.TableElems)
		if !ok {
			return refuse(ErrLimit, -1, "table %d needs %d elements at least, the cap is %d", i, t.Min, p.opts.TableElems)
		}
		p.out.Tables = append(p.out.Tables, wasm.Table{Type: t.Type, Size: s})
	}
	return nil
}

func capSize(s wasm.Size, limit uint32) (wasm.Size, bool) {
	if s.Min > limit || s.HasMax && s.Max < s.Min {
		return s, false
	}
	if !s.HasMax || s.Max > limit {
		s.Max, s.HasMax = limit, true
	}
	return s, true
}

// typeOf finds or adds a signature.
func (p *pass) typeOf(params, results []wasm.ValType) uint32 {
	want := wasm.FuncType{Params: params, Results: results}
	for i := range p.out.Types {
		if p.out.Types[i].Equal(&want) {
			return uint32(i)
		}
	}
	p.out.Types = append(p.out.Types, want)
	return uint32(len(p.out.Types) - 1)
}

func (p *pass) constExpr(c wasm.ConstExpr) wasm.ConstExpr {
	if c.Op == wasm.OpRefFunc {
		c.Index = p.at.fn(c.Index)
	}
	return c
}

func (p *pass) globals() {
	for _, g := range p.in.Globals {
		g.Init = p.constExpr(g.Init)
		p.out.Globals = append(p.out.Globals, g)
	}
	budget := p.units.budget
	p.out.Globals = append(p.out.Globals,
		wasm.Global{Type: wasm.I64, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpI64Const}},
		wasm.Global{Type: wasm.I32, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpI32Const, Bits: budget}},
		wasm.Global{Type: wasm.I32, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpI32Const}})
}

// exports keeps functions and memory under their names. Tables and globals are of no use
// to a host, and a guest's name for one must not lead to it.
func (p *pass) exports() error {
	names := map[uint32][]string{}
	nf, ng := uint64(p.in.NumFuncs()), uint64(len(p.in.Globals))
	for i, x := range p.in.Exports {
		switch x.Kind {
		case wasm.ExternFunc:
			if uint64(x.Index) >= nf {
				return refuse(ErrModel, -1, "export %d: function index out of range", i)
			}
			x.Index = p.at.fn(x.Index)
			p.out.Exports = append(p.out.Exports, x)
		case wasm.ExternMemory:
			p.out.Exports = append(p.out.Exports, x)
		case wasm.ExternGlobal:
			if uint64(x.Index) >= ng {
				return refuse(ErrModel, -1, "export %d: global index out of range", i)
			}
			names[x.Index] = append(names[x.Index], x.Name)
		}
	}
	add := func(name string, k wasm.ExternKind, i uint32) {
		p.out.Exports = append(p.out.Exports, wasm.Export{Name: name, Kind: k, Index: i})
	}
	add(ExportFuel, wasm.ExternGlobal, p.at.fuel)
	add(ExportStack, wasm.ExternGlobal, p.at.depth)
	add(ExportGrowFailed, wasm.ExternGlobal, p.at.grew)
	if p.in.HasStart {
		if uint64(p.in.Start) >= nf {
			return refuse(ErrModel, -1, "start function index out of range")
		}
		add(ExportStart, wasm.ExternFunc, p.at.fn(p.in.Start))
		p.result.Start = true
	}
	for i, g := range p.in.Globals {
		if g.Mutable && g.Type.IsNum() {
			name := ExportGlobal + strconv.Itoa(i)
			add(name, wasm.ExternGlobal, uint32(i))
			p.result.Globals = append(p.result.Globals,
				Global{Export: name, Index: uint32(i), Type: g.Type, Names: names[uint32(i)]})
		}
	}
	return nil
}

func (p *pass) segments() {
	p.out.Datas, p.out.DataCount = p.in.Datas, p.in.DataCount
	p.out.Elems = append([]wasm.Elem(nil), p.in.Elems...)
	for i := range p.out.Elems {
		el := &p.out.Elems[i]
		init := make([]uint32, len(el.Init))
		for k, f := range el.Init {
			if init[k] = f; f != wasm.RefNull {
				init[k] = p.at.fn(f)
			}
		}
		el.Init = init
	}
}

// state collects what a reset of memory and number globals would miss.
func (p *pass) state() {
	f := &p.in.Facts
	if f.OtherGlobals > 0 {
		p.result.Unrestorable = append(p.result.Unrestorable, StateGlobals)
	}
	if f.TableWrites {
		p.result.Unrestorable = append(p.result.Unrestorable, StateTables)
	}
	if f.SegmentDrops {
		p.result.Unrestorable = append(p.result.Unrestorable, StateSegments)
	}
}

// functions meters all bodies. They are written into one buffer, which is cut up when it
// no longer moves.
func (p *pass) functions() error {
	a := &analysis{tableMax: make([]uint32, len(p.out.Tables))}
	for i, t := range p.out.Tables {
		a.tableMax[i] = t.Max
	}
	var marks *cover
	if p.opts.Cover {
		marks = &cover{global: p.at.grew + 1}
	}
	e := &emitter{layout: p.at, cover: marks, careful: p.careful, out: make([]byte, 0, p.in.Facts.CodeSize*2)}
	p.out.Funcs = make([]wasm.Func, len(p.in.Funcs))
	ends := make([]int, len(p.in.Funcs))
	for i := range p.in.Funcs {
		if err := p.function(uint32(i), a, e); err != nil {
			return &Error{Class: ErrModel, Func: len(p.in.Imports) + i, Msg: err.Error(), Cause: err}
		}
		if ends[i] = len(e.out); ends[i] > maxCode {
			return refuse(ErrLimit, -1, "metered code is over %d bytes", maxCode)
		}
	}
	start := 0
	for i, end := range ends {
		p.out.Funcs[i].Body = e.out[start:end:end]
		start = end
	}
	if marks != nil {
		marks.globals(&p.out)
		p.result.Regions = marks.regions
	}
	return nil
}

func (p *pass) function(i uint32, a *analysis, e *emitter) error {
	f := &p.in.Funcs[i]
	if uint64(f.Type) >= uint64(len(p.in.Types)) {
		return errType
	}
	ft := &p.in.Types[f.Type]
	declared := uint64(0)
	for _, r := range f.Locals {
		declared += uint64(r.Count)
	}
	locals := uint64(len(ft.Params)) + declared
	if locals > maxLocals {
		return errLocals
	}
	sp := spaces{locals: locals, globals: uint64(len(p.in.Globals)), funcs: uint64(p.in.NumFuncs())}
	if err := a.walk(f.Body, sp, costEntry+int64(declared>>costLocalsShift)); err != nil {
		return err
	}
	out := &p.out.Funcs[i]
	out.Type = f.Type
	out.Locals = p.temps(f.Locals, uint32(locals), a, e)
	wrapped := wasm.BlockEmpty
	if a.wrap {
		switch len(ft.Results) {
		case 0:
		case 1:
			wrapped = wasm.BlockOf(ft.Results[0])
		default:
			wrapped = wasm.BlockType(p.typeOf(nil, ft.Results))
		}
	}
	if e.cover != nil {
		e.cover.begin(uint32(len(p.in.Imports))+i, a, len(f.Body))
	}
	slots := uint64(f.Facts.LocalSlots) + uint64(f.Facts.MaxHeight)
	e.function(f.Body, a, p.units.of(slots), wrapped)
	return nil
}

// temps declares the locals of the pass behind the guest's, and only those in use: each
// one costs the compiler.
func (p *pass) temps(own []wasm.LocalRun, next uint32, a *analysis, e *emitter) []wasm.LocalRun {
	runs := append(make([]wasm.LocalRun, 0, len(own)+2), own...)
	add := func(t wasm.ValType) uint32 {
		if n := len(runs); n > 0 && runs[n-1].Type == t {
			runs[n-1].Count++
		} else {
			runs = append(runs, wasm.LocalRun{Count: 1, Type: t})
		}
		next++
		return next - 1
	}
	e.t = temps{fuel: add(wasm.I64)}
	if a.scratch || a.calls {
		e.t.i32 = add(wasm.I32)
	}
	if a.nans[nanF32] {
		e.t.nan[nanF32] = add(wasm.F32)
	}
	if a.nans[nanF64] {
		e.t.nan[nanF64] = add(wasm.F64)
	}
	if a.nans[nanF32x4] || a.nans[nanF64x2] {
		v := add(wasm.V128)
		e.t.nan[nanF32x4], e.t.nan[nanF64x2] = v, v
	}
	return runs
}
