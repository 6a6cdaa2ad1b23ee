package wasm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// hook is the smallest module that passes every rule of ours.
func hook() *wasm.Module {
	m := one(0, (&body{}).end())
	m.Customs = []wasm.Custom{{Name: wasm.ManifestSection, Payload: []byte("{}")}}
	return m
}

func encodeAll(t testing.TB, m *wasm.Module) []byte {
	t.Helper()
	b, err := wasm.Encode(m, m.Customs...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLimits builds each module exactly at its limit, which passes, and one over it,
// which is refused for that reason.
func TestLimits(t *testing.T) {
	name := func(n int) string { return strings.Repeat("n", n) }
	for _, tc := range []struct {
		what  string
		limit int
		text  string
		build func(m *wasm.Module, n int)
	}{
		{"custom sections", 64, "custom sections", func(m *wasm.Module, n int) {
			for len(m.Customs) < n {
				m.Customs = append(m.Customs, wasm.Custom{Name: "x"})
			}
		}},
		{"custom name", 128, "name of", func(m *wasm.Module, n int) {
			m.Customs = append(m.Customs, wasm.Custom{Name: name(n)})
		}},
		{"manifest", 64 << 10, "manifest of", func(m *wasm.Module, n int) { m.Customs[0].Payload = make([]byte, n) }},
		{"types", 4096, "types", func(m *wasm.Module, n int) { m.Types = make([]wasm.FuncType, n) }},
		{"params", 128, "parameters", func(m *wasm.Module, n int) {
			m.Types = append(m.Types, wasm.FuncType{Params: many(wasm.I64, n)})
		}},
		{"results", 16, "results", func(m *wasm.Module, n int) {
			m.Types = append(m.Types, wasm.FuncType{Results: many(wasm.I64, n)})
		}},
		{"imports", 256, "imports", func(m *wasm.Module, n int) {
			for range n {
				m.Imports = append(m.Imports, wasm.Import{Module: "env", Name: "same"}) // duplicates are legal
			}
		}},
		{"import name", 256, "name of", func(m *wasm.Module, n int) {
			m.Imports = []wasm.Import{{Module: "env", Name: name(n)}}
		}},
		{"import module", 256, "name of", func(m *wasm.Module, n int) {
			m.Imports = []wasm.Import{{Module: name(n), Name: "x"}}
		}},
		{"functions", 30000, "functions", func(m *wasm.Module, n int) {
			for len(m.Funcs) < n {
				m.Funcs = append(m.Funcs, m.Funcs[0])
			}
		}},
		{"tables", 4, "tables", func(m *wasm.Module, n int) {
			for range n {
				m.Tables = append(m.Tables, wasm.Table{Type: wasm.ExternRef})
			}
		}},
		{"table elements", 65536, "tables of", func(m *wasm.Module, n int) {
			m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 7}},
				{Type: wasm.FuncRef, Size: wasm.Size{Min: uint32(n - 7)}}}
		}},
		{"memory", 256, "memory of", func(m *wasm.Module, n int) { m.Memory.Min = uint32(n) }},
		{"globals", 4096, "globals", func(m *wasm.Module, n int) {
			for range n {
				m.Globals = append(m.Globals, wasm.Global{Type: wasm.I32, Init: wasm.ConstExpr{Op: wasm.OpI32Const}})
			}
		}},
		{"exports", 1024, "exports", func(m *wasm.Module, n int) {
			for i := 1; i < n; i++ {
				m.Exports = append(m.Exports, wasm.Export{Name: name(i % 250), Kind: wasm.ExternFunc})
				m.Exports[i].Name += string(rune('A' + i/250))
			}
		}},
		{"export name", 256, "name of", func(m *wasm.Module, n int) {
			m.Exports = append(m.Exports, wasm.Export{Name: name(n)})
		}},
		{"element segments", 4096, "element segments", func(m *wasm.Module, n int) {
			for range n {
				m.Elems = append(m.Elems, wasm.Elem{Mode: wasm.SegPassive, Type: wasm.FuncRef})
			}
		}},
		{"elements", 65536, "elements", func(m *wasm.Module, n int) {
			m.Elems = []wasm.Elem{
				{Mode: wasm.SegPassive, Type: wasm.FuncRef, Init: make([]uint32, 1000)},
				{Mode: wasm.SegPassive, Type: wasm.FuncRef, Init: make([]uint32, n-1000)},
			}
		}},
		{"data segments", 100000, "data segments", func(m *wasm.Module, n int) {
			for range n {
				m.Datas = append(m.Datas, wasm.Data{Mode: wasm.SegPassive})
			}
		}},
		{"data segments, counted", 100000, "data segments", func(m *wasm.Module, n int) {
			m.DataCount = true
			for range n {
				m.Datas = append(m.Datas, wasm.Data{Mode: wasm.SegPassive})
			}
		}},
		{"body", 128 << 10, "body of", func(m *wasm.Module, n int) {
			// One byte says that there are no locals.
			b := (&body{}).rep(n-2, func(int) {})
			for range n - 2 {
				b.op(wasm.OpNop)
			}
			m.Funcs[0].Body = b.end()
		}},
		{"locals", 4096, "too many locals", func(m *wasm.Module, n int) {
			m.Types[0].Params = many(wasm.F32, 96)
			m.Funcs[0].Locals = []wasm.LocalRun{{Count: 2000, Type: wasm.I64}, {Count: uint32(n - 2096), Type: wasm.V128}}
		}},
		{"nesting", 4096, "nested", func(m *wasm.Module, n int) {
			b := &body{}
			b.rep(n-1, func(int) { b.op(wasm.OpBlock) }).rep(n-1, func(int) { b.op(wasm.OpEnd) })
			m.Funcs[0].Body = b.end()
		}},
		{"br_table", 4096, "br_table of", func(m *wasm.Module, n int) {
			m.Funcs[0].Body = (&body{}).i32(0).table(make([]uint32, n)...).end()
		}},
		{"br_tables", 131072, "br_table entries", func(m *wasm.Module, n int) {
			m.Funcs[0].Body = (&body{}).i32(0).table(make([]uint32, n-31*4096-100)...).end()
			m.Funcs = append(m.Funcs, fn(0, (&body{}).i32(0).table(make([]uint32, 100)...).end()))
			for range 31 {
				m.Funcs = append(m.Funcs, fn(0, (&body{}).i32(0).table(make([]uint32, 4096)...).end()))
			}
		}},
		{"file", 8 << 20, "the limit is 8388608", func(m *wasm.Module, n int) {
			m.Datas = []wasm.Data{{Mode: wasm.SegPassive, Init: make([]byte, 8<<20-500)}}
			have, _ := wasm.Encode(m, m.Customs...)
			m.Datas[0].Init = make([]byte, len(m.Datas[0].Init)+n-len(have))
		}},
	} {
		t.Run(tc.what, func(t *testing.T) {
			for _, n := range []int{tc.limit, tc.limit + 1} {
				m := hook()
				tc.build(m, n)
				b := encodeAll(t, m)
				_, err := wasm.Parse(b, wasm.DefaultLimits())
				switch {
				case n == tc.limit && err != nil:
					t.Errorf("at the limit: %v", err)
				case n > tc.limit && (!errors.Is(err, wasm.ErrLimit) || !strings.Contains(err.Error(), tc.text)):
					t.Errorf("over the limit: %v, want a limit with %q", err, tc.text)
				}
			}
		})
	}
}

// TestShape covers the rules for hooks beyond the language.
func TestShape(t *testing.T) {
	strict := wasm.DefaultLimits()
	for _, tc := range []struct {
		name, text string
		class      error
		change     func(m *wasm.Module)
	}{
		{"as it should be", "", nil, func(m *wasm.Module) {}},
		{"no manifest", "no belay.manifest", wasm.ErrInvalid, func(m *wasm.Module) { m.Customs = nil }},
		{"two manifests", "more than one", wasm.ErrInvalid, func(m *wasm.Module) {
			m.Customs = append(m.Customs, m.Customs[0])
		}},
		{"other section of ours", "reserved", wasm.ErrInvalid, func(m *wasm.Module) {
			m.Customs = append(m.Customs, wasm.Custom{Name: "belay.signature"})
		}},
		{"reserved section", "reserved", wasm.ErrInvalid, func(m *wasm.Module) {
			m.Customs = append(m.Customs, wasm.Custom{Name: "__belay_x"})
		}},
		{"reserved import module", "reserved", wasm.ErrInvalid, func(m *wasm.Module) {
			m.Imports = []wasm.Import{{Module: "__belay_host", Name: "yield"}}
		}},
		{"reserved import", "reserved", wasm.ErrInvalid, func(m *wasm.Module) {
			m.Imports = []wasm.Import{{Module: "env", Name: "__belay_yield"}}
		}},
		{"reserved export", "reserved", wasm.ErrInvalid, func(m *wasm.Module) {
			m.Exports = append(m.Exports, wasm.Export{Name: "__belay_fuel"})
		}},
		{"no memory", "memory of its own", wasm.ErrInvalid, func(m *wasm.Module) { m.Memory, m.Exports = nil, nil }},
		{"memory not exported", `as "memory"`, wasm.ErrInvalid, func(m *wasm.Module) { m.Exports = nil }},
		{"memory by another name", `as "memory"`, wasm.ErrInvalid, func(m *wasm.Module) { m.Exports[0].Name = "mem" }},
		{"memory is a function", `as "memory"`, wasm.ErrInvalid, func(m *wasm.Module) {
			m.Exports[0].Kind = wasm.ExternFunc
		}},
		{"duplicate export", "duplicate export", wasm.ErrInvalid, func(m *wasm.Module) {
			m.Exports = append(m.Exports, m.Exports[0])
		}},
		{"minimum over maximum", "greater than maximum", wasm.ErrInvalid, func(m *wasm.Module) {
			m.Memory.Size = wasm.Size{Min: 2, Max: 1, HasMax: true}
		}},
		{"start with a result", "start function", wasm.ErrInvalid, func(m *wasm.Module) {
			m.Types = append(m.Types, wasm.FuncType{Results: many(wasm.I32, 1)})
			m.Funcs = append(m.Funcs, wasm.Func{Type: 1, Body: (&body{}).i32(0).end()})
			m.HasStart, m.Start = true, 1
		}},
	} {
		m := hook()
		tc.change(m)
		_, err := wasm.Parse(encodeAll(t, m), strict)
		if !errors.Is(err, tc.class) || err != nil && !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, want %v with %q", tc.name, err, tc.class, tc.text)
		}
	}
	// The two relaxations, each for its own rules only.
	lim := strict
	lim.NoManifest = true
	m := hook()
	m.Customs = nil
	if _, err := wasm.Parse(encodeAll(t, m), lim); err != nil {
		t.Errorf("NoManifest: %v", err)
	}
	m.Exports = nil
	if _, err := wasm.Parse(encodeAll(t, m), lim); err == nil {
		t.Error("NoManifest waives the export of the memory")
	}
	lim.AnyShape = true
	if _, err := wasm.Parse(encodeAll(t, m), lim); err != nil {
		t.Errorf("AnyShape: %v", err)
	}
}
