package wasm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// inBody is a file with one function ()->() of that body, one memory and one table.
func inBody(code ...byte) []byte {
	return withBody(append(append([]byte{0}, code...), 0x0b))
}

func withBody(b []byte) []byte {
	contents := append(wasm.AppendU32([]byte{1}, uint32(len(b))), b...)
	return file(section(1, 1, 0x60, 0, 0), section(3, 1, 0), section(4, 1, 0x70, 0, 1), section(5, 1, 0, 1),
		section(10, contents...))
}

// TestRefusedFeatures is what other versions of the language have: each refused, as
// unsupported, by a text that names the feature.
func TestRefusedFeatures(t *testing.T) {
	types := section(1, 1, 0x60, 0, 0)
	for _, tc := range []struct {
		name, text string
		file       []byte
	}{
		{"atomics", "threads", inBody(0xfe, 0x03, 0)},
		{"tail call", "tail calls", inBody(0x12, 0)},
		{"indirect tail call", "tail calls", inBody(0x13, 0, 0)},
		{"call_ref", "function references", inBody(0x14, 0)},
		{"br_on_null", "function references", inBody(0xd0, 0x70, 0xd5, 0)},
		{"try", "exception", inBody(0x06, 0x40, 0x0b)},
		{"throw", "exception", inBody(0x08, 0)},
		{"try_table", "exception", inBody(0x1f, 0x40, 0, 0x0b)},
		{"struct.new", "garbage", inBody(0xfb, 0, 0)},
		{"ref.eq", "garbage", inBody(0xd3)},
		{"relaxed SIMD", "relaxed SIMD", inBody(0xfd, 0x80, 0x02)},
		{"padded SIMD opcode", "padded opcode", inBody(0x00, 0xfd, 0xe2, 0x00)},
		{"block of a typed reference", "typed references", inBody(0x02, 0x63, 0x70, 0x0b)},
		{"tag section", "exception", file(types, section(13, 0))},
		{"tag import", "exception", file(types, section(2, 1, 1, 'a', 1, 'b', 4, 0, 0))},
		{"tag export", "exception", file(types, section(7, 1, 1, 'a', 4, 0))},
		{"struct type", "garbage", file(section(1, 1, 0x5f, 0, 0))},
		{"typed reference", "typed references", file(section(1, 1, 0x60, 1, 0x64, 0x70, 0))},
		{"shared memory", "threads", file(section(5, 1, 3, 1, 1))},
		{"64-bit memory", "64-bit", file(section(5, 1, 4, 1))},
		{"shared memory without a maximum", "threads", file(section(5, 1, 2, 1))},
		{"shared 64-bit memory", "64-bit", file(section(5, 1, 7, 1, 1))},
		{"64-bit table", "64-bit", file(section(4, 1, 0x70, 4, 1))},
		{"two memories", "multiple memories", file(section(5, 2, 0, 1, 0, 1))},
		{"table initialiser", "initialiser", file(section(4, 1, 0x40, 0, 0x70, 0, 1, 0xd0, 0x70, 0x0b))},
		{"memory import", "only functions", file(types, section(2, 1, 1, 'a', 1, 'b', 2, 0, 1))},
		{"table import", "only functions", file(types, section(2, 1, 1, 'a', 1, 'b', 1, 0x70, 0, 1))},
		{"global import", "only functions", file(types, section(2, 1, 1, 'a', 1, 'b', 3, 0x7f, 0))},
	} {
		_, err := wasm.Parse(tc.file, wasm.RelaxedLimits())
		if !errors.Is(err, wasm.ErrUnsupported) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, want unsupported with %q", tc.name, err, tc.text)
		}
	}
}

// TestRefusedBytes: files that are wrong in every version.
func TestRefusedBytes(t *testing.T) {
	types := section(1, 1, 0x60, 0, 0)
	for _, tc := range []struct {
		name  string
		class error
		text  string
		file  []byte
	}{
		{"empty", wasm.ErrMalformed, "not a WebAssembly binary", nil},
		{"text", wasm.ErrMalformed, "text format", []byte(" (module)")},
		{"version", wasm.ErrMalformed, "version", []byte("\x00asm\x02\x00\x00\x00")},
		{"component", wasm.ErrComponent, "wasm32-wasip1", []byte("\x00asm\x0d\x00\x01\x00")},
		{"unknown section", wasm.ErrMalformed, "section number 14", file(section(14))},
		{"out of order", wasm.ErrMalformed, "out of order", file(section(3, 0), types)},
		{"twice", wasm.ErrMalformed, "repeated", file(types, types)},
		{"data count after code", wasm.ErrMalformed, "out of order", file(section(10, 0), section(12, 0))},
		{"section too long", wasm.ErrMalformed, "passes the end", append(file(), 1, 9, 0)},
		{"bytes left in a section", wasm.ErrMalformed, "too many", file(section(1, 0, 0))},
		{"bytes left in the file", wasm.ErrMalformed, "unexpected end", append(file(types), 1)},
		{"LEB of six bytes", wasm.ErrMalformed, "integer", file(section(1, 0x80, 0x80, 0x80, 0x80, 0x80, 0))},
		{"LEB with high bits", wasm.ErrMalformed, "integer", file(section(1, 0x80, 0x80, 0x80, 0x80, 0x10))},
		{"no code", wasm.ErrMalformed, "without a code section", file(types, section(3, 1, 0))},
		{"code without functions", wasm.ErrMalformed, "inconsistent", file(types, section(10, 1, 2, 0, 0x0b))},
		{"export of an unknown kind", wasm.ErrMalformed, "export kind 5 is unknown", file(section(7, 1, 1, 'x', 5, 0))},
		{"export name not UTF-8", wasm.ErrMalformed, "UTF-8", file(section(7, 1, 1, 0xff, 0, 0))},
		{"surrogate in a name", wasm.ErrMalformed, "UTF-8", file(section(0, 3, 0xed, 0xa0, 0x80))},
		{"body without end", wasm.ErrMalformed, "end is missing", withBody([]byte{0, 0x01})},
		{"body after end", wasm.ErrMalformed, "after the end", withBody([]byte{0, 0x0b, 0x01})},
		{"else without if", wasm.ErrMalformed, "else", inBody(0x05)},
		{"unknown opcode", wasm.ErrMalformed, "opcode", inBody(0x27)},
		{"unknown misc opcode", wasm.ErrMalformed, "opcode", inBody(0xfc, 18)},
		{"gap in SIMD", wasm.ErrMalformed, "opcode", inBody(0xfd, 0x9a, 0x01)},
		{"limits flag", wasm.ErrMalformed, "limits flag 0x08", file(section(5, 1, 8, 1))},
		{"size of a body of six bytes", wasm.ErrMalformed, "integer",
			file(types, section(3, 1, 0), section(10, append([]byte{1}, sixBytes...)...))},
		{"runs of locals of six bytes", wasm.ErrMalformed, "integer", withBody(append(slices.Clone(sixBytes), 0x0b))},
		{"count of a run of six bytes", wasm.ErrMalformed, "integer",
			withBody(append(append([]byte{1}, sixBytes...), 0x7f, 0x0b))},
		{"type of a local", wasm.ErrMalformed, "type 0x40", withBody([]byte{1, 1, 0x40, 0x0b})},
		{"a body of nothing", wasm.ErrMalformed, "unexpected end", withBody(nil)},
		{"memory index", wasm.ErrMalformed, "zero byte", inBody(0x3f, 1, 0x1a)},
		{"data.drop without count", wasm.ErrMalformed, "data count", inBody(0xfc, 9, 0)},
		{"data count and data differ", wasm.ErrMalformed, "data count section says 2",
			file(section(12, 2), section(11, 1, 1, 0))},
		{"data count without data", wasm.ErrMalformed, "data count section says 1", file(section(12, 1))},
		{"table of numbers", wasm.ErrMalformed, "no reference type", file(section(4, 1, 0x7f, 0, 1))},
		{"element segment kind", wasm.ErrMalformed, "kind 8",
			file(section(4, 1, 0x70, 0, 1), section(9, 1, 8, 0x41, 0, 0x0b, 0))},
		{"padded empty block type", wasm.ErrMalformed, "block type", inBody(0x02, 0xc0, 0x7f, 0x0b)},
		{"padded short block type", wasm.ErrMalformed, "block type", inBody(0x02, 0xff, 0x7f, 0x41, 0, 0x0b, 0x1a)},
		{"unknown block type", wasm.ErrMalformed, "type 0x50", inBody(0x02, 0x50, 0x0b)},
		{"memory flags", wasm.ErrMalformed, "memory flags", inBody(0x41, 0, 0x28, 0x40, 0, 0x1a)},
		{"constant of six bytes", wasm.ErrMalformed, "integer too long", inBody(0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x1a)},
		{"constant with high bits", wasm.ErrMalformed, "integer too long", inBody(0x41, 0xff, 0xff, 0xff, 0xff, 0x4f, 0x1a)},
		{"select of no type", wasm.ErrMalformed, "type 0x40", inBody(0x41, 0, 0x41, 0, 0x41, 0, 0x1c, 1, 0x40, 0x1a)},
		{"ref.is_null of a number", wasm.ErrInvalid, "no reference", inBody(0x41, 0, 0xd1, 0x1a)},
		{"unknown element segment", wasm.ErrInvalid, "unknown element segment",
			inBody(0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 12, 0, 0)},
		{"ref.is_null of nothing", wasm.ErrInvalid, "empty", inBody(0xd1, 0x1a)},
		{"typed select of one value", wasm.ErrInvalid, "empty", inBody(0x41, 0, 0x41, 0, 0x1c, 1, 0x7f, 0x1a)},
		{"operand missing", wasm.ErrInvalid, "empty", inBody(0x1a)},
		{"operand left", wasm.ErrInvalid, "too many at the end", inBody(0x41, 0)},
		{"wrong operand", wasm.ErrInvalid, "i64", inBody(0x42, 0, 0x45, 0x1a)},
		{"dead code is typed", wasm.ErrInvalid, "type mismatch", inBody(0x00, 0x42, 0, 0x45, 0x1a)},
		{"unknown local", wasm.ErrInvalid, "unknown local 0", inBody(0x20, 0, 0x1a)},
		{"unknown label", wasm.ErrInvalid, "unknown label 1", inBody(0x0c, 1)},
		{"unknown function", wasm.ErrInvalid, "unknown function 1", inBody(0x10, 1)},
		{"call through a number of 64 bits", wasm.ErrInvalid, "i32", inBody(0x42, 0, 0x11, 0, 0)},
		{"call through an unknown table", wasm.ErrInvalid, "unknown table 1", inBody(0x41, 0, 0x11, 0, 1)},
		{"unknown type", wasm.ErrInvalid, "unknown type 1", inBody(0x41, 0, 0x11, 1, 0)},
		{"undeclared function reference", wasm.ErrInvalid, "undeclared", inBody(0xd2, 0, 0x1a)},
		{"alignment", wasm.ErrInvalid, "alignment", inBody(0x41, 0, 0x28, 3, 0, 0x1a)},
		{"lane", wasm.ErrInvalid, "lane",
			inBody(0xfd, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd, 21, 16, 0x1a)},
		{"extended constant", wasm.ErrInvalid, "extended constant",
			file(section(6, 1, 0x7f, 0, 0x41, 1, 0x41, 1, 0x6a, 0x0b))},
		{"global in a constant", wasm.ErrInvalid, "imported globals", file(section(6, 1, 0x7f, 0, 0x23, 0, 0x0b))},
		{"type out of range", wasm.ErrInvalid, "unknown type", file(types, section(3, 1, 1))},
	} {
		_, err := wasm.Parse(tc.file, wasm.RelaxedLimits())
		if !errors.Is(err, tc.class) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, want %v with %q", tc.name, err, tc.class, tc.text)
		}
	}
}

// sixBytes is a number that is one byte longer than numbers of 32 bits may be.
var sixBytes = []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}

// TestRefusedOperands: each operand of an instruction is read, as a number that fits, or refused.
func TestRefusedOperands(t *testing.T) {
	for name, before := range map[string][]byte{
		"block":               {0x02},
		"br":                  {0x0c},
		"br_table: how many":  {0x0e},
		"br_table: a label":   {0x0e, 2, 0},
		"br_table: the last":  {0x0e, 1, 0},
		"call":                {0x10},
		"call_indirect: type": {0x11},
		"call_indirect":       {0x11, 0},
		"select: how many":    {0x1c},
		"local.get":           {0x20},
		"global.get":          {0x23},
		"table.get":           {0x25},
		"load: alignment":     {0x28},
		"load: offset":        {0x28, 0},
		"i32.const":           {0x41},
		"ref.func":            {0xd2},
		"number of a misc":    {0xfc},
		"memory.init":         {0xfc, 8},
		"data.drop":           {0xfc, 9},
		"table.init: segment": {0xfc, 12},
		"table.init: table":   {0xfc, 12, 0},
		"elem.drop":           {0xfc, 13},
		"table.copy: to":      {0xfc, 14},
		"table.copy: from":    {0xfc, 14, 0},
		"number of a vector":  {0xfd},
		"lane: alignment":     {0xfd, 84},
		"lane: offset":        {0xfd, 84, 0},
	} {
		for what, tc := range map[string]struct {
			code []byte
			text string
		}{
			"of six bytes": {append(slices.Clone(before), append(sixBytes, 0x1a, 0x0b)...), "integer too long"},
			"cut off":      {before, "unexpected end"},
			"cut in two":   {append(slices.Clone(before), 0x80), "unexpected end"},
		} {
			var in wasm.Instr
			r := wasm.NewReader(tc.code)
			err := r.Next(&in)
			if !errors.Is(err, wasm.ErrMalformed) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s %s: %v, want %q", name, what, err, tc.text)
			}
			if _, err := wasm.Parse(withBody(append([]byte{0}, tc.code...)), wasm.RelaxedLimits()); !errors.Is(err,
				wasm.ErrMalformed) &&
				!errors.Is(err, wasm.ErrInvalid) {
				t.Errorf("%s %s, in a module: %v", name, what, err)
			}
		}
	}
	for name, code := range map[string][]byte{
		"f32.const": {0x43, 1, 2, 3}, "f64.const": {0x44, 1, 2, 3, 4, 5, 6, 7}, "ref.null": {0xd0},
		"v128.const": {0xfd, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, "a lane": {0xfd, 21},
		"a lane of a load": {0xfd, 84, 0, 0},
		"memory.size":      {0x3f}, "memory.fill": {0xfc, 11}, "memory.copy": {0xfc, 10},
		"the second of memory.copy": {0xfc, 10, 0},
		"memory of memory.init":     {0xfc, 8, 0}, "types of select": {0x1c, 2, 0x7f}, "labels": {0x0e, 3, 0, 0},
	} {
		var in wasm.Instr
		r := wasm.NewReader(code)
		if err := r.Next(&in); !errors.Is(err, wasm.ErrMalformed) || !strings.Contains(err.Error(), "unexpected end") {
			t.Errorf("%s, cut off: %v", name, err)
		}
	}
}

// TestTruncated cuts a module with everything in it at every place, and flips every
// byte: no panic, and no prefix of a module is a module (but for those that end between
// two sections).
func TestTruncated(t *testing.T) {
	m := kitchenSink()
	b := mustEncode(t, m)
	lim := wasm.RelaxedLimits()
	if _, err := wasm.Parse(b, lim); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for i := range b {
		if _, err := wasm.Parse(b[:i], lim); err == nil {
			accepted++
		}
	}
	if accepted > 12 {
		t.Errorf("%d prefixes accepted, there are 12 sections", accepted)
	}
	compile := engine(t)
	for i := range b {
		for _, x := range []byte{0x01, 0x80, 0xff} {
			c := append([]byte(nil), b...)
			c[i] ^= x
			if m, err := wasm.Parse(c, lim); err == nil {
				roundTrip(t, "mutant", m, lim, compile)
				if err := compile(c); err != nil {
					t.Errorf("byte %d ^ %#x: accepted, the engine says %v", i, x, err)
				}
			}
		}
	}
}

// TestErrorText holds what a guest can smuggle into an error's text to escaped, short names.
func TestErrorText(t *testing.T) {
	evil := "\x1b[31m\u202e\"\n" + strings.Repeat("é", 120)
	for _, m := range []*wasm.Module{
		{Exports: []wasm.Export{{Name: evil}}},
		{Types: []wasm.FuncType{{}}, Funcs: []wasm.Func{fn(0, (&body{}).end())},
			Exports: []wasm.Export{{Name: evil}, {Name: evil}}},
		{Customs: []wasm.Custom{{Name: "belay." + evil[:90]}}},
		{Exports: []wasm.Export{{Name: "__belay_" + evil[:90]}}},
	} {
		_, err := wasm.Parse(encodeAll(t, m), wasm.RelaxedLimits())
		if err == nil {
			t.Fatal("accepted")
		}
		s := err.Error()
		if len(s) > 320 || !utf8.ValidString(s) ||
			strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r >= 0x7f }) {
			t.Errorf("%d bytes: %q", len(s), s)
		}
		var e *wasm.Error
		if !errors.As(err, &e) || e.Section == "" {
			t.Errorf("no place in %#v", err)
		}
	}
	_, err := wasm.Parse(inBody(0x41, 0, 0x45), wasm.RelaxedLimits())
	var e *wasm.Error
	if !errors.As(err, &e) || e.Func != 0 || e.Section != "code" || e.Offset != len(inBody(0x41, 0, 0x45))-1 {
		t.Errorf("place: %#v", e)
	}
}

// TestProposalsByTheirBytes: each first byte that is no instruction, and each byte that is no type, is named with the
// proposal that it belongs to, or is unknown.
func TestProposalsByTheirBytes(t *testing.T) {
	ops := map[string][]wasm.Op{
		"exception handling":        {0x06, 0x07, 0x08, 0x09, 0x0a, 0x18, 0x19, 0x1f},
		"tail calls":                {0x12, 0x13},
		"typed function references": {0x14, 0x15, 0xd4, 0xd5, 0xd6},
		"garbage collection":        {0xd3, 0xfb},
		"threads and atomics":       {0xfe},
	}
	for op := range wasm.Op(0x100) {
		var in wasm.Instr
		if info, known := op.Info(); known || op == 0xfc || op == 0xfd {
			if known && (op.String() != info.Name || info.Name == "") {
				t.Errorf("%s is called %q", info.Name, op)
			}
			continue
		}
		if name := op.String(); name != fmt.Sprintf("opcode %#x", uint32(op)) {
			t.Errorf("%#x is called %q", uint32(op), name)
		}
		feature := ""
		for f, of := range ops {
			if slices.Contains(of, op) {
				feature = f
			}
		}
		checkNamed(t, fmt.Sprintf("%#x", uint32(op)), []byte{byte(op), 0, 0, 0, 0, 0, 0, 0, 0}, feature, &in)
	}
	for sub, feature := range map[uint32]string{0x9a: "", 0x100: "relaxed SIMD", 0x12f: "relaxed SIMD", 0x130: "",
		0x1000: ""} {
		var in wasm.Instr
		checkNamed(t, fmt.Sprintf("SIMD %#x", sub), wasm.AppendU32([]byte{0xfd}, sub), feature, &in)
		checkNamed(t, fmt.Sprintf("misc %#x", sub), wasm.AppendU32([]byte{0xfc}, sub), "", &in)
	}
	for c, feature := range map[byte]string{0x62: "", 0x63: "typed references", 0x76: "typed references", 0x77: "",
		0x40: "", 0x80: ""} {
		var in wasm.Instr
		checkNamed(t, fmt.Sprintf("type %#x", c), []byte{0xd0, c}, feature, &in)
	}
}

// checkNamed reads one instruction that is refused: as unsupported when it belongs to a proposal.
func checkNamed(t *testing.T, name string, code []byte, feature string, in *wasm.Instr) {
	t.Helper()
	class := wasm.ErrUnsupported
	if feature == "" {
		class, feature = wasm.ErrMalformed, "is unknown"
	}
	r := wasm.NewReader(code)
	if err := r.Next(in); !errors.Is(err, class) || !strings.Contains(err.Error(), feature) {
		t.Errorf("%s: %v, want %v with %q", name, err, class, feature)
	}
}
