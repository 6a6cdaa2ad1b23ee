package wasm

import (
	"errors"
	"math"
	"strings"
	"unicode/utf8"
)

// Parse decodes and validates file. The module aliases file, which must stay unchanged.
// Errors are *Error of any class of this package; a nil error means that the module is
// a valid core 2.0 module within lim.
func Parse(file []byte, lim Limits) (*Module, error) {
	p := &parser{b: file, end: len(file), lim: &lim, m: &Module{}}
	if err := p.module(); err != nil {
		return nil, err
	}
	return p.m, nil
}

// parser walks over the file. All offsets are those of the file; b[:end] is what the
// current section may read.
type parser struct {
	b    []byte
	pos  int
	end  int
	sec  string // name of the current section, for errors
	lim  *Limits
	m    *Module
	refs []bool // functions that ref.func may name inside of bodies

	seen      [13]bool
	dataCount uint32 // value of the data count section
	manifests int
}

// order ranks the sections: a module's sections must have rising ranks. Custom sections
// may stand anywhere.
var order = [13]uint8{secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6,
	secExport: 7, secStart: 8, secElem: 9, secDataCount: 10, secCode: 11, secData: 12}

var sectionNames = [13]string{secCustom: "custom", secType: "type", secImport: "import", secFunction: "function",
	secTable: "table", secMemory: "memory", secGlobal: "global", secExport: "export", secStart: "start",
	secElem: "element", secDataCount: "data count", secCode: "code", secData: "data"}

func (p *parser) fail(class error, format string, args ...any) error {
	return p.failAt(p.pos, class, format, args...)
}

func (p *parser) failAt(off int, class error, format string, args ...any) error {
	e := newError(class, off, format, args...)
	e.Section = p.sec
	return e
}

func (p *parser) module() error {
	if len(p.b) > p.lim.FileBytes {
		return p.failAt(-1, ErrLimit, "%d bytes, the limit is %d", len(p.b), p.lim.FileBytes)
	}
	if err := p.header(); err != nil {
		return err
	}
	rank := uint8(0)
	for p.pos < len(p.b) {
		p.sec, p.end = "", len(p.b)
		start := p.pos
		id, err := p.byte()
		if err != nil {
			return err
		}
		if id > secDataCount {
			if id == 13 {
				return p.failAt(start, ErrUnsupported, "exception handling (tag section)")
			}
			return p.failAt(start, ErrMalformed, "section number %d is unknown", id)
		}
		p.sec = sectionNames[id]
		size, err := p.u32()
		if err != nil {
			return err
		}
		if uint64(size) > uint64(len(p.b)-p.pos) {
			return p.fail(ErrMalformed, "length %d passes the end of the file", size)
		}
		p.end = p.pos + int(size)
		if id != secCustom {
			if order[id] <= rank {
				return p.failAt(start, ErrMalformed, "section out of order or repeated")
			}
			rank = order[id]
			p.seen[id] = true
		}
		if err := p.section(id); err != nil {
			return err
		}
		if p.pos != p.end {
			return p.fail(ErrMalformed, "%d bytes too many", p.end-p.pos)
		}
	}
	p.sec = ""
	return p.finish()
}

// lookOf says what a file looks like that is no module, by its first bytes.
func lookOf(b []byte) string {
	for start, text := range map[string]string{
		"\x7fELF": "a program of this system (ELF)", "MZ": "a program of Windows", "\xcf\xfa\xed\xfe": "a program of macOS",
		"\x1f\x8b": "a file that gzip packed", "PK\x03\x04": "a zip file", "!<arch>": "a static library", "#!": "a script",
		"{": "JSON",
	} {
		if strings.HasPrefix(string(b), start) {
			return "; it looks like " + text
		}
	}
	return ""
}

func (p *parser) header() error {
	if len(p.b) < 8 || string(p.b[:4]) != "\x00asm" {
		if len(p.b) > 0 && strings.HasPrefix(strings.TrimLeft(string(p.b[:min(64, len(p.b))]), " \t\r\n"), "(") {
			return p.fail(ErrMalformed,
				"not a WebAssembly binary; it looks like the text format, which has to be assembled first")
		}
		return p.fail(ErrMalformed, "not a WebAssembly binary%s", lookOf(p.b))
	}
	switch v := [4]byte(p.b[4:8]); {
	case v == [4]byte{1, 0, 0, 0}:
	case v[0] != 0 && v[1] == 0 && v[2] == 1 && v[3] == 0:
		return p.failAt(4, ErrComponent, "hooks are core modules: build for wasm32-unknown-unknown or "+
			"wasm32-wasip1 (not wasip2 and later), and leave out any step that makes a component")
	default:
		return p.failAt(4, ErrMalformed, "version is unknown")
	}
	p.pos = 8
	return nil
}

func (p *parser) section(id byte) error {
	switch id {
	case secCustom:
		return p.custom()
	case secType:
		return p.types()
	case secImport:
		return p.imports()
	case secFunction:
		return p.functions()
	case secTable:
		return p.tables()
	case secMemory:
		return p.memory()
	case secGlobal:
		return p.globals()
	case secExport:
		return p.exports()
	case secStart:
		return p.start()
	case secElem:
		return p.elems()
	case secDataCount:
		return p.countOfData()
	case secCode:
		return p.code()
	}
	return p.datas()
}

// finish checks what only the whole file can tell.
func (p *parser) finish() error {
	m := p.m
	switch {
	case len(m.Funcs) > 0 && !p.seen[secCode]:
		return p.fail(ErrMalformed, "%d functions without a code section", len(m.Funcs))
	case p.seen[secDataCount] && uint64(p.dataCount) != uint64(len(m.Datas)):
		return p.fail(ErrMalformed, "data count section says %d, there are %d segments", p.dataCount, len(m.Datas))
	case !p.lim.NoManifest && p.manifests == 0:
		return p.failAt(-1, ErrInvalid, "no %s section: the module has not been packed as a hook", ManifestSection)
	}
	if !p.lim.AnyShape {
		if m.Memory == nil {
			return p.failAt(-1, ErrInvalid, "a hook needs a memory of its own")
		}
		if e, ok := m.FindExport("memory"); !ok || e.Kind != ExternMemory {
			return p.failAt(-1, ErrInvalid, `a hook exports its memory as "memory"`)
		}
	}
	f := &m.Facts
	f.FileSize = len(p.b)
	for i := range m.Globals {
		if g := &m.Globals[i]; g.Mutable {
			f.MutableGlobals++
			if !g.Type.IsNum() {
				f.OtherGlobals++
			}
		}
	}
	return nil
}

// The primitives of the format.

func (p *parser) byte() (byte, error) {
	if p.pos >= p.end {
		return 0, p.fail(ErrMalformed, "unexpected end")
	}
	p.pos++
	return p.b[p.pos-1], nil
}

func (p *parser) u32() (uint32, error) {
	v, n, st := readU32(p.b[p.pos:p.end])
	if st != lebOK {
		return 0, p.fail(ErrMalformed, "%v", st)
	}
	p.pos += n
	return v, nil
}

func (p *parser) take(n uint32) ([]byte, error) {
	if uint64(n) > uint64(p.end-p.pos) {
		return nil, p.fail(ErrMalformed, "length %d passes the end of the section", n)
	}
	p.pos += int(n)
	return p.b[p.pos-int(n) : p.pos : p.pos], nil
}

// count reads a count and checks it against its limit and against the bytes at hand, of
// which every entry takes at least each. Only then may memory be allocated for it.
func (p *parser) count(what string, limit, each int) (int, error) {
	at := p.pos
	n, err := p.u32()
	if err != nil {
		return 0, err
	}
	if uint64(n) > uint64(limit) {
		return 0, p.failAt(at, ErrLimit, "%d %s, the limit is %d", n, what, limit)
	}
	if uint64(n)*uint64(each) > uint64(p.end-p.pos) {
		return 0, p.failAt(at, ErrMalformed, "%d %s do not fit into the section", n, what)
	}
	return int(n), nil
}

func (p *parser) name(limit int) (string, error) {
	at := p.pos
	n, err := p.u32()
	if err != nil {
		return "", err
	}
	b, err := p.take(n)
	if err != nil {
		return "", err
	}
	if len(b) > limit {
		return "", p.failAt(at, ErrLimit, "name of %d bytes, the limit is %d", len(b), limit)
	}
	if !utf8.Valid(b) {
		return "", p.failAt(at, ErrMalformed, "name is not UTF-8: malformed UTF-8 encoding")
	}
	s := string(b)
	if strings.HasPrefix(s, Reserved) {
		return "", p.failAt(at, ErrInvalid, "name %s: the prefix %s is reserved", quote(s), Reserved)
	}
	return s, nil
}

func (p *parser) valType() (ValType, error) {
	c, err := p.byte()
	if err != nil {
		return 0, err
	}
	if t := ValType(c); t.Valid() {
		return t, nil
	}
	e := unknownType(c, p.pos-1)
	e.Section = p.sec
	return 0, e
}

func (p *parser) refType() (ValType, error) {
	t, err := p.valType()
	if err == nil && !t.IsRef() {
		return 0, p.failAt(p.pos-1, ErrMalformed, "%s is no reference type", t)
	}
	return t, err
}

// size reads the limits of a table or memory, neither above the given maximum.
func (p *parser) size(greatest uint32) (s Size, err error) {
	at := p.pos
	flag, err := p.byte()
	if err != nil {
		return s, err
	}
	switch {
	case flag <= 1:
	case flag <= 3:
		return s, p.failAt(at, ErrUnsupported, "threads (shared memory)")
	case flag <= 7:
		return s, p.failAt(at, ErrUnsupported, "64-bit memory or table")
	default:
		return s, p.failAt(at, ErrMalformed, "limits flag %#02x is unknown", flag)
	}
	if s.Min, err = p.u32(); err != nil {
		return s, err
	}
	if s.HasMax = flag == 1; s.HasMax {
		if s.Max, err = p.u32(); err != nil {
			return s, err
		}
		if s.Min > s.Max {
			return s, p.failAt(at, ErrInvalid, "minimum %d is greater than maximum %d", s.Min, s.Max)
		}
	}
	if s.Min > greatest || s.Max > greatest {
		return s, p.failAt(at, ErrInvalid, "size of %d, at most %d is possible", max(s.Min, s.Max), greatest)
	}
	return s, nil
}

// constExpr reads a constant expression of type want.
func (p *parser) constExpr(want ValType) (c ConstExpr, err error) {
	at := p.pos
	r := NewReader(p.b[p.pos:p.end])
	var in Instr
	if err := p.next(&r, &in, at); err != nil {
		return c, err
	}
	c.Op = in.Op
	var got ValType
	switch in.Op {
	case OpI32Const:
		got, c.Bits = I32, in.Bits
	case OpI64Const:
		got, c.Bits = I64, in.Bits
	case OpF32Const:
		got, c.Bits = F32, in.Bits
	case OpF64Const:
		got, c.Bits = F64, in.Bits
	case OpV128Const:
		got, c.Bits, c.BitsHi = V128, in.Bits, in.BitsHi
	case OpRefNull:
		got, c.Type = in.Type, in.Type
	case OpRefFunc:
		got, c.Index = FuncRef, in.Index
		if uint64(c.Index) >= uint64(p.m.NumFuncs()) {
			return c, p.failAt(at, ErrInvalid, "unknown function %d", c.Index)
		}
		p.refs[c.Index] = true
	case OpGlobalGet:
		return c, p.failAt(at, ErrInvalid, "a constant expression can only use imported globals, and there are none")
	case OpEnd:
		return c, p.failAt(at, ErrInvalid, "type mismatch: the constant expression is empty")
	default:
		return c, p.failAt(at, ErrInvalid, "%s is not allowed in a constant expression", in.Op)
	}
	if err := p.next(&r, &in, at); err != nil {
		return c, err
	}
	if in.Op != OpEnd {
		return c, p.failAt(at, ErrInvalid,
			"constant expression of more than one instruction (extended constant expressions are not supported)")
	}
	if got != want {
		return c, p.failAt(at, ErrInvalid, "type mismatch: constant expression of type %s, %s is needed", got, want)
	}
	p.pos = at + r.Pos()
	return c, nil
}

// next reads an instruction of a constant expression; base is where the reader started.
func (p *parser) next(r *Reader, in *Instr, base int) error {
	err := r.Next(in)
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Section, e.Offset = p.sec, e.Offset+base
		return e
	}
	return p.failAt(base+r.Pos(), ErrMalformed, "unexpected end of a constant expression")
}

func (p *parser) custom() error {
	if len(p.m.Customs) >= p.lim.Customs {
		return p.fail(ErrLimit, "more than %d custom sections", p.lim.Customs)
	}
	at := p.pos
	name, err := p.name(p.lim.CustomName)
	if err != nil {
		return err
	}
	payload, err := p.take(uint32(p.end - p.pos))
	if err != nil {
		return err
	}
	if name == ManifestSection {
		if p.manifests++; p.manifests > 1 {
			return p.failAt(at, ErrInvalid, "more than one %s section", ManifestSection)
		}
		if len(payload) > p.lim.ManifestBytes {
			return p.failAt(at, ErrLimit, "manifest of %d bytes, the limit is %d", len(payload), p.lim.ManifestBytes)
		}
	} else if strings.HasPrefix(name, "belay.") {
		return p.failAt(at, ErrInvalid, "section name %s: the prefix belay. is reserved", quote(name))
	}
	p.m.Customs = append(p.m.Customs, Custom{Name: name, Payload: payload})
	return nil
}

const maxPages = 65536

// maxTable is the greatest size that a table may declare.
const maxTable = math.MaxUint32
