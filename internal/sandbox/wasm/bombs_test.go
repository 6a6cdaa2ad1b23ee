package wasm_test

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// bombLimits are the default limits without the need for a manifest.
func bombLimits() wasm.Limits {
	lim := wasm.DefaultLimits()
	lim.NoManifest = true
	return lim
}

func mustEncode(t testing.TB, m *wasm.Module) []byte {
	t.Helper()
	b, err := wasm.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBombsRecorded holds the estimate against what compiling the bombs took when it was
// last measured (testdata/bombs.txt: n, ms, MB, name; see TestBombsCompile). Values that
// drown in noise are left out.
func TestBombsRecorded(t *testing.T) {
	raw, err := os.ReadFile("testdata/bombs.txt")
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]bomb{}
	for _, b := range bombs {
		byName[b.name] = b
	}
	seen := 0
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		f := strings.SplitN(line, "\t", 4)
		if len(f) != 4 {
			t.Fatalf("bad line %q", line)
		}
		n, _ := strconv.Atoi(f[0])
		ms, _ := strconv.ParseUint(f[1], 10, 64)
		mb, _ := strconv.ParseUint(f[2], 10, 64)
		b, ok := byName[f[3]]
		if !ok {
			t.Errorf("%s: no such bomb", f[3])
			continue
		}
		seen++
		m, err := wasm.Parse(mustEncode(t, b.build(n)), bombLimits())
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
			continue
		}
		c := wasm.Estimate(m)
		if ms > 30 && c.Nanos < ms*1e6*9/10 {
			t.Errorf("%s: estimate %d ms, measured %d ms", b.name, c.Nanos/1e6, ms)
		}
		if mb > 64 && c.Bytes>>20 < mb*9/10 {
			t.Errorf("%s: estimate %d MB, measured %d MB", b.name, c.Bytes>>20, mb)
		}
	}
	if seen != len(bombs) {
		t.Errorf("%d bombs recorded, there are %d: run TestBombsCompile with BELAY_BOMBS_RECORD=1", seen, len(bombs))
	}
}

// TestKnownBombs are the modules that wazero 1.12 was first seen to choke on, with the
// milliseconds that it took: refused by a limit, or estimated at no less.
func TestKnownBombs(t *testing.T) {
	functions := bombModule()
	for range 100_000 {
		functions.Funcs = append(functions.Funcs, fn(0, (&body{}).end()))
	}
	loads := &body{}
	loads.rep(200_000, func(int) { loads.load(64).op(wasm.OpDrop) })
	results := one(0, (&body{}).end())
	results.Types = append(results.Types, wasm.FuncType{Results: many(wasm.I32, 1000)})
	for _, tc := range []struct {
		name string
		ms   uint64
		m    *wasm.Module
	}{
		{"256 deep x 100", 4800, bombNamed(t, "nest 256 x n", 100)},
		{"loop, 100 locals, 1000 br_if", 900, bombNamed(t, "loop, 100 locals, n br_if", 1000)},
		{"1000 locals, 1000 br_if", 8600, bombNamed(t, "n locals, 1000 br_if", 1000)},
		{"4000 loops, 1000 locals", 21000, bombNamed(t, "n loops, 1000 locals", 4000)},
		{"br_table of 4096, 1000 locals", 3700, bombNamed(t, "br_table 4096 to a loop, n locals", 1000)},
		{"1000 results", 0, results},
		{"100,000 functions", 0, functions},
		{"1 MB of loads in one body", 0, one(0, loads.end())},
	} {
		file := mustEncode(t, tc.m)
		m, err := wasm.Parse(file, bombLimits())
		if tc.ms == 0 {
			if !errors.Is(err, wasm.ErrLimit) {
				t.Errorf("%s: %v, want a limit", tc.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		c := wasm.Estimate(m)
		if c.Nanos < tc.ms*1e6 {
			t.Errorf("%s: estimate %d ms, measured %d ms", tc.name, c.Nanos/1e6, tc.ms)
		}
		if err := c.Within(wasm.UnreviewedBudget()); c.Nanos > 1e9 && !errors.Is(err, wasm.ErrLimit) {
			t.Errorf("%s: %d ms pass the budget (%v)", tc.name, c.Nanos/1e6, err)
		}
	}
}

func bombNamed(t *testing.T, name string, n int) *wasm.Module {
	t.Helper()
	for _, b := range bombs {
		if b.name == name {
			return b.build(n)
		}
	}
	t.Fatalf("no bomb %q", name)
	return nil
}

// section is one section by hand.
func section(id byte, contents ...byte) []byte {
	return append(wasm.AppendU32([]byte{id}, uint32(len(contents))), contents...)
}

func file(sections ...[]byte) []byte {
	b := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		b = append(b, s...)
	}
	return b
}

// TestCountBombs are small files whose counts promise a lot. None of them may make the
// parser allocate more than a little, whatever the limits say.
func TestCountBombs(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	big := []byte{0x80, 0x80, 0x80, 0x40} // 2^27
	types := section(1, 1, 0x60, 0, 0)
	code := func(n []byte) []byte {
		body := append(append([]byte{1}, n...), 0x7f, 0x0b)
		return section(10, append([]byte{1, byte(len(body))}, body...)...)
	}
	cases := map[string][]byte{
		"2^27 locals":   file(types, section(3, 1, 0), code(big)),
		"2^32-1 locals": file(types, section(3, 1, 0), code(huge)),
		"br_table": file(types, section(3, 1, 0),
			section(10, 1, 10, 0, 0x41, 0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x0b)),
		"select types":     file(types, section(3, 1, 0), section(10, 1, 8, 0, 0x1c, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x0b)),
		"body length":      file(types, section(3, 1, 0), section(10, 1, 0xff, 0xff, 0xff, 0xff, 0x0f)),
		"parameters":       file(section(1, append([]byte{1, 0x60}, huge...)...)),
		"results":          file(section(1, append([]byte{1, 0x60, 0}, huge...)...)),
		"import name":      file(types, section(2, append([]byte{1}, huge...)...)),
		"table size":       file(section(4, append([]byte{1, 0x70, 0}, huge...)...)),
		"memory size":      file(section(5, append([]byte{1, 0}, huge...)...)),
		"elements":         file(section(4, 1, 0x70, 0, 1), section(9, append([]byte{1, 0, 0x41, 0, 0x0b}, huge...)...)),
		"element exprs":    file(section(9, append([]byte{1, 5, 0x70}, huge...)...)),
		"data length":      file(section(11, append([]byte{1, 1}, huge...)...)),
		"section length":   append(file(), 1, 0xff, 0xff, 0xff, 0xff, 0x0f),
		"custom name":      file(section(0, huge...)),
		"data count":       file(section(12, huge...)),
		"data count, data": file(section(12, huge...), section(11, huge...)),
	}
	for id, name := range map[byte]string{1: "types", 2: "imports", 3: "functions", 4: "tables", 6: "globals",
		7: "exports", 9: "element segments", 11: "data segments"} {
		cases[name+", 2^32-1"] = file(section(id, huge...))
		cases[name+", 2^27"] = file(section(id, big...))
	}
	for name, b := range cases {
		for _, lim := range []wasm.Limits{bombLimits(), wasm.RelaxedLimits(), unlimited()} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := wasm.Parse(b, lim)
			runtime.ReadMemStats(&after)
			if err == nil && (name != "table size" || lim.Tables == 4) { // valid, but for the limit

				t.Errorf("%s: accepted: %+v", name, m)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
				t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(b))
			}
		}
	}
}

// unlimited has every limit that is an int at its greatest, apart from the locals, which
// nothing but their limit bounds.
func unlimited() wasm.Limits {
	const most = 1<<63 - 1
	return wasm.Limits{
		FileBytes: most, Customs: most, CustomName: most, ManifestBytes: most, Types: most, Params: most,
		Results: most, Imports: most, Funcs: most, Tables: most, TableElems: most, MemoryPages: most, Globals: most,
		Exports: most, NameBytes: most, ElemSegments: most, Elems: most, DataSegments: most, BodyBytes: most,
		Locals: 50_000, Nesting: most, BrTable: most, BrTables: most, NoManifest: true, AnyShape: true,
	}
}
