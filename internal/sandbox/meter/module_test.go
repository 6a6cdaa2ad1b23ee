package meter

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestOutput(t *testing.T) {
	file := features(t)
	out := instrument(t, file, Options{MemoryPages: 40})
	want := Output{
		CostTable: CostTable, Start: true, MemoryPages: 40, StackBudget: 131_072 * 15, SizeIn: len(file),
		SizeOut: len(out.Wasm), Imports: 1,
		Globals: []Global{{Export: "__belay_g0", Index: 0, Type: i32, Names: []string{"global"}},
			{Export: "__belay_g2", Index: 2, Type: f64}},
		Unrestorable: []Unrestorable{StateGlobals, StateTables, StateSegments},
	}
	if d := cmp.Diff(want, out, cmpopts.IgnoreFields(Output{}, "Wasm"), cmpopts.IgnoreUnexported(Output{})); d != "" {
		t.Error(d)
	}
	if out.Restorable() {
		t.Error("restorable")
	}
	m, err := wasm.Parse(out.Wasm, relaxed())
	if err == nil {
		t.Fatal("the parser takes a metered module for a guest's")
	}
	// Written by the pass, read by hand: the exports and their names.
	var names []string
	p := &pass{in: parse(t, file), opts: Options{MemoryPages: 40}.withDefaults(),
		units: newStackUnits(Options{}.withDefaults())}
	if err := p.run(); err != nil {
		t.Fatal(err)
	}
	for _, x := range p.out.Exports {
		names = append(names, fmt.Sprint(x.Name, " ", x.Kind, " ", x.Index))
	}
	wantNames := []string{"memory 2 0", "f 0 4", "g 0 5", "__belay_fuel 3 5", "__belay_stack 3 6",
		"__belay_grow_refused 3 7", "__belay_start 0 3", "__belay_g0 3 0", "__belay_g2 3 2"}
	if d := cmp.Diff(wantNames, names); d != "" {
		t.Error(d)
	}
	if p.out.HasStart || m != nil {
		t.Error("a start section is left")
	}
	for metered, want := range map[uint32]int{0: 0, 1: -1, 2: -1, 3: 1, 5: 3} {
		if got, ok := out.OriginalFunc(metered); ok != (want >= 0) || ok && int(got) != want {
			t.Errorf("function %d is %d, %v, want %d", metered, got, ok, want)
		}
	}
	plain := instrument(t, fib(t), Options{})
	if plain.Start || !plain.Restorable() || len(plain.Globals) != 0 {
		t.Errorf("fib: %+v", plain)
	}
}

// Names in a module are the guest's word: none survives but those of imports and of
// exported functions and memory.
func TestNamesAreDropped(t *testing.T) {
	var m mod
	m.memory(1)
	m.export("f", m.fn(nullary, nil))
	file, err := wasm.Encode(&m.Module, wasm.Custom{Name: "name", Payload: []byte("\x00\x0a\x09belay_v1!")},
		wasm.Custom{Name: "producers", Payload: []byte("made by nobody")})
	if err != nil {
		t.Fatal(err)
	}
	out := instrument(t, file, Options{})
	for _, s := range []string{"belay_v1!", "producers", "nobody"} {
		if bytes.Contains(out.Wasm, []byte(s)) {
			t.Errorf("%q is still there", s)
		}
	}
}

func TestReservedNames(t *testing.T) {
	for name, spoil := range map[string]func(*mod){
		"export":        func(m *mod) { m.export("__belay_fuel", 0) },
		"memory export": func(m *mod) { m.Exports[0].Name = "__belay" },
		"import module": func(m *mod) {
			m.Imports = []wasm.Import{{Module: "__belay", Name: "x"}}
		},
		"import name": func(m *mod) {
			m.Imports = []wasm.Import{{Module: "x", Name: "__belay_yield"}}
		},
	} {
		var m mod
		m.memory(1)
		m.fn(nullary, nil)
		spoil(&m)
		if _, err := Instrument(&m.Module, Options{}); !errors.Is(err, ErrReserved) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCapsAndOptions(t *testing.T) {
	var big mod
	big.memory(1)
	big.Memory.Max, big.Memory.HasMax = 60_000, true
	big.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 1, Max: 1 << 30, HasMax: true}},
		{Type: wasm.FuncRef}}
	p := &pass{in: parse(t, big.bytes(t)), opts: Options{MemoryPages: 20, TableElems: 30}.withDefaults(),
		units: newStackUnits(Options{}.withDefaults())}
	if err := p.run(); err != nil {
		t.Fatal(err)
	}
	if p.out.Memory.Max != 20 || p.result.MemoryPages != 20 || p.out.Tables[0].Max != 30 || p.out.Tables[1].Max != 30 ||
		!p.out.Tables[1].HasMax {
		t.Errorf("declared maxima are not cut: %+v, %+v", p.out.Memory, p.out.Tables)
	}
	var m mod
	m.memory(17)
	m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 100}}}
	for _, c := range []struct {
		o    Options
		want error
	}{
		{Options{}, nil},
		{Options{MemoryPages: 17, TableElems: 100}, nil},
		{Options{MemoryPages: 16}, ErrLimit},
		{Options{TableElems: 99}, ErrLimit},
		{Options{MemoryPages: 65_537}, ErrOptions},
		{Options{TableElems: 1<<24 + 1}, ErrOptions},
		{Options{Slots: 1 << 31, Calls: 1<<31 - 1}, ErrOptions},
		{Options{Slots: 1<<20 + 7, Calls: 10_007}, ErrOptions},
	} {
		_, err := Instrument(&m.Module, c.o)
		if (c.want == nil) != (err == nil) || !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Func != -1) {
			t.Errorf("%+v: %#v", c.o, err)
		}
	}
}

// A module can ask for much more metered code than it has itself, but not without bound.
func TestMeteredCodeIsBounded(t *testing.T) {
	grows := func(funcs int) Output {
		var m mod
		m.memory(1)
		is := []ins{i32c(0)}
		for range 60_000 {
			is = append(is, o(wasm.OpMemoryGrow))
		}
		for range funcs {
			m.fn(sig(nil, ty(i32)), nil, is...)
		}
		out, err := Instrument(parse(t, m.bytes(t)), Options{})
		if err != nil && !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
		return out
	}
	out := grows(1)
	if ratio := float64(out.SizeOut) / float64(out.SizeIn); ratio < 10 || ratio > 50 {
		t.Errorf("the worst instruction grows by a factor of %.0f", ratio)
	}
	if out := grows(20); out.Wasm != nil {
		t.Errorf("%d bytes from %d", out.SizeOut, out.SizeIn)
	}
}

// The cost of every instruction of the language, as the version has it.
func TestCostTable(t *testing.T) {
	var b strings.Builder
	for p := range wasm.Op(0xfe00) {
		if _, ok := p.Info(); ok {
			fmt.Fprintf(&b, "%04x %d %s\n", uint32(p), cost(p), p)
		}
	}
	golden := fmt.Sprintf("testdata/cost_v%d.txt", CostTable)
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the table changed without its version:\n%s", d)
	}
}

// Whatever the slices, an account runs out at the same charge, and accounts for all.
func TestAccountDoesNotDependOnSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 5000).Draw(t, "limit")
		charges := rapid.SliceOf(rapid.Int64Range(0, 700)).Draw(t, "charges")
		checks := rapid.SliceOfN(rapid.Bool(), len(charges), len(charges)).Draw(t, "checks")
		run := func(slice int64) (used int64, stopped int) {
			a := Account{Limit: limit, Slice: slice}
			left := int64(0)
			for i, c := range charges {
				if left -= c; !checks[i] {
					continue
				}
				var err error
				if left, err = a.Refill(left); err != nil {
					return a.Used(left), i
				}
				if left < 0 || a.Granted > limit {
					t.Fatalf("left %d of %+v", left, a)
				}
			}
			used, err := a.Settle(left)
			if (err != nil) != (used > limit) {
				t.Fatalf("settled %d of %d: %v", used, limit, err)
			}
			return used, -1
		}
		u, s := run(0)
		sum := int64(0)
		for i, c := range charges {
			if s < 0 || i <= s {
				sum += c
			}
		}
		if u != sum {
			t.Fatalf("used %d, charged %d", u, sum)
		}
		for _, slice := range []int64{1, 3, 100, 1000, 1 << 40} {
			if u2, s2 := run(slice); u2 != u || s2 != s {
				t.Fatalf("slice %d: used %d, stopped at %d; before %d, %d", slice, u2, s2, u, s)
			}
		}
	})
}

func TestAccountExtremes(t *testing.T) {
	a := Account{Limit: 1 << 62, Slice: 1}
	if left, err := a.Charge(-1<<63, 1<<62); err == nil {
		t.Errorf("%d", left)
	}
	if left, err := (&Account{}).Refill(-1); !errors.Is(err, ErrFuel) || left != -1 {
		t.Errorf("%d, %v", left, err)
	}
	if left, err := (&Account{Limit: 10}).Charge(0, -5); err != nil || left != 0 {
		t.Errorf("a negative charge: %d, %v", left, err)
	}
}
