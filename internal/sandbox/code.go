package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// codeKey is what machine code depends on beside the engine.
type codeKey struct {
	sum       [sha256.Size]byte // of the file
	memoryCap int64
}

// code is a compiled module with the instances that wait for its runs. Modules that are loaded from the same file with
// the same memory cap share it: their runs share no more than those of one module.
type code struct {
	*prepared
	engine *Engine
	key    codeKey
	users  int // modules; the engine's mutex guards it

	compiler *compiler // of code that the cache lacks; nil: this process
	class    Class

	invocations sync.Pool // of *invocation, which are empty

	runtime   wazero.Runtime
	cache     wazero.CompilationCache // of this module alone, or nil
	instances instances
	hits      hits
}

// CostTable is the version of the fuel table that the module is metered with.
// Figures of different versions cannot be compared.
func (m *code) CostTable() int { return m.metered.CostTable }

// MemoryCap is the most memory that an instance can have, in bytes: the cap, or
// less when the module itself says so.
func (m *code) MemoryCap() int64 { return int64(m.metered.MemoryPages) * pageSize }

// close frees everything. Preconditions: no run is under way.
func (m *code) close() {
	if m.instances != nil {
		m.instances.close()
	}
	m.closeRuntime()
}

// closeRuntime frees the engine's part. Errors would only tell of modules that
// cannot be closed twice.
func (m *code) closeRuntime() {
	if m.runtime != nil {
		_ = m.runtime.Close(context.Background())
	}
	if m.cache != nil {
		_ = m.cache.Close(context.Background())
	}
}

// engineConfig is the engine's configuration, the same for every module of a process, and
// for the one that compiles for it: the engine's cache key covers neither features nor
// the memory limit.
func engineConfig(interpreter bool) wazero.RuntimeConfig {
	c := wazero.NewRuntimeConfig()
	if interpreter {
		c = wazero.NewRuntimeConfigInterpreter()
	}
	return c.WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(maxMemory / pageSize).
		WithCloseOnContextDone(false).
		WithDebugInfoEnabled(false).
		WithCustomSections(false)
}

// compile builds the module's own runtime: with one for all, type ids of modules
// long gone would pile up in it. Errors are *LoadError.
func (m *code) compile(ctx context.Context) error {
	done, err := m.engine.compileSlot(ctx)
	if err != nil {
		return loadError(StageCompile, ErrCanceled, "the caller gave up", err)
	}
	result := make(chan error) // received in every case
	go func() {
		defer done()
		result <- m.compileNow(ctx)
	}()
	select {
	case err = <-result:
	case <-ctx.Done():
		go func() {
			<-result
			m.closeRuntime()
		}()
		return loadError(StageCompile, ErrCanceled, "the caller gave up", context.Cause(ctx))
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrCompiler):
		m.closeRuntime()
		return loadError(StageCompile, ErrCompiler, "compiling it in a process of its own failed: "+
			strings.TrimPrefix(err.Error(), ErrCompiler.Error()+": "), err)
	}
	m.closeRuntime()
	return loadError(StageCompile, ErrCompile, "the engine refused the metered module", err)
}

// compileNow compiles by way of the cache when there is one. Half a compilation must not
// be left in the cache: ctx, which is the caller's, ends nothing but a compiler process.
func (m *code) compileNow(ctx context.Context) error {
	code := m.metered.Wasm
	m.metered.Wasm = nil
	if m.engine.cache != nil {
		err := m.engine.cache.compile(ctx, m, code)
		if err == nil || errors.Is(err, ErrCompiler) || ctx.Err() != nil {
			return err
		}
		m.engine.log.WarnContext(ctx, "code cache not used", slog.String("module", m.info.Digest),
			slog.String("error", escape(err.Error(), maxReason)))
		m.reset()
	}
	if m.compiler == nil {
		return m.compileWith(nil, code)
	}
	return m.compileApart(ctx, code)
}

// reset makes m ready for another try.
func (m *code) reset() {
	m.closeRuntime()
	m.runtime, m.cache = nil, nil
}

// compileWith makes the runtime and compiles code in it, unless cache has it compiled.
// There is one worker: a panic of the engine's compiler can be recovered from only on
// this goroutine.
func (m *code) compileWith(cache wazero.CompilationCache, code []byte) error {
	return m.ready(context.Background(), cache, code)
}

// errNoCode says that the cache lacks the module, where this process may not compile it.
var errNoCode = errors.New("the module is not in the cache")

// takeFrom makes the runtime with what cache has compiled. Where it has not, the error is
// errNoCode, and nothing has been compiled: the engine's workers look at their context
// before each function, and this one is over from the start.
func (m *code) takeFrom(cache wazero.CompilationCache, code []byte) error {
	over, end := context.WithCancelCause(context.Background())
	end(errNoCode)
	return m.ready(experimental.WithCompilationWorkers(over, 2), cache, code)
}

func (m *code) ready(compile context.Context, cache wazero.CompilationCache, code []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panicked: %v", p)
		}
	}()
	ctx := context.Background()
	config := engineConfig(m.engine.interpreter)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	m.runtime, m.cache = wazero.NewRuntimeWithConfig(ctx, config), cache
	if err := m.hostModules(ctx); err != nil {
		return err
	}
	compiled, err := m.runtime.CompileModule(compile, code)
	if err != nil {
		return err
	}
	m.imports = nil
	m.instances = m.instancesOf(compiled)
	return nil
}

// instancesOf picks the strategy. Coverage marks are state that no run restores, and tables and dropped segments cannot
// be.
func (m *code) instancesOf(code wazero.CompiledModule) instances {
	fresh := newFreshInstances(m.runtime, code, uint64(m.MemoryCap()))
	if m.engine.pool.most == ResetNone || !m.metered.Restorable() || m.metered.Regions != nil {
		return fresh
	}
	return &pooledInstances{fresh: fresh, pool: m.engine.pool, exports: m.metered.Globals}
}

// hostModules instantiates what the module imports, and no more.
func (m *code) hostModules(ctx context.Context) error {
	wanted := map[string]map[string]*hostFunc{meter.ImportModule: meterFunctions()}
	for i := range m.imports {
		im := &m.imports[i]
		if wanted[im.Module] == nil {
			wanted[im.Module] = map[string]*hostFunc{}
		}
		wanted[im.Module][im.Name] = m.engine.host[im.Module][im.Name]
	}
	for name, funcs := range wanted {
		b := m.runtime.NewHostModuleBuilder(name)
		for export, f := range funcs {
			b.NewFunctionBuilder().WithGoModuleFunction(f.fn, apiTypes(f.sig.Params), apiTypes(f.sig.Results)).Export(export)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func apiTypes(ts []wasm.ValType) []api.ValueType {
	out := make([]api.ValueType, len(ts))
	for i, t := range ts {
		out[i] = api.ValueType(t)
	}
	return out
}

// meterFunctions are the imports that the metering pass adds.
func meterFunctions() map[string]*hostFunc {
	i64 := []wasm.ValType{wasm.I64}
	return map[string]*hostFunc{
		meter.ImportYield: {
			sig: wasm.FuncType{Params: i64, Results: i64},
			fn: api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
				stack[0] = uint64(invocationOf(ctx).refill(int64(stack[0])))
			}),
		},
		meter.ImportStack: {
			fn: api.GoModuleFunc(func(ctx context.Context, _ api.Module, _ []uint64) {
				invocationOf(ctx).endf(phases.KindMemory, textStack, "stack budget spent")
			}),
		},
	}
}
