package meter

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// features is a module with one of nearly everything: multi-value blocks, br_table,
// tables, references, segments, SIMD, floats, bulk operations, a start function.
func features(t testing.TB) []byte {
	var m mod
	m.hostCharge()
	m.memory(1)
	m.Globals = []wasm.Global{
		{Type: i32, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpI32Const, Bits: 3}},
		{Type: i64, Init: wasm.ConstExpr{Op: wasm.OpI64Const, Bits: 4}},
		{Type: f64, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpF64Const, Bits: 5}},
		{Type: v128, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpV128Const, Bits: 6}},
		{Type: wasm.FuncRef, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpRefFunc, Index: 1}},
	}
	m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 4}},
		{Type: wasm.ExternRef, Size: wasm.Size{Min: 1, Max: 9, HasMax: true}}}
	m.Types = append(m.Types, sig(ty(i32), ty(i32, i32)))
	multi := len(m.Types) - 1
	start := m.fn(nullary, nil, i32c(9), x(wasm.OpGlobalSet, 0), i32c(5), call(0))
	m.HasStart, m.Start = true, start
	f := m.fn(sig(ty(i32), ty(i32)), []wasm.LocalRun{{Count: 1, Type: f64}, {Count: 1, Type: v128}, {Count: 2, Type: i32}},
		get(0), blk(wasm.OpBlock, multi), tee(3), get(3), i32c(1), o(wasm.OpI32And), o(end), o(wasm.OpI32Add), set(4),
		blk(wasm.OpLoop), get(4), i32c(1), o(wasm.OpI32Sub), tee(4), i32c(0), o(wasm.OpI32GtS), brIf(0), o(end),
		get(0), o(wasm.OpF64ConvertI32S), x(wasm.OpGlobalGet, 2), o(wasm.OpF64Div), get(1), o(wasm.OpF64Mul), tee(1),
		x(wasm.OpGlobalSet, 2),
		get(2), x(wasm.OpGlobalGet, 3), o(wasm.OpF32x4Add), tee(2), get(2), o(wasm.OpF64x2Max), x(wasm.OpGlobalSet, 3),
		i32c(8), i32c(0), i32c(4), x(wasm.OpMemoryInit, 1), x(wasm.OpDataDrop, 1),
		i32c(64), i32c(0), i32c(32), o(wasm.OpMemoryCopy),
		i32c(1), i32c(0), i32c(1), ins{Op: wasm.OpTableInit, Index: 1}, x(wasm.OpElemDrop, 1),
		i32c(0), x(wasm.OpTableGet, 1), o(wasm.OpRefIsNull), o(wasm.OpDrop),
		blk(wasm.OpBlock), blk(wasm.OpBlock), get(0), brTable(0, 1, 1), o(end), get(0), i32c(1),
		ins{Op: wasm.OpCallIndirect, Index: uint32(multi + 2)}, o(wasm.OpReturn), o(end),
		i32c(1), o(wasm.OpMemoryGrow), o(wasm.OpDrop),
		get(0), mem(wasm.OpI32Load, 4))
	g := m.fn(sig(ty(i32), ty(i32)), nil, get(0), blk(wasm.OpIf, i32), get(0), ins{Op: wasm.OpI32Const, Bits: 2},
		o(wasm.OpI32DivU), o(wasm.OpElse), i32c(7), o(end))
	m.export("f", f)
	m.export("g", g)
	m.Exports = append(m.Exports, wasm.Export{Name: "global", Kind: wasm.ExternGlobal},
		wasm.Export{Name: "table", Kind: wasm.ExternTable})
	zero := wasm.ConstExpr{Op: wasm.OpI32Const}
	m.Elems = []wasm.Elem{
		{Type: wasm.FuncRef, Offset: zero, Init: []uint32{f, g, 0}},
		{Type: wasm.FuncRef, Mode: wasm.SegPassive, Init: []uint32{g, wasm.RefNull}},
		{Type: wasm.FuncRef, Mode: wasm.SegDeclarative, Init: []uint32{1}},
	}
	m.Datas = []wasm.Data{{Offset: zero, Init: []byte("\x01\x02\x03\x04\x05\x06\x07\x08")},
		{Mode: wasm.SegPassive, Init: []byte("abcdef")}}
	m.DataCount = true
	return m.bytes(t)
}

// The module with everything runs, and says of itself what a host must know.
func TestFeatures(t *testing.T) {
	out := instrument(t, features(t), Options{})
	for arg := range uint64(3) {
		if got := everywhere(t, out, "f", 1<<24, arg); got.fault != "" {
			t.Errorf("f(%d): %+v", arg, got)
		}
	}
	if got := everywhere(t, out, ExportStart, 1<<20); got.fault != "" || got.used != 2+1+1+1+6+5 {
		t.Errorf("start: %+v", got)
	}
}

// Nothing that the engine refuses as written may be accepted behind parser and pass: a
// bad index could come to name something of the pass.
func TestNoLaundering(t *testing.T) {
	r := newRuntime(t, interpreter)
	rnd := rand.New(rand.NewPCG(1, 2))
	var refused, passed, lost int
	for name, orig := range [][]byte{features(t), fib(t), hostCharges(t), pair(t), benchGuest(t)} {
		for k := range 3000 {
			w := append([]byte(nil), orig...)
			for range rnd.IntN(3) * min(k, 1) {
				at := 8 + rnd.IntN(len(w)-8)
				if rnd.IntN(2) == 0 {
					w[at]++ // most indices one past the end are one off
				} else {
					w[at] = byte(rnd.IntN(256))
				}
			}
			m, err := wasm.Parse(w, relaxed())
			if err != nil {
				refused++
				continue
			}
			out, err := Instrument(m, Options{})
			if err != nil {
				refused++
				continue
			}
			_, after := r.compile(out.Wasm)
			_, before := r.compile(w)
			switch {
			case after == nil && before != nil:
				t.Errorf("module %d, mutant %d: refused as written (%v), accepted metered", name, k, before)
			case after == nil:
				passed++
			case before == nil:
				lost++
				t.Errorf("module %d, mutant %d: fine as written, metered: %v", name, k, after)
			}
		}
	}
	t.Logf("%d refused by parser or pass, %d accepted, %d lost", refused, passed, lost)
	if passed < 1000 || refused < 5000 {
		t.Error("the mutants do not test much")
	}
}

// The parser refuses an index one past the end; the pass must do so too, for it is what
// gives such an index a meaning.
func TestFuelCannotBeStolen(t *testing.T) {
	steal := func(is ...ins) *wasm.Module {
		var m mod
		m.Globals = []wasm.Global{{Type: i64, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpI64Const}}}
		m.export("f", m.fn(sig(ty(i64), nil), locals(2, i64), is...))
		return &m.Module
	}
	for name, m := range map[string]*wasm.Module{
		"local.set":              steal(i64c(1<<40), set(3)),
		"local.tee":              steal(i64c(1<<40), tee(3), o(wasm.OpDrop)),
		"local.get":              steal(get(3), o(wasm.OpDrop)),
		"global.set":             steal(i64c(1<<40), x(wasm.OpGlobalSet, 1)),
		"global.get":             steal(x(wasm.OpGlobalGet, 1), o(wasm.OpDrop)),
		"yield":                  steal(i64c(1), call(1), o(wasm.OpDrop)),
		"stack":                  steal(call(2)),
		"yield in dead code":     steal(o(wasm.OpUnreachable), call(1)),
		"reference to yield":     steal(x(wasm.OpRefFunc, 1), o(wasm.OpDrop)),
		"local in dead code":     steal(o(wasm.OpUnreachable), set(3)),
		"label past the body":    steal(br(1)),
		"label past, in a table": steal(i32c(0), brTable(0, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Instrument(m, Options{}); !errors.Is(err, ErrModel) {
				t.Errorf("pass: %v", err)
			}
			b, err := wasm.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := wasm.Parse(b, relaxed()); err == nil {
				t.Error("the parser accepts it")
			}
		})
	}
	bad := steal()
	bad.Exports = append(bad.Exports, wasm.Export{Name: "fuel", Kind: wasm.ExternGlobal, Index: 1})
	if _, err := Instrument(bad, Options{}); !errors.Is(err, ErrModel) {
		t.Errorf("export of a global: %v", err)
	}
	bad = steal()
	bad.Exports = append(bad.Exports, wasm.Export{Name: "yield", Kind: wasm.ExternFunc, Index: 1})
	if _, err := Instrument(bad, Options{}); !errors.Is(err, ErrModel) {
		t.Errorf("export of a function: %v", err)
	}
	bad = steal()
	bad.HasStart, bad.Start = true, 1
	if _, err := Instrument(bad, Options{}); !errors.Is(err, ErrModel) {
		t.Errorf("start: %v", err)
	}
}

// The engine's own fuzz cases: where the module passes the parser, both engines agree.
func TestFuzzCases(t *testing.T) {
	root, err := integrationDir()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "fuzzcases", "testdata", "*.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	var calls, modules int
	for _, f := range files {
		file, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := wasm.Parse(file, wasm.RelaxedLimits())
		if err != nil || len(m.Imports) > 0 {
			continue
		}
		modules++
		n, why := agree(t, m, 100_000)
		calls += n
		if why != "" {
			t.Errorf("%s: %s", filepath.Base(f), why)
		}
	}
	t.Logf("%d of %d modules, %d calls", modules, len(files), calls)
	if modules < 40 || calls < 40 {
		t.Error("fewer modules than there must be")
	}
}
