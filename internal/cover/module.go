package cover

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
)

// module is what a module file says of its functions, as far as it can be read.
type module struct {
	imports uint32
	bodies  []uint64 // where the instructions of each function begin, from the start of the code section
	ends    []uint64
	names   map[uint32]string
	exports map[uint32]string
	debug   map[string][]byte // custom sections .debug_*
}

var errCut = errors.New("cut off")

// reader reads the few things that the layout of a module needs.
type reader struct {
	b   []byte
	pos int
	err error
}

func (r *reader) uleb() uint64 {
	v, n := binary.Uvarint(r.b[r.pos:])
	if n <= 0 {
		r.err, r.pos = errCut, len(r.b)
		return 0
	}
	r.pos += n
	return v
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)-r.pos) {
		r.err, r.pos = errCut, len(r.b)
		return nil
	}
	out := r.b[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return out
}

func (r *reader) text() string { return string(r.bytes(r.uleb())) }

func (r *reader) more() bool { return r.err == nil && r.pos < len(r.b) }

// Sections that are looked at.
const (
	secCustom = 0
	secImport = 2
	secExport = 7
	secCode   = 10
)

// readModule reads the parts that it understands and leaves out broken ones.
func readModule(file []byte) *module {
	m := &module{names: map[uint32]string{}, exports: map[uint32]string{}, debug: map[string][]byte{}}
	if len(file) < 8 || !bytes.HasPrefix(file, []byte("\x00asm")) {
		return m
	}
	r := &reader{b: file, pos: 8}
	for r.more() {
		id := r.bytes(1)
		payload := r.bytes(r.uleb())
		if r.err != nil {
			return m
		}
		s := &reader{b: payload}
		switch id[0] {
		case secCustom:
			name := s.text()
			switch {
			case name == "name":
				m.readNames(s)
			case strings.HasPrefix(name, ".debug_"):
				m.debug[name] = payload[s.pos:]
			}
		case secImport:
			m.readImports(s)
		case secExport:
			m.readExports(s)
		case secCode:
			m.readCode(s)
		}
	}
	return m
}

func (m *module) readImports(r *reader) {
	for n := r.uleb(); n > 0 && r.more(); n-- {
		r.text()
		r.text()
		if kind := r.bytes(1); len(kind) == 1 && kind[0] != 0 {
			return // hooks import functions only
		}
		r.uleb()
		m.imports++
	}
}

func (m *module) readExports(r *reader) {
	for n := r.uleb(); n > 0 && r.more(); n-- {
		name := r.text()
		kind := r.bytes(1)
		i := r.uleb()
		if r.err == nil && kind[0] == 0 && m.exports[uint32(i)] == "" {
			m.exports[uint32(i)] = name
		}
	}
}

func (m *module) readCode(r *reader) {
	for n := r.uleb(); n > 0 && r.more(); n-- {
		size := r.uleb()
		start := r.pos
		body := r.bytes(size)
		if r.err != nil {
			return
		}
		b := &reader{b: body}
		for k := b.uleb(); k > 0 && b.more(); k-- {
			b.uleb()
			b.bytes(1)
		}
		m.bodies = append(m.bodies, uint64(start+b.pos))
		m.ends = append(m.ends, uint64(start+len(body)))
	}
}

// readNames reads the names of functions, subsection 1.
func (m *module) readNames(r *reader) {
	for r.more() {
		id := r.bytes(1)
		payload := r.bytes(r.uleb())
		if r.err != nil {
			return
		}
		if id[0] != 1 {
			continue
		}
		s := &reader{b: payload}
		for n := s.uleb(); n > 0 && s.more(); n-- {
			i := s.uleb()
			if name := s.text(); s.err == nil {
				m.names[uint32(i)] = demangle(name)
			}
		}
	}
}

func (m *module) name(fn uint32) string {
	if n := m.names[fn]; n != "" {
		return n
	}
	return m.exports[fn]
}

// body is where the instructions of a function begin.
func (m *module) body(fn uint32) (uint64, bool) {
	if fn < m.imports || int(fn-m.imports) >= len(m.bodies) {
		return 0, false
	}
	return m.bodies[fn-m.imports], true
}

// demangle makes Rust's names readable: _ZN4hook5check17h0123456789abcdefE is
// hook::check.
func demangle(s string) string {
	rest, ok := strings.CutPrefix(s, "_ZN")
	if !ok || !strings.HasSuffix(s, "E") {
		return s
	}
	var parts []string
	for rest != "E" {
		n, digits := 0, 0
		for digits < len(rest) && digits < 4 && rest[digits] >= '0' && rest[digits] <= '9' {
			n = 10*n + int(rest[digits]-'0')
			digits++
		}
		if digits == 0 || digits+n >= len(rest) {
			return s
		}
		parts = append(parts, rest[digits:digits+n])
		rest = rest[digits+n:]
	}
	if n := len(parts); n > 1 && len(parts[n-1]) == 17 && parts[n-1][0] == 'h' {
		parts = parts[:n-1]
	}
	return strings.NewReplacer("$LT$", "<", "$GT$", ">", "$u20$", " ", "$RF$", "&", "$u7b$", "{", "$u7d$", "}", "..",
		"::").Replace(strings.Join(parts, "::"))
}
