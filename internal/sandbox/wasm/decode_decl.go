package wasm

import "slices"

// The sections that declare: types, imports, functions, tables, memory, globals,
// exports, start.

func (p *parser) types() error {
	n, err := p.count("types", p.lim.Types, 3)
	if err != nil {
		return err
	}
	p.m.Types = make([]FuncType, n)
	for i := range p.m.Types {
		form, err := p.byte()
		if err != nil {
			return err
		}
		switch form {
		case 0x60:
		case 0x4d, 0x4e, 0x4f, 0x50, 0x5d, 0x5e, 0x5f:
			return p.failAt(p.pos-1, ErrUnsupported, "garbage collection or continuations (type form %#02x)", form)
		default:
			return p.failAt(p.pos-1, ErrMalformed, "type form %#02x is unknown", form)
		}
		if p.m.Types[i].Params, err = p.valTypes("parameters", p.lim.Params); err != nil {
			return err
		}
		if p.m.Types[i].Results, err = p.valTypes("results", p.lim.Results); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) valTypes(what string, limit int) ([]ValType, error) {
	n, err := p.count(what, limit, 1)
	if err != nil || n == 0 {
		return nil, err
	}
	ts := make([]ValType, n)
	for i := range ts {
		if ts[i], err = p.valType(); err != nil {
			return nil, err
		}
	}
	return ts, nil
}

// typeIndex reads the index of a type.
func (p *parser) typeIndex() (uint32, error) {
	at := p.pos
	t, err := p.u32()
	if err == nil && uint64(t) >= uint64(len(p.m.Types)) {
		return 0, p.failAt(at, ErrInvalid, "unknown type %d", t)
	}
	return t, err
}

func (p *parser) imports() error {
	n, err := p.count("imports", p.lim.Imports, 4)
	if err != nil {
		return err
	}
	p.m.Imports = make([]Import, 0, n)
	for range n {
		var im Import
		if im.Module, err = p.name(p.lim.NameBytes); err != nil {
			return err
		}
		if im.Name, err = p.name(p.lim.NameBytes); err != nil {
			return err
		}
		at := p.pos
		kind, err := p.byte()
		if err != nil {
			return err
		}
		switch kind {
		case 0:
		case 1, 2, 3:
			what := [4]string{1: "table", 2: "memory", 3: "global"}[kind]
			return p.failAt(at, ErrUnsupported, "import of a %s (%s %s): only functions can be imported",
				what, quote(im.Module), quote(im.Name))
		case 4:
			return p.failAt(at, ErrUnsupported, "exception handling (import of a tag)")
		default:
			return p.failAt(at, ErrMalformed, "import kind %d is unknown", kind)
		}
		if im.Type, err = p.typeIndex(); err != nil {
			return err
		}
		p.m.Imports = append(p.m.Imports, im)
	}
	return nil
}

func (p *parser) functions() error {
	n, err := p.count("functions", p.lim.Funcs, 1)
	if err != nil {
		return err
	}
	p.m.Funcs = make([]Func, n)
	for i := range p.m.Funcs {
		if p.m.Funcs[i].Type, err = p.typeIndex(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) tables() error {
	n, err := p.count("tables", p.lim.Tables, 3)
	if err != nil {
		return err
	}
	sum := uint64(0)
	for range n {
		at := p.pos
		if at < p.end && p.b[at] == 0x40 {
			return p.fail(ErrUnsupported, "table initialiser expressions")
		}
		var t Table
		if t.Type, err = p.refType(); err != nil {
			return err
		}
		if t.Size, err = p.size(maxTable); err != nil {
			return err
		}
		if sum += uint64(t.Min); sum > uint64(p.lim.TableElems) {
			return p.failAt(at, ErrLimit, "tables of %d elements, the limit is %d", sum, p.lim.TableElems)
		}
		p.m.Tables = append(p.m.Tables, t)
	}
	return nil
}

func (p *parser) memory() error {
	at := p.pos
	n, err := p.u32()
	if err != nil || n == 0 {
		return err
	}
	if n > 1 {
		return p.failAt(at, ErrUnsupported, "multiple memories (%d)", n)
	}
	s, err := p.size(maxPages)
	if err != nil {
		return err
	}
	if uint64(s.Min) > uint64(p.lim.MemoryPages) {
		return p.failAt(at, ErrLimit, "memory of at least %d pages, the limit is %d", s.Min, p.lim.MemoryPages)
	}
	p.m.Memory = &Memory{Size: s}
	return nil
}

func (p *parser) globals() error {
	p.needRefs()
	n, err := p.count("globals", p.lim.Globals, 4)
	if err != nil {
		return err
	}
	p.m.Globals = make([]Global, 0, n)
	for range n {
		var g Global
		if g.Type, err = p.valType(); err != nil {
			return err
		}
		mut, err := p.byte()
		if err != nil {
			return err
		}
		if mut > 1 {
			return p.failAt(p.pos-1, ErrMalformed, "mutability %#02x is unknown", mut)
		}
		g.Mutable = mut == 1
		if g.Init, err = p.constExpr(g.Type); err != nil {
			return err
		}
		p.m.Globals = append(p.m.Globals, g)
	}
	return nil
}

// needRefs makes the set of functions that ref.func may name; all functions are known
// once the first section that can mention one is reached.
func (p *parser) needRefs() {
	if p.refs == nil {
		p.refs = make([]bool, p.m.NumFuncs())
	}
}

func (p *parser) exports() error {
	p.needRefs()
	n, err := p.count("exports", p.lim.Exports, 3)
	if err != nil {
		return err
	}
	p.m.Exports = make([]Export, 0, n)
	names := make(map[string]struct{}, n)
	for range n {
		at := p.pos
		var e Export
		if e.Name, err = p.name(p.lim.NameBytes); err != nil {
			return err
		}
		if _, dup := names[e.Name]; dup {
			return p.failAt(at, ErrInvalid, "duplicate export name %s", quote(e.Name))
		}
		names[e.Name] = struct{}{}
		kind, err := p.byte()
		if err != nil {
			return err
		}
		if kind == 4 {
			return p.failAt(p.pos-1, ErrUnsupported, "exception handling (export of a tag)")
		}
		if kind > 4 {
			return p.failAt(p.pos-1, ErrMalformed, "export kind %d is unknown", kind)
		}
		e.Kind = ExternKind(kind)
		if e.Index, err = p.u32(); err != nil {
			return err
		}
		size := 0
		switch e.Kind {
		case ExternFunc:
			size = p.m.NumFuncs()
		case ExternTable:
			size = len(p.m.Tables)
		case ExternMemory:
			if p.m.Memory != nil {
				size = 1
			}
		case ExternGlobal:
			size = len(p.m.Globals)
		}
		if uint64(e.Index) >= uint64(size) {
			return p.failAt(at, ErrInvalid, "export %s: unknown %s %d", quote(e.Name), externNames[kind], e.Index)
		}
		if e.Kind == ExternFunc {
			p.refs[e.Index] = true
		}
		p.m.Exports = append(p.m.Exports, e)
	}
	return nil
}

var externNames = [4]string{"function", "table", "memory", "global"}

func (p *parser) start() error {
	at := p.pos
	f, err := p.u32()
	if err != nil {
		return err
	}
	t := p.m.FuncType(f)
	if t == nil {
		return p.failAt(at, ErrInvalid, "unknown function %d", f)
	}
	if len(t.Params) != 0 || len(t.Results) != 0 {
		return p.failAt(at, ErrInvalid, "start function must have neither parameters nor results")
	}
	p.m.HasStart, p.m.Start = true, f
	return nil
}

func (p *parser) countOfData() (err error) {
	// Not compared with the limit: the data section is, and finish compares both.
	if p.dataCount, err = p.u32(); err != nil {
		return err
	}
	p.m.DataCount = true
	return nil
}

// sameTypes compares two lists of types.
func sameTypes(a, b []ValType) bool { return slices.Equal(a, b) }
