package meter

import (
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// bulky has a memory of one page, two tables of 1,000 elements at most 2,000, a passive
// data segment of 64 bytes and a passive element segment of 50.
func bulky(t testing.TB, is ...ins) []byte {
	var m mod
	m.memory(1)
	size := wasm.Size{Min: 1000, Max: 2000, HasMax: true}
	m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: size}, {Type: wasm.FuncRef, Size: size}}
	f := m.fn(nullary, nil, is...)
	m.export("f", f)
	m.Elems = []wasm.Elem{{Type: wasm.FuncRef, Mode: wasm.SegPassive, Init: make([]uint32, 50)}}
	m.Datas = []wasm.Data{{Mode: wasm.SegPassive, Init: make([]byte, 64)}}
	m.DataCount = true
	return m.bytes(t)
}

// What depends on an operand costs what the table says, also when it traps or fails.
func TestDynamicCharges(t *testing.T) {
	three := func(n int32, op ins) []ins { return []ins{i32c(0), i32c(0), i32c(n), op} }
	null := ins{Op: wasm.OpRefNull, Type: wasm.FuncRef}
	const base = 2 + 3 // entry, three operands
	for _, c := range []struct {
		name  string
		is    []ins
		used  int64
		fault string
	}{
		{"memory.fill", three(65_536, o(wasm.OpMemoryFill)), base + 16 + 4096, ""},
		{"memory.fill of 15 bytes", three(15, o(wasm.OpMemoryFill)), base + 16, ""},
		{"memory.fill out of range", three(65_537, o(wasm.OpMemoryFill)), base + 16 + 4096, "out of bounds memory access"},
		{"memory.copy", three(32_768, o(wasm.OpMemoryCopy)), base + 8 + 2048, ""},
		{"memory.init", three(64, x(wasm.OpMemoryInit, 0)), base + 8 + 4, ""},
		{"table.copy", three(1000, ins{Op: wasm.OpTableCopy, Index: 0, Index2: 1}), base + 8 + 1000, ""},
		{"table.init", three(50, x(wasm.OpTableInit, 0)), base + 8 + 50, ""},
		{"table.init out of range", three(51, x(wasm.OpTableInit, 0)), base + 8 + 51, "invalid table access"},
		{"table.fill", []ins{i32c(0), null, i32c(999), x(wasm.OpTableFill, 1)}, base + 8 + 999, ""},
		{"table.grow", []ins{null, i32c(10), x(wasm.OpTableGrow, 1), o(wasm.OpDrop)}, base + 64 + 10, ""},
		{"table.grow in vain", []ins{null, i32c(-1), x(wasm.OpTableGrow, 1), o(wasm.OpDrop)}, base + 64 + 2000, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := everywhere(t, instrument(t, bulky(t, c.is...), Options{}), "f", 1<<20)
			if got.used != c.used || got.fault != c.fault {
				t.Errorf("%+v, want %d %q", got, c.used, c.fault)
			}
		})
	}
}

// A head pays for small regions up to a bound, in the order of the code; the others pay
// for themselves, and only when they are reached.
func TestHeadsPayWithinBounds(t *testing.T) {
	arms := func(n, size int) []ins {
		var is []ins
		for range n {
			is = append(is, get(0), blk(wasm.OpIf))
			for range size / 2 {
				is = append(is, i32c(0), o(wasm.OpDrop))
			}
			is = append(is, o(end))
		}
		return is
	}
	for _, c := range []struct {
		name        string
		n, size     int
		none, taken int64 // arms left out, arms run
	}{
		{"all are small", 3, 8, 2 + 2 + 3*8 + 2*2, 2 + 2 + 3*8 + 2*2},
		{"arms too large", 3, 14, 2 + 2 + 2*2, 2 + 2 + 2*2 + 3*14},
		// Six pairs of 8 and 2 make 60, two more of 2 make 64; three of 2 and six arms are left.
		{"more than a head takes", 12, 8, 2 + 2 + 64 + 3*2, 2 + 2 + 64 + 3*2 + 6*8},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := instrument(t, one(t, sig(ty(i32), nil), nil, arms(c.n, c.size)...), Options{})
			if got := everywhere(t, out, "f", 1<<20, 0); got.used != c.none {
				t.Errorf("not taken: %d, want %d", got.used, c.none)
			}
			if got := everywhere(t, out, "f", 1<<20, 1); got.used != c.taken {
				t.Errorf("taken: %d, want %d", got.used, c.taken)
			}
		})
	}
}

// An account that begins behind code that ran before ends where one does that has seen it run, whatever the slice.
func TestSkip(t *testing.T) {
	const limit = 1000
	for _, slice := range []int64{0, 1, 7, 400, limit, 1 << 40} {
		for _, used := range []int64{0, 1, 399, limit - 1, limit} {
			for _, more := range []int64{0, 1, limit - used, limit - used + 1} {
				seen, skipped := &Account{Limit: limit, Slice: slice}, &Account{Limit: limit, Slice: slice}
				left, err := seen.Refill(-used)
				if err != nil {
					t.Fatal(err)
				}
				left, err = seen.Refill(left - more)
				got := skipped.Skip(used)
				if got < 0 || skipped.Used(got) != used || slice > 0 && got > slice {
					t.Errorf("slice %d: %d left behind %d", slice, got, used)
				}
				got, err2 := skipped.Refill(got - more)
				if (err == nil) != (err2 == nil) || seen.Used(left) != skipped.Used(got) {
					t.Errorf("slice %d, %d and %d more: %d %v, want %d %v", slice, used, more, skipped.Used(got), err2,
						seen.Used(left), err)
				}
			}
		}
	}
}
