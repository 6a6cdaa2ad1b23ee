package wasm

import "errors"

// The sections with contents: elements, code, data.

func (p *parser) elems() error {
	p.needRefs()
	n, err := p.count("element segments", p.lim.ElemSegments, 3)
	if err != nil {
		return err
	}
	p.m.Elems = make([]Elem, 0, n)
	for range n {
		s, err := p.elem()
		if err != nil {
			return err
		}
		if s.Mode == SegPassive {
			p.m.Facts.PassiveElems++
		}
		p.m.Facts.ElemCount += len(s.Init)
		p.m.Elems = append(p.m.Elems, s)
	}
	return nil
}

// elem reads a segment in one of its eight forms; see encoder.elem.
func (p *parser) elem() (s Elem, err error) {
	at := p.pos
	flag, err := p.u32()
	if err != nil {
		return s, err
	}
	if flag > 7 {
		return s, p.failAt(at, ErrMalformed, "element segment kind %d is unknown", flag)
	}
	s.Type = FuncRef
	switch flag & 3 {
	case 1:
		s.Mode = SegPassive
	case 3:
		s.Mode = SegDeclarative
	case 2:
		if s.Table, err = p.u32(); err != nil {
			return s, err
		}
	}
	if s.Mode == SegActive {
		if uint64(s.Table) >= uint64(len(p.m.Tables)) {
			return s, p.failAt(at, ErrInvalid, "unknown table %d", s.Table)
		}
		if s.Offset, err = p.constExpr(I32); err != nil {
			return s, err
		}
	}
	exprs := flag&4 != 0
	if flag&3 != 0 {
		if exprs {
			s.Type, err = p.refType()
		} else {
			var kind byte
			if kind, err = p.byte(); err == nil && kind != 0 {
				err = p.failAt(p.pos-1, ErrMalformed, "element kind %#02x is unknown", kind)
			}
		}
		if err != nil {
			return s, err
		}
	}
	if s.Mode == SegActive && p.m.Tables[s.Table].Type != s.Type {
		return s, p.failAt(at, ErrInvalid, "type mismatch: %s elements for a table of %s", s.Type, p.m.Tables[s.Table].Type)
	}
	each := 1
	if exprs {
		each = 3
	}
	n, err := p.count("elements", p.lim.Elems-p.m.Facts.ElemCount, each)
	if err != nil {
		return s, err
	}
	if n > 0 {
		s.Init = make([]uint32, n)
	}
	for i := range s.Init {
		if s.Init[i], err = p.element(s.Type, exprs); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (p *parser) element(t ValType, expr bool) (uint32, error) {
	if expr {
		c, err := p.constExpr(t)
		if err != nil || c.Op == OpRefNull {
			return RefNull, err
		}
		return c.Index, nil
	}
	at := p.pos
	f, err := p.u32()
	if err != nil {
		return 0, err
	}
	if uint64(f) >= uint64(len(p.refs)) {
		return 0, p.failAt(at, ErrInvalid, "unknown function %d", f)
	}
	p.refs[f] = true
	return f, nil
}

func (p *parser) code() error {
	p.needRefs()
	at := p.pos
	n, err := p.u32()
	if err != nil {
		return err
	}
	if uint64(n) != uint64(len(p.m.Funcs)) {
		return p.failAt(at, ErrMalformed, "function and code section have inconsistent lengths: %d and %d", len(p.m.Funcs), n)
	}
	v := newValidator(p)
	for i := range p.m.Funcs {
		f := &p.m.Funcs[i]
		if err := p.function(v, f); err != nil {
			if e := (*Error)(nil); errors.As(err, &e) {
				e.Func = len(p.m.Imports) + i
			}
			return err
		}
		facts := &p.m.Facts
		facts.CodeSize += len(f.Body)
		facts.BrTable += uint64(f.Facts.BrTable)
		facts.TableWrites = facts.TableWrites || f.Facts.TableWrites > 0
		facts.SegmentDrops = facts.SegmentDrops || f.Facts.Drops > 0
		facts.MemoryGrow = facts.MemoryGrow || f.Facts.MemoryGrow > 0
		facts.SIMD = facts.SIMD || f.Facts.SIMD > 0
	}
	return nil
}

// function reads and validates one body with its declaration of locals.
func (p *parser) function(v *validator, f *Func) error {
	at := p.pos
	size, err := p.u32()
	if err != nil {
		return err
	}
	if uint64(size) > uint64(p.end-p.pos) {
		return p.failAt(at, ErrMalformed, "body of %d bytes passes the end of the section", size)
	}
	if uint64(size) > uint64(p.lim.BodyBytes) {
		return p.failAt(at, ErrLimit, "body of %d bytes, the limit is %d", size, p.lim.BodyBytes)
	}
	// Reads below stay inside of the body.
	outer := p.end
	p.end = p.pos + int(size)
	runs, err := p.count("runs of locals", p.lim.Locals, 2)
	if err != nil {
		return err
	}
	total := uint64(len(p.m.Types[f.Type].Params))
	if runs > 0 {
		f.Locals = make([]LocalRun, runs)
	}
	for i := range f.Locals {
		l := &f.Locals[i]
		if l.Count, err = p.u32(); err != nil {
			return err
		}
		if total += uint64(l.Count); total > uint64(p.lim.Locals) {
			class := ErrLimit
			if total > 1<<32-1 {
				class = ErrMalformed
			}
			return p.failAt(at, class, "too many locals: %d, the limit is %d", total, p.lim.Locals)
		}
		if l.Type, err = p.valType(); err != nil {
			return err
		}
	}
	f.Body = p.b[p.pos:p.end:p.end]
	if err := v.function(f, p.pos); err != nil {
		return err
	}
	p.pos, p.end = p.end, outer
	return nil
}

func (p *parser) datas() error {
	p.needRefs()
	n, err := p.count("data segments", p.lim.DataSegments, 2)
	if err != nil {
		return err
	}
	p.m.Datas = make([]Data, 0, n)
	for range n {
		at := p.pos
		var d Data
		flag, err := p.u32()
		if err != nil {
			return err
		}
		mem := uint32(0)
		switch flag {
		case 0:
		case 1:
			d.Mode = SegPassive
			p.m.Facts.PassiveData++
		case 2:
			if mem, err = p.u32(); err != nil {
				return err
			}
		default:
			return p.failAt(at, ErrMalformed, "data segment kind %d is unknown", flag)
		}
		if d.Mode == SegActive {
			if p.m.Memory == nil || mem != 0 {
				return p.failAt(at, ErrInvalid, "unknown memory %d", mem)
			}
			if d.Offset, err = p.constExpr(I32); err != nil {
				return err
			}
		}
		size, err := p.u32()
		if err != nil {
			return err
		}
		if d.Init, err = p.take(size); err != nil {
			return err
		}
		p.m.Datas = append(p.m.Datas, d)
	}
	return nil
}
