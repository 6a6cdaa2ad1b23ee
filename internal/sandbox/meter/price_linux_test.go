package meter

import (
	"math"
	"os"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"
	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/internal/sandbox/wasm/wasmtest"
)

// threadCPU is the processor time of the calling thread.
func threadCPU(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec // rusage of a thread moves in steps of milliseconds
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// setting is a piece of a loop's body that leaves the stack as it finds it.
type setting struct {
	name string
	body []ins
}

// priceVars are how many locals of each type a priced loop has.
const priceVars = 4

var priceTypes = wasmtest.Types()

// priceVar is the local number k of a type. The first local of all is the parameter, that
// is the number of rounds.
func priceVar(vt wasm.ValType, k int) uint32 {
	for i, have := range priceTypes {
		if have == vt {
			return uint32(1 + i*priceVars + k)
		}
	}
	panic("no such type")
}

// priced is a module whose function f runs times repetitions of a setting for as many
// rounds as its parameter says; with edge, it has 400 locals more, and function 6 has many. The locals hold
// what bits gives for numbers.
func priced(t testing.TB, s setting, times int, bits func(wasm.ValType, int) uint64, edge bool) []byte {
	t.Helper()
	var m mod
	m.memory(16)
	m.Memory.Max, m.Memory.HasMax = 16, true
	callee := m.fn(nullary, nil)
	for _, vt := range priceTypes[:5] { // see manyParams and manyResults
		var zeros []ins
		for range 16 {
			zeros = append(zeros, get(0))
		}
		m.fn(sig(slices.Repeat(ty(vt), 128), slices.Repeat(ty(vt), 16)), nil, zeros...)
		m.Types = append(m.Types, sig(nil, slices.Repeat(ty(vt), 16)))
	}
	if edge {
		m.many(2000)
	}
	m.Tables = []wasm.Table{
		{Type: wasm.FuncRef, Size: wasm.Size{Min: 64, Max: 64, HasMax: true}},
		{Type: wasm.ExternRef, Size: wasm.Size{Min: 64, Max: 64, HasMax: true}},
	}
	all := make([]uint32, 64)
	m.Elems = []wasm.Elem{
		{Type: wasm.FuncRef, Mode: wasm.SegActive, Offset: wasm.ConstExpr{Op: wasm.OpI32Const}, Init: all},
		{Type: wasm.FuncRef, Mode: wasm.SegPassive, Init: []uint32{callee}},
	}
	m.DataCount, m.Datas = true, []wasm.Data{{Mode: wasm.SegPassive, Init: make([]byte, 64)}}
	for _, vt := range priceTypes {
		m.Globals = append(m.Globals, wasm.Global{Type: vt, Mutable: true, Init: wasmtest.Zero(vt)})
	}
	var is []ins
	for _, vt := range priceTypes[:5] {
		for k := range priceVars {
			b := bits(vt, k)
			switch vt {
			case wasm.I32:
				is = append(is, i32c(int32(uint32(b))))
			case wasm.I64:
				is = append(is, i64c(int64(b)))
			case wasm.F32:
				is = append(is, ins{Op: wasm.OpF32Const, Bits: b})
			case wasm.F64:
				is = append(is, ins{Op: wasm.OpF64Const, Bits: b})
			case wasm.V128:
				is = append(is, ins{Op: wasm.OpV128Const, Bits: b, BitsHi: b})
			}
			is = append(is, set(priceVar(vt, k)))
		}
	}
	is = append(is, blk(wasm.OpLoop))
	for range times {
		is = append(is, s.body...)
	}
	is = append(is, get(0), i32c(1), o(wasm.OpI32Sub), tee(0), brIf(0), o(end))
	var locals []wasm.LocalRun
	for _, vt := range priceTypes {
		locals = append(locals, wasm.LocalRun{Count: priceVars, Type: vt})
	}
	if edge {
		locals = append(locals, wasm.LocalRun{Count: 400, Type: wasm.I64})
	}
	m.export("f", m.fn(sig(ty(wasm.I32), nil), locals, is...))
	return m.bytes(t)
}

// many adds a function that moves all its locals on an edge, once.
func (m *mod) many(n uint32) {
	var sets, uses []ins
	for k := range n {
		sets = append(sets, get(k), set((k+1)%n))
	}
	for k := range n {
		uses = append(uses, i32c(0), get(k), mem(wasm.OpI64Store, 0))
	}
	is := seq(blk(wasm.OpLoop), x(wasm.OpGlobalGet, 0), blk(wasm.OpIf), sets, br(1), o(end), o(end),
		x(wasm.OpGlobalGet, 0), blk(wasm.OpIf), uses, o(end))
	m.fn(nullary, []wasm.LocalRun{{Count: n, Type: wasm.I64}}, is...)
}

// usualBits are numbers that no instruction traps on: addresses within the memory,
// divisors other than 0, floats of two kinds.
func usualBits(vt wasm.ValType, k int) uint64 {
	switch vt {
	case wasm.I32:
		return uint64(1024*k + 7)
	case wasm.I64:
		return 0x7123_4567_89ab_cdef >> (5 * k)
	case wasm.F32:
		return uint64(math.Float32bits(1.5 + float32(k)))
	case wasm.F64, wasm.V128:
		return math.Float64bits(1.5 + float64(k))
	}
	return 0
}

// denormalBits are the same with floats that processors take long for.
func denormalBits(vt wasm.ValType, k int) uint64 {
	switch vt {
	case wasm.F32:
		return uint64(0x0040_1234 + k)
	case wasm.F64:
		return uint64(0x0008_1234_5678_9abc + k)
	case wasm.V128:
		return uint64(0x0008_1234_0040_1234 + k)
	}
	return usualBits(vt, k)
}

// settings are the ways in which an instruction is priced.
func settings(op wasm.Op) []setting {
	info, _ := op.Info()
	keep := func(vt wasm.ValType) []ins {
		if vt == 0 {
			return nil
		}
		return []ins{set(priceVar(vt, 3))}
	}
	if info.Sig.Fixed {
		var is []ins
		operands := info.Sig.In[:info.Sig.NIn]
		for k, vt := range operands {
			is = append(is, get(priceVar(vt, k%3)))
		}
		in := wasmtest.Instr(op, 8) // addresses of 64 and more are within the memory
		var ops []setting
		switch op {
		case wasm.OpMemoryCopy, wasm.OpMemoryFill, wasm.OpMemoryInit:
			for _, n := range []int32{0, 15, 16, 4000} {
				if op == wasm.OpMemoryInit {
					n = min(n, 64)
				}
				dst := i32c(4096)
				src := i32c(8)
				if op == wasm.OpMemoryInit {
					src = i32c(0)
				}
				ops = append(ops, setting{"bytes " + string('0'+n%10), []ins{dst, src, i32c(n), {Op: op}}})
			}
			return ops
		case wasm.OpMemoryGrow:
			return []setting{{"none", []ins{i32c(0), {Op: op}, o(wasm.OpDrop)}},
				{"refused", []ins{i32c(1), {Op: op}, o(wasm.OpDrop)}}}
		case wasm.OpDataDrop, wasm.OpElemDrop:
			return []setting{{"again", []ins{{Op: op}}}}
		}
		ops = append(ops, setting{"used", append(append(is, in), keep(info.Sig.Out)...)})
		if len(operands) > 0 && operands[0] == info.Sig.Out { // each waits for the one before
			chain := []ins{get(priceVar(operands[0], 3))}
			for k, vt := range operands[1:] {
				chain = append(chain, get(priceVar(vt, (k+1)%3)))
			}
			ops = append(ops, setting{"chain", append(append(chain, in), set(priceVar(operands[0], 3)))})
		}
		return ops
	}
	i32 := get(priceVar(wasm.I32, 0))
	ref := func(vt wasm.ValType) ins { return get(priceVar(vt, 0)) }
	drop := o(wasm.OpDrop)
	switch op {
	case wasm.OpRefFunc:
		return []setting{{"kept", []ins{x(op, 0), set(priceVar(wasm.FuncRef, 3))}}, {"dropped", []ins{x(op, 0), drop}}}
	case wasm.OpRefNull:
		return []setting{{"used", []ins{{Op: op, Type: wasm.FuncRef}, set(priceVar(wasm.FuncRef, 3))}}}
	case wasm.OpRefIsNull:
		return []setting{{"used", []ins{ref(wasm.FuncRef), o(op), set(priceVar(wasm.I32, 3))}}}
	case wasm.OpCall:
		return []setting{{"used", []ins{x(op, 0)}}}
	case wasm.OpCallIndirect:
		return []setting{{"used", []ins{i32c(1), {Op: op, Index: 0}}}}
	case wasm.OpBr:
		return []setting{{"used", []ins{blk(wasm.OpBlock), br(0), o(end)}}}
	case wasm.OpBrIf:
		return []setting{{"used", []ins{blk(wasm.OpBlock), i32, brIf(0), o(end)}}}
	case wasm.OpBrTable:
		return []setting{{"used", []ins{blk(wasm.OpBlock), i32, brTable(0, 0, 0, 0), o(end)}}}
	case wasm.OpIf, wasm.OpElse:
		return []setting{{"used", []ins{i32, blk(wasm.OpIf), o(wasm.OpElse), o(end)}}}
	case wasm.OpGlobalGet, wasm.OpGlobalSet:
		var out []setting
		for i, vt := range priceTypes {
			out = append(out,
				setting{vt.String(),
					[]ins{get(priceVar(vt, 0)), x(wasm.OpGlobalSet, uint32(i)), x(wasm.OpGlobalGet, uint32(i)), set(priceVar(vt, 3))}})
		}
		return out
	case wasm.OpTableGet:
		return []setting{{"func", []ins{i32c(3), x(op, 0), set(priceVar(wasm.FuncRef, 3))}},
			{"extern", []ins{i32c(3), x(op, 1), set(priceVar(wasm.ExternRef, 3))}}}
	case wasm.OpTableSet:
		return []setting{{"func", []ins{i32c(3), ref(wasm.FuncRef), x(op, 0)}},
			{"extern", []ins{i32c(3), ref(wasm.ExternRef), x(op, 1)}}}
	case wasm.OpTableSize:
		return []setting{{"used", []ins{x(op, 0), set(priceVar(wasm.I32, 3))}}}
	case wasm.OpTableGrow:
		return []setting{
			{"none", []ins{ref(wasm.FuncRef), i32c(0), x(op, 0), drop}},
			{"refused", []ins{ref(wasm.FuncRef), i32c(1), x(op, 0), drop}},
		}
	case wasm.OpTableFill:
		return []setting{{"one", []ins{i32c(0), ref(wasm.FuncRef), i32c(1), x(op, 0)}},
			{"none", []ins{i32c(0), ref(wasm.FuncRef), i32c(0), x(op, 0)}},
			{"all", []ins{i32c(0), ref(wasm.FuncRef), i32c(64), x(op, 0)}}}
	case wasm.OpTableCopy:
		return []setting{{"none", []ins{i32c(0), i32c(0), i32c(0), {Op: op}}},
			{"one", []ins{i32c(0), i32c(1), i32c(1), {Op: op}}}, {"all", []ins{i32c(0), i32c(1), i32c(63), {Op: op}}}}
	case wasm.OpTableInit:
		return []setting{{"none", []ins{i32c(0), i32c(0), i32c(0), {Op: op, Index: 1}}},
			{"one", []ins{i32c(0), i32c(0), i32c(1), {Op: op, Index: 1}}}}
	case wasm.OpSelect:
		return []setting{{"used",
			[]ins{get(priceVar(wasm.I64, 0)), get(priceVar(wasm.I64, 1)), i32, o(op), set(priceVar(wasm.I64, 3))}}}
	case wasm.OpMemoryGrow:
		return []setting{{"none", []ins{i32c(0), {Op: op}, o(wasm.OpDrop)}},
			{"refused", []ins{i32c(1), {Op: op}, o(wasm.OpDrop)}}}
	}
	return nil
}

// priceOf is what a unit of fuel takes on this thread in the setting, in nanoseconds: the
// least of some runs. The loop around it is paid for, and is in it.
func priceOf(t testing.TB, s setting, bits func(wasm.ValType, int) uint64, runs int, edge bool) float64 {
	t.Helper()
	times := 16
	if edge {
		times = 2
	}
	out := instrument(t, priced(t, s, times, bits, edge), Options{})
	r := newRuntime(t, compiler)
	defer r.Close(ctx)
	i, err := r.instantiate(&out)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	f := i.mod.ExportedFunction("f").(api.Function)
	least, rounds := math.Inf(1), uint64(64)
	for k := 0; k < runs; {
		acct := Account{Limit: 1 << 60, Slice: 1 << 50}
		r.acct = &acct
		i.fuel.Set(0)
		from := threadCPU(t)
		if _, err := f.Call(ctx, rounds); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		took := threadCPU(t) - from
		if took < 300*time.Microsecond && rounds < 1<<24 {
			rounds *= 4
			continue
		}
		k++
		least = min(least, float64(took)/float64(acct.Used(int64(i.fuel.Get()))))
	}
	return least
}

// dearest is how many times what a unit of fuel takes in a chain of loads, the slowest of
// plain instructions, it may take in any other setting on the processors that the prices were
// measured on (make test-prices). With denormals others differ: of one, a division took 11.6 times as long.
// So on any processor it may take dearestAnywhere with them.
const (
	dearest         = 5
	dearestAnywhere = 3 * dearest
	denormals       = " of denormals"
)

// No instruction takes much more time than its fuel says, whatever its operands, and no
// edge that many locals are moved along. With BELAY_PRICES, all figures are printed, and the bound is the closer one.
func TestPricesAreInProportion(t *testing.T) {
	if testing.Short() {
		t.Skip("measures each instruction: 10 s")
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	_, show := os.LookupEnv("BELAY_PRICES")
	ref := setting{"", []ins{get(priceVar(wasm.I32, 3)), mem(wasm.OpI32Load, 64), set(priceVar(wasm.I32, 3))}}
	worst, name := 0.0, ""
	check := func(what string, s setting, bits func(wasm.ValType, int) uint64, edge bool) {
		t.Helper()
		limit := float64(dearest)
		if strings.HasSuffix(what, denormals) && !show {
			limit = dearestAnywhere
		}
		least := math.Inf(1)
		// What else the machine does can only lengthen a measurement.
		for round := 0; round == 0 || round < 6 && least > limit; round++ {
			least = min(least, priceOf(t, s, bits, 2+round, edge)/priceOf(t, ref, usualBits, 2, false))
		}
		if show {
			t.Logf("%7.2f  %s %s", least, what, s.name)
		}
		if least > worst {
			worst, name = least, what+" "+s.name
		}
		if least > limit {
			t.Errorf("%s, %s: a unit takes %.1f times as long as one of a chain of loads", what, s.name, least)
		}
	}
	for _, op := range wasmtest.Ops() {
		info, _ := op.Info()
		float := false
		for _, vt := range info.Sig.In[:info.Sig.NIn] {
			float = float || vt == wasm.F32 || vt == wasm.F64 || vt == wasm.V128
		}
		for _, s := range settings(op) {
			check(op.String(), s, usualBits, false)
			if float {
				check(op.String()+denormals, s, denormalBits, false)
			}
		}
	}
	for _, s := range edges() {
		check("an edge", s, usualBits, true)
	}
	t.Logf("the most is %.1f: %s", worst, name)
}

// edges are settings in which an engine moves what several ways have in different places.
func edges() []setting {
	var out []setting
	never := []ins{get(0), i32c(-1), o(wasm.OpI32Eq)}
	for _, n := range []uint32{1, 9, 40, 400} {
		var sets, uses []ins
		first := priceVar(wasm.ExternRef, priceVars-1) + 1
		for k := range n {
			sets = append(sets, get(first+k), set(first+(k+1)%n))
			uses = append(uses, i32c(0), get(first+k), mem(wasm.OpI64Store, 0))
		}
		way := seq(never, blk(wasm.OpIf), sets, o(end))
		both := seq(never, blk(wasm.OpIf), sets, o(wasm.OpElse), o(end))
		over := seq(blk(wasm.OpBlock), get(0), brIf(0), sets, o(end))
		round := seq(blk(wasm.OpLoop), never, blk(wasm.OpIf), sets, br(1), o(end), o(end))
		used := seq(never, blk(wasm.OpIf), uses, o(end))
		for _, s := range []setting{{"if", way}, {"if and else", both}, {"br_if", over}, {"loop", round}} {
			out = append(out, setting{s.name + " over " + strconv.Itoa(int(n)), seq(s.body, used)})
		}
	}
	for _, vt := range priceTypes[:5] {
		var values, drops []ins
		for range 16 {
			values, drops = append(values, get(priceVar(vt, 0))), append(drops, set(priceVar(vt, 3)))
		}
		out = append(out,
			setting{"16 values of " + vt.String(),
				seq(blk(wasm.OpBlock, manyResults(vt)), values, get(0), i32c(-1), o(wasm.OpI32Eq), brIf(0), o(end), drops)})
		var params []ins
		for range 128 {
			params = append(params, get(priceVar(vt, 0)))
		}
		out = append(out, setting{"call with 128 of " + vt.String(), seq(params, call(manyParams(vt)), drops)})
	}
	return append(out, setting{"call of 2,000 locals", seq(call(manyLocals))})
}

// What the module of a priced loop has for edges: types and functions by value type, and a
// function with many locals that a loop moves.
func manyResults(vt wasm.ValType) int   { return 2 + 2*slices.Index(priceTypes, vt) }
func manyParams(vt wasm.ValType) uint32 { return 1 + uint32(slices.Index(priceTypes, vt)) }

const manyLocals = 6
