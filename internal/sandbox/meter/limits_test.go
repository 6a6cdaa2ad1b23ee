package meter

import (
	goruntime "runtime"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// expo is a tree of 2^depth calls without any loop.
func expo(t testing.TB, depth uint32) []byte {
	var m mod
	for i := range depth {
		if i == 0 {
			m.fn(nullary, nil)
		} else {
			m.fn(nullary, nil, call(i-1), call(i-1))
		}
	}
	m.export("f", depth-1)
	return m.bytes(t)
}

// recurse calls itself for ever, with n locals that are all in use after the call.
func recurse(t testing.TB, n uint32) []byte {
	is := []ins{get(0), i64c(1), o(wasm.OpI64Add), set(0)}
	for i := range n {
		is = append(is, get(0), i64c(int64(i)), o(wasm.OpI64Add), set(1+i))
	}
	is = append(is, x(wasm.OpGlobalGet, 0), i32c(1), o(wasm.OpI32Add), x(wasm.OpGlobalSet, 0))
	is = append(is, get(0), call(0), set(0))
	for i := range n {
		is = append(is, get(1+i), get(0), o(wasm.OpI64Add), set(0))
	}
	var m mod
	m.Globals = []wasm.Global{{Type: i32, Mutable: true, Init: wasm.ConstExpr{Op: wasm.OpI32Const}}}
	m.export("f", m.fn(sig(ty(i64), ty(i64)), locals(n, i64), append(is, get(0))...))
	return m.bytes(t)
}

// The attacks that a guest can make on time: all end by fuel, at the same place on both
// engines and with every slice.
func TestNoGuestRunsOn(t *testing.T) {
	filled := func(op wasm.Op) []byte {
		return one(t, nullary, nil,
			blk(wasm.OpLoop), i32c(0), i32c(0), i32c(65536), o(op), br(0), o(end))
	}
	var tables mod
	tables.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 1000}}}
	tables.export("f", tables.fn(nullary, nil,
		blk(wasm.OpLoop), i32c(0), ins{Op: wasm.OpRefNull, Type: wasm.FuncRef}, i32c(1000), x(wasm.OpTableFill, 0), br(0),
		o(end)))
	var grown mod
	grown.Tables = []wasm.Table{{Type: wasm.ExternRef}}
	grown.export("f", grown.fn(nullary, nil,
		blk(wasm.OpLoop), ins{Op: wasm.OpRefNull, Type: wasm.ExternRef}, i32c(-1), x(wasm.OpTableGrow, 0), o(wasm.OpDrop),
		br(0), o(end)))
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"empty loop", one(t, nullary, nil, blk(wasm.OpLoop), br(0), o(end))},
		{"loop by br_table", one(t, nullary, nil, blk(wasm.OpLoop), i32c(5), brTable(0, 0, 0), o(end))},
		{"loop by br_if from a block",
			one(t, nullary, nil, blk(wasm.OpLoop), blk(wasm.OpBlock), i32c(1), brIf(1), o(end), o(end))},
		{"two loops", one(t, nullary, nil, blk(wasm.OpLoop), blk(wasm.OpLoop), br(1), o(end), o(end))},
		{"call tree without loops", expo(t, 40)},
		{"memory.fill", filled(wasm.OpMemoryFill)},
		{"memory.copy", filled(wasm.OpMemoryCopy)},
		{"table.fill", tables.bytes(t)},
		{"table.grow in vain", grown.bytes(t)},
		{"memory.grow by nothing",
			one(t, nullary, nil, blk(wasm.OpLoop), i32c(0), ins{Op: wasm.OpMemoryGrow}, o(wasm.OpDrop), br(0), o(end))},
	} {
		t.Run(c.name, func(t *testing.T) {
			const limit = 1 << 18
			got := everywhere(t, instrument(t, c.file, Options{}), "f", limit)
			if got.fault != "fuel" || got.used < limit || got.used > limit+1<<17 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestMemoryGrowBombs(t *testing.T) {
	grow := func(n int32) ins { return i32c(n) }
	for _, c := range []struct {
		name  string
		is    []ins
		fault string
		grew  bool
		used  int64
	}{
		{"page by page for ever", []ins{blk(wasm.OpLoop), grow(1), o(wasm.OpMemoryGrow), o(wasm.OpDrop), br(0), o(end)},
			"fuel", true, 0},
		{"all at once, then trap", []ins{grow(-1), o(wasm.OpMemoryGrow), o(wasm.OpDrop), o(wasm.OpUnreachable)},
			"unreachable", true, 2 + 1 + 64 + 1 + 1 + 20<<12},
		{"up to the cap", []ins{grow(19), o(wasm.OpMemoryGrow), o(wasm.OpDrop)}, "", false, 2 + 1 + 64 + 1 + 19<<12},
		{"one over the cap", []ins{grow(20), o(wasm.OpMemoryGrow), o(wasm.OpDrop)}, "", true, 2 + 1 + 64 + 1 + 20<<12},
		{"refused, then granted",
			[]ins{grow(20), o(wasm.OpMemoryGrow), o(wasm.OpDrop), grow(1), o(wasm.OpMemoryGrow), o(wasm.OpDrop)}, "", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := everywhere(t, instrument(t, one(t, nullary, nil, c.is...), Options{MemoryPages: 20}), "f", 1<<20)
			if got.fault != c.fault || got.grew != c.grew || c.used != 0 && got.used != c.used {
				t.Errorf("%+v, want %+v", got, c)
			}
		})
	}
}

// A declared maximum below the cap stands, and a growth that it refuses sets
// the flag as well.
func TestDeclaredMaximumStands(t *testing.T) {
	var m mod
	m.memory(1)
	m.Memory.Max, m.Memory.HasMax = 2, true
	m.export("f", m.fn(sig(nil, ty(i32)), nil, i32c(2), o(wasm.OpMemoryGrow)))
	out := instrument(t, m.bytes(t), Options{})
	if out.MemoryPages != 2 {
		t.Errorf("maximum is %d", out.MemoryPages)
	}
	if got := everywhere(t, out, "f", 1<<20); got.results != "[4294967295]" || !got.grew {
		t.Errorf("%+v", got)
	}
}

// depth runs a recursion into the ground and gives the number of calls that were made.
func depth(t *testing.T, e engine, file []byte, opts Options) (uint64, outcome, *instance) {
	t.Helper()
	out := instrument(t, file, opts)
	i, err := newRuntime(t, e).instantiate(&out)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := i.invoke("f", Account{Limit: 1 << 30, Slice: 1 << 12}, 0)
	return i.mod.ExportedGlobal(ExportGlobal + "0").Get(), got, i
}

func TestRecursionEndsAtTheSameCall(t *testing.T) {
	for _, c := range []struct {
		name   string
		locals uint32
		opts   Options
		want   uint64 // calls that started
	}{
		{"small frames", 0, Options{}, DefaultCalls},
		{"2,000 live locals", 2000, Options{}, 131_072 / (2001 + 2)},
		{"frame over the budget", 100, Options{Slots: 90, Calls: 10}, 0},
		{"as deep as the interpreter goes", 0, Options{Calls: PortableCalls}, PortableCalls},
		{"few slots", 10, Options{Slots: 1000}, 1000 / (11 + 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := recurse(t, c.locals)
			a, ga, _ := depth(t, compiler, file, c.opts)
			b, gb, _ := depth(t, interpreter, file, c.opts)
			if ga.fault != "stack" || ga != gb || a != b || a != c.want {
				t.Errorf("compiler %d %+v, interpreter %d %+v, want %d calls", a, ga, b, gb, c.want)
			}
		})
	}
	// The compiler alone can be given more.
	if n, got, _ := depth(t, compiler, recurse(t, 0), Options{Calls: 10_000}); n != 10_000 || got.fault != "stack" {
		t.Errorf("%d calls, %+v", n, got)
	}
}

// Recursion through tables and host calls counts like any other.
func TestIndirectRecursion(t *testing.T) {
	var m mod
	h := m.hostCharge()
	m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 1}}}
	f := m.fn(nullary, nil, i32c(0), call(h), i32c(0), ins{Op: wasm.OpCallIndirect, Index: 1})
	m.Elems = []wasm.Elem{{Type: wasm.FuncRef, Offset: wasm.ConstExpr{Op: wasm.OpI32Const}, Init: []uint32{f}}}
	m.export("f", f)
	if got := everywhere(t, instrument(t, m.bytes(t), Options{}), "f", 1<<20); got.fault != "stack" {
		t.Errorf("%+v", got)
	}
}

// The stack counter is whole again after every way out of a function.
func TestStackIsGivenBack(t *testing.T) {
	for _, file := range [][]byte{fib(t), pair(t), hostCharges(t)} {
		for _, e := range engines {
			out := instrument(t, file, Options{})
			i, err := newRuntime(t, e).instantiate(&out)
			if err != nil {
				t.Fatal(err)
			}
			for arg := range uint64(5) {
				if got, _ := i.invoke("f", Account{Limit: 1 << 20}, arg); got.fault != "" {
					t.Fatalf("%+v", got)
				}
				if left := int32(i.stack.Get()); left != out.StackBudget {
					t.Errorf("%s: %d of %d left after f(%d)", e, left, out.StackBudget, arg)
				}
			}
		}
	}
}

// What a deep recursion leaves in the host is bounded.
func TestRecursionKeepsLittle(t *testing.T) {
	heap := func() int64 {
		goruntime.GC()
		goruntime.GC()
		var s goruntime.MemStats
		goruntime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	for _, n := range []uint32{0, 2000} {
		out := instrument(t, recurse(t, n), Options{})
		i, err := newRuntime(t, compiler).instantiate(&out)
		if err != nil {
			t.Fatal(err)
		}
		before := heap()
		f := i.mod.ExportedFunction("f")
		i.rt.acct = &Account{Limit: 1 << 30}
		if _, err := f.Call(ctx, 0); fault(err) != "stack" {
			t.Fatal(err)
		}
		kept := heap() - before
		t.Logf("%d locals: %d KiB kept", n, kept>>10)
		if kept > 4<<20 {
			t.Errorf("%d locals: %d KiB kept", n, kept>>10)
		}
		goruntime.KeepAlive(f)
		goruntime.KeepAlive(i)
	}
}
