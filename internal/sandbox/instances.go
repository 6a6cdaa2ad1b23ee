package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
	"github.com/belay-hooks/belay/phases"
)

// instances is how a module's runs get their instances. Whatever the strategy, a
// run must find the state that start and _initialize leave behind and nothing of
// any other run. Implementations are safe for concurrent use.
type instances interface {
	// acquire returns an instance for one run. Unless it is ready, the caller runs
	// start and _initialize on it. Errors are *phases.Fault.
	acquire(ctx context.Context) (*instance, error)
	// release takes it back. Reusable is false after a trap, a deadline or any other
	// end that the host forced: such an instance is never used again.
	release(inst *instance, reusable bool)
	// close frees the instances that wait for reuse. Preconditions: no run is
	// under way.
	close()
}

// instance is an instantiated module with what the host touches looked up once.
type instance struct {
	module api.Module
	memory api.Memory
	linear *linearMemory // nil without a memory
	fuel   api.MutableGlobal
	grew   api.Global // not 0: memory.grow was refused at the cap
	ready  bool       // start and _initialize have run
}

func (i *instance) fuelLeft() int64     { return int64(i.fuel.Get()) }
func (i *instance) setFuel(left int64)  { i.fuel.Set(uint64(left)) }
func (i *instance) growRefused() bool   { return uint32(i.grew.Get()) != 0 }
func (i *instance) peak() (bytes int64) { return int64(i.linear.peak) }

// freshInstances makes an instance for every run and throws it away: the simplest
// strategy that can be right. Small memories are cleared and used again.
type freshInstances struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
	config  wazero.ModuleConfig
	limit   uint64 // bytes of memory
	kept    keptMemory
}

func newFreshInstances(rt wazero.Runtime, code wazero.CompiledModule, limit uint64) *freshInstances {
	return &freshInstances{
		runtime: rt, code: code, limit: limit,
		// No name: two instances may not share one, and a guest could choose it. No
		// start functions: the engine would run them before there is a budget.
		// A source of random bytes of our own, which nothing can reach: the engine's
		// would be seeded for each instance, which takes longer than to make one.
		config: wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(noRandom{}),
	}
}

// noRandom gives no bytes. Guests have the stream of their session.
type noRandom struct{}

func (noRandom) Read([]byte) (int, error) { return 0, errors.New("there is no such source") }

func (f *freshInstances) acquire(ctx context.Context) (inst *instance, err error) {
	a := &allocator{limit: f.limit, kept: &f.kept}
	defer func() {
		p := recover()
		if p == nil && err == nil {
			return
		}
		if a.last != nil {
			a.last.Free()
		}
		if p != nil {
			perr, ok := p.(error)
			if !ok {
				perr = fmt.Errorf("panic: %v", p)
			}
			err = perr
		}
		inst = nil
		if phases.FaultOf(err) == nil {
			err = phases.NewFault(phases.KindTrap, textInstantiate, &Detail{Reason: "instantiation failed", Err: err})
		}
	}()
	mod, err := f.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, a), f.code, f.config)
	if err != nil {
		return nil, err
	}
	inst = &instance{module: mod, memory: mod.Memory(), linear: a.last}
	fuel, ok := mod.ExportedGlobal(meter.ExportFuel).(api.MutableGlobal)
	inst.grew = mod.ExportedGlobal(meter.ExportGrowFailed)
	if !ok || inst.grew == nil || inst.linear == nil { // without a memory nothing is allocated
		_ = mod.Close(ctx)
		return nil, errors.New("the metered module lacks what the pass adds")
	}
	inst.fuel = fuel
	return inst, nil
}

func (f *freshInstances) release(inst *instance, reusable bool) {
	if reusable { // otherwise a call of the host may still look into the memory
		inst.linear.keep = &f.kept
	}
	// Nothing to report: closing an instance only frees memory.
	_ = inst.module.Close(context.Background())
	inst.linear.Free()
}

func (f *freshInstances) close() { f.kept.close() }
