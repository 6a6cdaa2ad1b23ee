package meter

import (
	"fmt"
	"math"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// Values that make arithmetic give NaN, or pass one on: a quiet NaN with a payload, one
// with the sign, a signalling one, infinities, zeros.
var (
	odd32 = []uint64{0x7fc0_1234, 0xffc0_0001, 0x7f80_0001, 0xff80_4321, 0x7f80_0000, 0xff80_0000, 0, 0x8000_0000,
		0x3f80_0000}
	odd64 = []uint64{0x7ff8_0000_0000_1234, 0xfff8_0000_0000_0001, 0x7ff0_0000_0000_0001, 0xfff0_0000_0000_4321,
		0x7ff0 << 48, 0xfff0 << 48, 0, 1 << 63, 0x3ff0 << 48}
)

// isCanonical says whether every NaN lane of a value is the canonical one.
func isCanonical(shape nanShape, words ...uint64) bool {
	ok := true
	for _, w := range words {
		switch shape {
		case nanF32, nanF32x4:
			for _, b := range []uint32{uint32(w), uint32(w >> 32)} {
				f := math.Float32frombits(b)
				ok = ok && (f == f || b == canonicalF32)
			}
		default:
			f := math.Float64frombits(w)
			ok = ok && (f == f || w == canonicalF64)
		}
	}
	return ok
}

// Every instruction of the list gives the canonical NaN on both engines, for all odd
// operands; the list is checked against the opcode table.
func TestNaNsAreCanonical(t *testing.T) {
	var m mod
	type op struct {
		name  string
		shape nanShape
		in    []wasm.ValType
	}
	var ops []op
	for p := range wasm.Op(0xfe00) {
		shape := produces(p)
		if shape == nanNone {
			continue
		}
		info, ok := p.Info()
		if !ok {
			t.Fatalf("%#x is no instruction", uint32(p))
		}
		in := info.Sig.In[:info.Sig.NIn]
		is := make([]ins, 0, 3)
		for i := range in {
			is = append(is, get(uint32(i)))
		}
		name := fmt.Sprintf("f%d", len(ops))
		m.export(name, m.fn(sig(in, ty(info.Sig.Out)), nil, append(is, o(p))...))
		ops = append(ops, op{name, shape, in})
	}
	// 11 float instructions of two types and two conversions; the same number for lanes.
	if len(ops) != 48 {
		t.Fatalf("%d instructions give NaNs, not 48", len(ops))
	}
	out := instrument(t, m.bytes(t), Options{})
	var both [2]*instance
	for k, e := range engines {
		i, err := newRuntime(t, e).instantiate(&out)
		if err != nil {
			t.Fatal(err)
		}
		both[k] = i
	}
	nans := 0
	for _, p := range ops {
		for a := range odd32 {
			for b := range odd32 {
				var args []uint64
				for _, v := range p.in {
					args = append(args, oddWords(v, p.shape, a, b)...)
					a, b = b, a
				}
				c, words := both[0].invoke(p.name, Account{Limit: 1 << 20}, args...)
				i, _ := both[1].invoke(p.name, Account{Limit: 1 << 20}, args...)
				if c != i {
					t.Fatalf("%s(%x): compiler %+v, interpreter %+v", p.name, args, c, i)
				}
				if !isCanonical(p.shape, words...) {
					t.Errorf("%s(%x) = %x", p.name, args, words)
				}
				if p.shape == nanF64 && math.IsNaN(math.Float64frombits(words[0])) {
					nans++
				}
			}
		}
	}
	if nans < 100 {
		t.Errorf("only %d NaNs came up", nans)
	}
}

func oddWords(v wasm.ValType, out nanShape, a, b int) []uint64 {
	switch {
	case v == wasm.F32:
		return []uint64{odd32[a]}
	case v == wasm.F64:
		return []uint64{odd64[a]}
	case out == nanF32x4:
		return []uint64{odd32[a] | odd32[b]<<32, odd64[b]}
	}
	return []uint64{odd64[a], odd64[b]}
}

// How many canonicalisations a function body keeps.
func keptNaNs(t *testing.T, ft wasm.FuncType, is ...ins) int {
	t.Helper()
	m := parse(t, one(t, ft, []wasm.LocalRun{{Count: 2, Type: f64}, {Count: 2, Type: v128}, {Count: 1, Type: i32}}, is...))
	a := &analysis{}
	if err := a.walk(m.Funcs[0].Body, spaces{locals: 100, funcs: 1}, 0); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range a.events {
		if e.kind == evNaN {
			n++
		}
	}
	return n
}

// A NaN may stay as it is only where nothing can see its bits.
func TestNeedlessCanonicalisationIsLeftOut(t *testing.T) {
	add := o(wasm.OpF64Add)
	for _, c := range []struct {
		name string
		want int
		is   []ins
	}{
		{"stored", 1, []ins{i32c(0), get(0), get(1), add, mem(wasm.OpF64Store, 0)}},
		{"reinterpreted", 1, []ins{get(0), get(1), add, o(wasm.OpI64ReinterpretF64), o(wasm.OpDrop)}},
		{"compared", 0, []ins{get(0), get(1), add, get(1), o(wasm.OpF64Lt), o(wasm.OpDrop)}},
		{"truncated", 0, []ins{get(0), get(1), add, o(wasm.OpI32TruncSatF64S), o(wasm.OpDrop)}},
		{"chain", 1, []ins{get(0), get(1), add, get(1), o(wasm.OpF64Mul), get(0), get(1), o(wasm.OpF64Div), add, set(0)}},
		{"sign in between", 2, []ins{get(0), get(1), add, o(wasm.OpF64Neg), get(1), add, set(0)}},
		{"through a local", 2, []ins{get(0), get(1), add, tee(0), get(1), add, set(0)}},
		{"across a block", 2, []ins{get(0), get(1), add, blk(wasm.OpBlock), o(end), get(1), add, set(0)}},
		{"across a branch", 2, []ins{get(0), get(1), add, blk(wasm.OpBlock), get(4), brIf(0), o(end), get(1), add, set(0)}},
		{"selected", 2, []ins{get(0), get(1), add, get(0), get(4), o(wasm.OpSelect), get(1), add, set(0)}},
		{"lanes of one shape", 1, []ins{get(2), get(3), o(wasm.OpF64x2Add), get(3), o(wasm.OpF64x2Mul), set(2)}},
		{"lanes of two shapes", 2, []ins{get(2), get(3), o(wasm.OpF32x4Add), get(3), o(wasm.OpF64x2Mul), set(2)}},
		{"lanes as bits", 1, []ins{get(2), get(3), o(wasm.OpF32x4Add), o(wasm.OpV128AnyTrue), o(wasm.OpDrop)}},
		{"pmin sees bits", 1, []ins{get(2), get(3), o(wasm.OpF64x2Add), get(3), o(wasm.OpF64x2Pmin), set(2)}},
		{"dead", 0, []ins{o(wasm.OpUnreachable), get(0), get(1), add, o(wasm.OpDrop)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := keptNaNs(t, sig(nil, nil), c.is...); got != c.want {
				t.Errorf("%d kept, want %d", got, c.want)
			}
		})
	}
}

// pmin, pmax and the sign instructions move bits, and the same ones on both engines.
func TestBitMoversAgree(t *testing.T) {
	var m mod
	list := []wasm.Op{wasm.OpF32x4Pmin, wasm.OpF32x4Pmax, wasm.OpF64x2Pmin, wasm.OpF64x2Pmax, wasm.OpF32x4Neg,
		wasm.OpF64x2Neg,
		wasm.OpF32x4Abs, wasm.OpF64x2Abs, wasm.OpF32Neg, wasm.OpF64Neg, wasm.OpF32Abs, wasm.OpF64Abs, wasm.OpF32Copysign,
		wasm.OpF64Copysign}
	for k, p := range list {
		info, _ := p.Info()
		in := info.Sig.In[:info.Sig.NIn]
		is := make([]ins, 0, 3)
		for i := range in {
			is = append(is, get(uint32(i)))
		}
		m.export(fmt.Sprintf("f%d", k), m.fn(sig(in, ty(info.Sig.Out)), nil, append(is, o(p))...))
	}
	out := instrument(t, m.bytes(t), Options{})
	var both [2]*instance
	for k, e := range engines {
		i, err := newRuntime(t, e).instantiate(&out)
		if err != nil {
			t.Fatal(err)
		}
		both[k] = i
	}
	for k, p := range list {
		info, _ := p.Info()
		for a := range odd32 {
			for b := range odd32 {
				var args []uint64
				for _, v := range info.Sig.In[:info.Sig.NIn] {
					shape := nanF64x2
					if p.String()[1] == '3' {
						shape = nanF32x4
					}
					args = append(args, oddWords(v, shape, a, b)...)
					a, b = b, a
				}
				c, _ := both[0].invoke(fmt.Sprintf("f%d", k), Account{Limit: 1 << 20}, args...)
				i, _ := both[1].invoke(fmt.Sprintf("f%d", k), Account{Limit: 1 << 20}, args...)
				if c != i {
					t.Errorf("%v(%x): compiler %+v, interpreter %+v", p, args, c, i)
				}
			}
		}
	}
}

// TestWhatGivesAndHidesNaNs: by their names, which instructions give NaNs whose bits are not fixed, and which
// cannot show the bits of those that they take. Every other one shows them, or takes none.
func TestWhatGivesAndHidesNaNs(t *testing.T) {
	shapes := map[string]nanShape{"f32": nanF32, "f64": nanF64, "f32x4": nanF32x4, "f64x2": nanF64x2}
	type row struct{ in, out nanShape }
	want := map[string]row{
		"f64.promote_f32":              {nanF32, nanF64},
		"f32.demote_f64":               {nanF64, nanF32},
		"f64x2.promote_low_f32x4":      {nanF32x4, nanF64x2},
		"f32x4.demote_f64x2_zero":      {nanF64x2, nanF32x4},
		"i32x4.trunc_sat_f32x4_s":      {in: nanF32x4},
		"i32x4.trunc_sat_f32x4_u":      {in: nanF32x4},
		"i32x4.trunc_sat_f64x2_s_zero": {in: nanF64x2},
		"i32x4.trunc_sat_f64x2_u_zero": {in: nanF64x2},
	}
	for lanes, shape := range shapes {
		for _, s := range []string{"ceil", "floor", "trunc", "nearest", "sqrt", "add", "sub", "mul", "div", "min", "max"} {
			want[lanes+"."+s] = row{shape, shape}
		}
		for _, s := range []string{"eq", "ne", "lt", "gt", "le", "ge"} {
			want[lanes+"."+s] = row{in: shape}
		}
	}
	for _, from := range []string{"f32", "f64"} {
		for _, to := range []string{"i32.trunc_", "i64.trunc_", "i32.trunc_sat_", "i64.trunc_sat_"} {
			want[to+from+"_s"], want[to+from+"_u"] = row{in: shapes[from]}, row{in: shapes[from]}
		}
	}
	for op := range wasm.Op(0xfe00) {
		if _, ok := op.Info(); !ok {
			continue
		}
		if got := (row{absorbs(op), produces(op)}); got != want[op.String()] {
			t.Errorf("%s hides NaNs of shape %d and gives those of shape %d, want %d and %d", op, got.in, got.out,
				want[op.String()].in, want[op.String()].out)
		}
		delete(want, op.String())
	}
	if len(want) > 0 {
		t.Errorf("no such instructions: %v", want)
	}
}
