package wasm

import (
	"errors"
	"io"
)

// Encode writes a module from its model, canonically, with no custom sections apart
// from keep. Bodies are decoded and re-encoded instruction by instruction; an error
// (of [Reader]) is possible only when a body was not made by Parse or AppendInstr.
// Encode does not validate: types and indices are written as they stand.
func Encode(m *Module, keep ...Custom) ([]byte, error) {
	size := 1024
	for i := range m.Funcs {
		size += len(m.Funcs[i].Body) + 16
	}
	for i := range m.Datas {
		size += len(m.Datas[i].Init) + 16
	}
	e := encoder{out: make([]byte, 0, size)}
	e.out = append(e.out, "\x00asm\x01\x00\x00\x00"...)
	e.types(m)
	e.imports(m)
	if len(m.Funcs) > 0 {
		at := e.begin(secFunction)
		e.u32(len(m.Funcs))
		for i := range m.Funcs {
			e.out = AppendU32(e.out, m.Funcs[i].Type)
		}
		e.finish(at)
	}
	e.tablesAndMemory(m)
	e.globals(m)
	e.exports(m)
	if m.HasStart {
		at := e.begin(secStart)
		e.out = AppendU32(e.out, m.Start)
		e.finish(at)
	}
	e.elems(m)
	if m.DataCount {
		at := e.begin(secDataCount)
		e.u32(len(m.Datas))
		e.finish(at)
	}
	if err := e.code(m); err != nil {
		return nil, err
	}
	e.datas(m)
	for _, c := range keep {
		at := e.begin(secCustom)
		e.name(c.Name)
		e.out = append(e.out, c.Payload...)
		e.finish(at)
	}
	return e.out, nil
}

// The section numbers of the binary format.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElem
	secCode
	secData
	secDataCount
)

type encoder struct {
	out []byte
	tmp []byte // scratch for one body
}

func (e *encoder) u32(n int)     { e.out = AppendU32(e.out, uint32(n)) }
func (e *encoder) name(s string) { e.u32(len(s)); e.out = append(e.out, s...) }

// begin opens a section and returns where its contents start.
func (e *encoder) begin(id byte) int {
	e.out = append(e.out, id)
	return len(e.out)
}

// finish puts the length before the contents of the section.
func (e *encoder) finish(at int) {
	n := len(e.out) - at
	var buf [5]byte
	l := AppendU32(buf[:0], uint32(n))
	e.out = append(e.out, l...)
	copy(e.out[at+len(l):], e.out[at:at+n])
	copy(e.out[at:], l)
}

func (e *encoder) types(m *Module) {
	if len(m.Types) == 0 {
		return
	}
	at := e.begin(secType)
	e.u32(len(m.Types))
	for i := range m.Types {
		e.out = append(e.out, 0x60)
		for _, ts := range [2][]ValType{m.Types[i].Params, m.Types[i].Results} {
			e.u32(len(ts))
			for _, t := range ts {
				e.out = append(e.out, byte(t))
			}
		}
	}
	e.finish(at)
}

func (e *encoder) imports(m *Module) {
	if len(m.Imports) == 0 {
		return
	}
	at := e.begin(secImport)
	e.u32(len(m.Imports))
	for i := range m.Imports {
		e.name(m.Imports[i].Module)
		e.name(m.Imports[i].Name)
		e.out = AppendU32(append(e.out, byte(ExternFunc)), m.Imports[i].Type)
	}
	e.finish(at)
}

func (e *encoder) size(s Size) {
	if !s.HasMax {
		e.out = AppendU32(append(e.out, 0), s.Min)
		return
	}
	e.out = AppendU32(AppendU32(append(e.out, 1), s.Min), s.Max)
}

func (e *encoder) tablesAndMemory(m *Module) {
	if len(m.Tables) > 0 {
		at := e.begin(secTable)
		e.u32(len(m.Tables))
		for _, t := range m.Tables {
			e.out = append(e.out, byte(t.Type))
			e.size(t.Size)
		}
		e.finish(at)
	}
	if m.Memory != nil {
		at := e.begin(secMemory)
		e.u32(1)
		e.size(m.Memory.Size)
		e.finish(at)
	}
}

func (e *encoder) constExpr(c ConstExpr) {
	in := Instr{Op: c.Op, Bits: c.Bits, BitsHi: c.BitsHi, Index: c.Index, Type: c.Type}
	e.out = append(AppendInstr(e.out, &in), byte(OpEnd))
}

func (e *encoder) globals(m *Module) {
	if len(m.Globals) == 0 {
		return
	}
	at := e.begin(secGlobal)
	e.u32(len(m.Globals))
	for i := range m.Globals {
		g := &m.Globals[i]
		mut := byte(0)
		if g.Mutable {
			mut = 1
		}
		e.out = append(e.out, byte(g.Type), mut)
		e.constExpr(g.Init)
	}
	e.finish(at)
}

func (e *encoder) exports(m *Module) {
	if len(m.Exports) == 0 {
		return
	}
	at := e.begin(secExport)
	e.u32(len(m.Exports))
	for i := range m.Exports {
		e.name(m.Exports[i].Name)
		e.out = AppendU32(append(e.out, byte(m.Exports[i].Kind)), m.Exports[i].Index)
	}
	e.finish(at)
}

func (e *encoder) elems(m *Module) {
	if len(m.Elems) == 0 {
		return
	}
	at := e.begin(secElem)
	e.u32(len(m.Elems))
	for i := range m.Elems {
		e.elem(&m.Elems[i])
	}
	e.finish(at)
}

// elem picks the shortest of the eight forms: bit 0 passive or declarative, bit 1 a table
// index (active) or declarative, bit 2 expressions instead of function indices.
func (e *encoder) elem(s *Elem) {
	exprs := s.Type != FuncRef
	for _, f := range s.Init {
		exprs = exprs || f == RefNull
	}
	flag := uint32(0)
	switch {
	case s.Mode == SegPassive:
		flag = 1
	case s.Mode == SegDeclarative:
		flag = 3
	case s.Table != 0 || s.Type != FuncRef:
		flag = 2
	}
	long := flag != 0 // the type is said and, of an active one, the table
	if exprs {
		flag |= 4
	}
	e.out = AppendU32(e.out, flag)
	if s.Mode == SegActive {
		if long {
			e.out = AppendU32(e.out, s.Table)
		}
		e.constExpr(s.Offset)
	}
	if long {
		if exprs {
			e.out = append(e.out, byte(s.Type))
		} else {
			e.out = append(e.out, 0) // element kind: functions
		}
	}
	e.u32(len(s.Init))
	for _, f := range s.Init {
		switch {
		case !exprs:
			e.out = AppendU32(e.out, f)
		case f == RefNull:
			e.constExpr(ConstExpr{Op: OpRefNull, Type: s.Type})
		default:
			e.constExpr(ConstExpr{Op: OpRefFunc, Index: f})
		}
	}
}

func (e *encoder) code(m *Module) error {
	if len(m.Funcs) == 0 {
		return nil
	}
	at := e.begin(secCode)
	e.u32(len(m.Funcs))
	var in Instr
	for i := range m.Funcs {
		f := &m.Funcs[i]
		b := AppendU32(e.tmp[:0], uint32(len(f.Locals)))
		for _, l := range f.Locals {
			b = append(AppendU32(b, l.Count), byte(l.Type))
		}
		r := NewReader(f.Body)
		for {
			err := r.Next(&in)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			b = AppendInstr(b, &in)
		}
		e.tmp = b
		e.u32(len(b))
		e.out = append(e.out, b...)
	}
	e.finish(at)
	return nil
}

func (e *encoder) datas(m *Module) {
	if len(m.Datas) == 0 {
		return
	}
	at := e.begin(secData)
	e.u32(len(m.Datas))
	for i := range m.Datas {
		d := &m.Datas[i]
		if d.Mode == SegPassive {
			e.u32(1)
		} else {
			e.u32(0)
			e.constExpr(d.Offset)
		}
		e.u32(len(d.Init))
		e.out = append(e.out, d.Init...)
	}
	e.finish(at)
}
