package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	// acquire returns an instance for inv. Unless it has an initial state, which is
	// one that fits the run, the caller runs start and _initialize on it. Errors are
	// *phases.Fault.
	acquire(ctx context.Context, inv *invocation) (*instance, error)
	// initialized tells that start and _initialize have run on inv's instance, which
	// came without them, and nothing else has.
	initialized(inv *invocation)
	// release takes it back; now is about when. Reusable is false after a trap, a deadline or any other
	// end that the host forced: such an instance is never used again.
	release(inst *instance, reusable bool, now time.Time)
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
	grew   api.MutableGlobal // not 0: memory.grow was refused at the cap

	functions []function          // that have been called
	initial   *initialState       // each reset restores it; nil: start and _initialize have not run
	globals   []api.MutableGlobal // the guest's, where there is an initial state
	private   int64               // bytes of memory that it alone has, when it waits for a run
}

func (i *instance) fuelLeft() int64     { return int64(i.fuel.Get()) }
func (i *instance) setFuel(left int64)  { i.fuel.Set(uint64(left)) }
func (i *instance) growRefused() bool   { return uint32(i.grew.Get()) != 0 }
func (i *instance) peak() (bytes int64) { return int64(i.linear.peak) }

// free ends the instance. Its memory goes to linear.keep.
func (i *instance) free() {
	// Nothing to report: closing an instance only frees memory.
	_ = i.module.Close(context.Background())
	i.linear.Free()
}

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

func (f *freshInstances) acquire(ctx context.Context, _ *invocation) (*instance, error) {
	return f.instantiate(ctx, &allocator{limit: f.limit, kept: &f.kept}, nil)
}

// instantiate makes an instance whose memory is a's. With then, which is not nil, it
// has to pass that, too; what goes wrong there is as if it could not be made.
func (f *freshInstances) instantiate(ctx context.Context, a *allocator,
	then func(*instance) error) (inst *instance, err error) {
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
	var ok, okGrew bool
	inst.fuel, ok = mod.ExportedGlobal(meter.ExportFuel).(api.MutableGlobal)
	inst.grew, okGrew = mod.ExportedGlobal(meter.ExportGrowFailed).(api.MutableGlobal)
	if !ok || !okGrew || inst.linear == nil { // without a memory nothing is allocated
		_ = mod.Close(ctx)
		return nil, errors.New("the metered module lacks what the pass adds")
	}
	if then != nil {
		if err := then(inst); err != nil {
			_ = mod.Close(ctx)
			return nil, err
		}
	}
	return inst, nil
}

func (f *freshInstances) initialized(*invocation) {}

func (f *freshInstances) release(inst *instance, reusable bool, _ time.Time) {
	if reusable { // otherwise a call of the host may still look into the memory
		inst.linear.keep = &f.kept
	}
	inst.free()
}

func (f *freshInstances) close() { f.kept.close() }
