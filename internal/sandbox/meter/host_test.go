package meter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// A small host, as the package comment describes it, for tests only.

var (
	ctx      = context.Background()
	errStack = errors.New("stack exhausted")
)

type engine string

const (
	compiler    engine = "compiler"
	interpreter engine = "interpreter"
)

var engines = []engine{compiler, interpreter}

func (e engine) config() wazero.RuntimeConfig {
	if e == compiler {
		return wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2)
	}
	return wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2)
}

// relaxed accepts the modules of this package's tests: most of them have no memory.
func relaxed() wasm.Limits {
	l := wasm.DefaultLimits()
	l.NoManifest, l.AnyShape = true, true
	return l
}

func parse(t testing.TB, file []byte) *wasm.Module {
	t.Helper()
	m, err := wasm.Parse(file, relaxed())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func instrument(t testing.TB, file []byte, opts Options) Output {
	t.Helper()
	out, err := Instrument(parse(t, file), opts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// runtime is one engine with the imports that metered modules want. The account is that
// of the call under way; one call at a time.
type runtime struct {
	wazero.Runtime
	acct   *Account
	yields int
}

func newRuntime(t testing.TB, e engine) *runtime {
	t.Helper()
	r := &runtime{Runtime: wazero.NewRuntimeWithConfig(ctx, e.config())}
	t.Cleanup(func() { _ = r.Close(ctx) })
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := r.NewHostModuleBuilder(ImportModule).
		NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, st []uint64) {
		r.yields++
		left, err := r.acct.Refill(int64(st[0]))
		if err != nil {
			panic(err)
		}
		st[0] = uint64(left)
	}), i64, i64).Export(ImportYield).
		NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {
		panic(errStack)
	}), nil, nil).Export(ImportStack).
		Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// charge(n) is a host function that costs n fuel.
	_, err = r.NewHostModuleBuilder("host").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, st []uint64) {
		g := m.ExportedGlobal(ExportFuel).(api.MutableGlobal)
		left, err := r.acct.Charge(int64(g.Get()), int64(uint32(st[0])))
		g.Set(uint64(left))
		if err != nil {
			panic(err)
		}
	}), []api.ValueType{api.ValueTypeI32}, nil).Export("charge").
		Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// instance is a metered module in a runtime.
type instance struct {
	rt                *runtime
	mod               api.Module
	out               *Output
	fuel, stack, grew api.MutableGlobal
}

func (r *runtime) instantiate(out *Output) (*instance, error) {
	code, err := r.compile(out.Wasm)
	if err != nil {
		return nil, err
	}
	mod, err := r.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	return &instance{
		rt: r, mod: mod, out: out,
		fuel:  mod.ExportedGlobal(ExportFuel).(api.MutableGlobal),
		stack: mod.ExportedGlobal(ExportStack).(api.MutableGlobal),
		grew:  mod.ExportedGlobal(ExportGrowFailed).(api.MutableGlobal),
	}, nil
}

func (r *runtime) compile(b []byte) (code wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return r.CompileModule(ctx, b)
}

// outcome is all that one call shows.
type outcome struct {
	results string // of the call, as numbers
	fault   string // "" none, else the kind
	used    int64
	grew    bool
}

// invoke runs an export under a budget of its own.
func (i *instance) invoke(name string, acct Account, args ...uint64) (outcome, []uint64) {
	i.rt.acct, i.rt.yields = &acct, 0
	i.fuel.Set(0)
	i.stack.Set(uint64(i.out.StackBudget))
	f := i.mod.ExportedFunction(name)
	res, err := f.Call(ctx, args...)
	normal(f.Definition().ResultTypes(), res)
	o := outcome{fault: fault(err)}
	var over error
	if o.used, over = acct.Settle(int64(i.fuel.Get())); over != nil && err == nil {
		o.fault, res = fault(over), nil
	}
	o.results = fmt.Sprint(res)
	o.grew = i.grew.Get() != 0
	return o, res
}

// normal makes results comparable: the compiler leaves rubbish in the upper halves of
// 32-bit values, and function references are addresses, of which only null means anything.
func normal(types []api.ValueType, words []uint64) {
	k := 0
	for _, t := range types {
		if k >= len(words) {
			return
		}
		switch t {
		case api.ValueTypeI32, api.ValueTypeF32:
			words[k] &= 0xffff_ffff
		case 0x70: // funcref
			if words[k] != 0 {
				words[k] = 1
			}
		case 0x7b: // v128
			k++
		}
		k++
	}
}

// fault is a stable name for why a call ended.
func fault(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrFuel):
		return "fuel"
	case errors.Is(err, errStack):
		return "stack"
	}
	s, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(s, "wasm error: ")
}

// everywhere runs one export on both engines with several slices and wants the same
// outcome of all; it returns that outcome.
func everywhere(t testing.TB, out Output, name string, limit int64, args ...uint64) outcome {
	t.Helper()
	var first *outcome
	for _, e := range engines {
		r := newRuntime(t, e)
		for _, slice := range []int64{0, limit, 1 << 20, 1000, 7, 1} {
			if slice > 0 && limit/slice > 1<<17 {
				continue // too many yields for a short test
			}
			i, err := r.instantiate(&out)
			if err != nil {
				t.Fatalf("%s: %v", e, err)
			}
			got, _ := i.invoke(name, Account{Limit: limit, Slice: slice}, args...)
			if first == nil {
				first = &got
			} else if got != *first {
				t.Errorf("%s(%v) on the %s with slice %d: %+v, before %+v", name, args, e, slice, got, *first)
			}
			if err := i.mod.Close(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	return *first
}
