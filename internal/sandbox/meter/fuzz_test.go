package meter

import (
	"fmt"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// agree runs every export of a module on both engines under a small budget, with
// different slices, and compares outcome and state. It gives the number of calls, and
// what differs.
func agree(t testing.TB, m *wasm.Module, limit int64) (calls int, why string) {
	out, err := Instrument(m, Options{MemoryPages: 300, TableElems: 1 << 16})
	if err != nil {
		return 0, "" // over a cap, or a reserved name
	}
	var is [2]*instance
	var errs [2]error
	for k, e := range engines {
		is[k], errs[k] = newRuntime(t, e).instantiate(&out)
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		return 0, fmt.Sprintf("instantiate: %v; %v", errs[0], errs[1])
	}
	if errs[0] != nil {
		return 0, ""
	}
	for _, x := range m.Exports {
		if x.Kind != wasm.ExternFunc {
			continue
		}
		ft := m.FuncType(x.Index)
		args := make([]uint64, 0, 2*len(ft.Params))
		for i, p := range ft.Params {
			a := uint64(i*7 + 3)
			switch {
			case p.IsRef():
				a = 0
			case p == wasm.V128:
				args = append(args, 0x7ff8_0000_0000_1234)
			}
			args = append(args, a)
		}
		a, _ := is[0].invoke(x.Name, Account{Limit: limit, Slice: 1 << 10}, args...)
		b, _ := is[1].invoke(x.Name, Account{Limit: limit, Slice: 333}, args...)
		calls++
		if a != b {
			return calls, fmt.Sprintf("%q: compiler %+v, interpreter %+v", x.Name, a, b)
		}
		if why := sameState(is[0], is[1]); why != "" {
			return calls, fmt.Sprintf("after %q: %s", x.Name, why)
		}
	}
	return calls, ""
}

func sameState(a, b *instance) string {
	for _, g := range a.out.Globals {
		x, y := a.mod.ExportedGlobal(g.Export).Get(), b.mod.ExportedGlobal(g.Export).Get()
		if g.Type == wasm.I32 || g.Type == wasm.F32 {
			x, y = uint64(uint32(x)), uint64(uint32(y))
		}
		if x != y {
			return fmt.Sprintf("global %d: %#x and %#x", g.Index, x, y)
		}
	}
	if a.out.MemoryPages == 0 {
		return "" // the engine's Memory is not nil then, but a nil inside
	}
	ma, mb := a.mod.Memory(), b.mod.Memory()
	x, _ := ma.Read(0, ma.Size())
	y, _ := mb.Read(0, mb.Size())
	if string(x) != string(y) {
		return "memory differs"
	}
	return ""
}

// FuzzInstrument: the engine compiles every module that parser and pass accept,
// and both engines agree on its behaviour.
func FuzzInstrument(f *testing.F) {
	for _, b := range [][]byte{spin(f), fib(f), divLate(f), hostCharges(f), pair(f), features(f), benchGuest(f)} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		lim := relaxed()
		lim.MemoryPages = 32
		m, err := wasm.Parse(file, lim)
		if err != nil {
			return
		}
		if est := wasm.Estimate(m); est.Nanos > 200e6 {
			return // too slow to compile
		}
		if _, why := agree(t, m, 20_000); why != "" {
			t.Error(why)
		}
	})
}
