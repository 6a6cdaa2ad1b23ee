package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// Class says who answers for a module; it picks the ceiling of its compile estimate.
type Class int

const (
	// AdHoc is a module that an agent proposes or an author tries out: an
	// estimate of at most 1 s.
	AdHoc Class = iota
	// Installed is what an operator has bound: at most 6 s, once, and needs a manifest.
	Installed
)

func (c Class) budget() wasm.Budget {
	if c == Installed {
		return wasm.InstalledBudget()
	}
	return wasm.UnreviewedBudget()
}

// Declared is what the manifest says about a module; the module has to agree.
type Declared struct {
	// Capabilities are declared capabilities, with or without parameter. An import
	// that needs one that is not among them is refused.
	Capabilities []string
	// Phases are the phases declared; they must equal the exported ones.
	Phases []phases.Phase
	// Mutates are the phases in which the hook says that it changes the action.
	Mutates []phases.Phase
}

// DefaultMemoryCap is the memory cap of a module whose binding sets none.
const DefaultMemoryCap int64 = 16 << 20

// LoadOptions are how one module is to be loaded.
type LoadOptions struct {
	Class Class
	// MemoryCap is the most memory an instance may have, in bytes, rounded down to
	// pages of 64 KiB: 0 means DefaultMemoryCap; at most 1 GiB.
	MemoryCap int64
	// Declared is what the manifest says; nil takes the module's own imports and
	// exports as declared, which only AdHoc modules may.
	Declared *Declared
	// Trusted is for modules that are as good as this program, such as those that come
	// with it: this process compiles them itself, also where it has a compiler.
	Trusted bool
	// Cover has the module tell which of its regions run; see Module.Coverage.
	Cover bool
}

// Load makes a module ready to run: it parses, bounds, type-checks, links,
// meters and compiles the file, or takes the compiled form from the cache. One
// module is compiled at a time; others wait. Modules of one file and one memory cap
// share their code and the instances that wait for runs. When ctx ends, Load returns at once;
// a compilation under way ends with its process where it has one, and is not interrupted
// elsewhere (the engine cannot do that and stay inside a recover): its result is dropped.
//
// Errors are *LoadError. Safe for concurrent use; the file is not kept.
func (e *Engine) Load(ctx context.Context, file []byte, opts LoadOptions) (*Module, error) {
	f := NewFile(file)
	return e.LoadFile(ctx, &f, opts)
}

// LoadFile is Load for a file that is hashed already.
func (e *Engine) LoadFile(ctx context.Context, file *File, opts LoadOptions) (*Module, error) {
	if opts.MemoryCap == 0 {
		opts.MemoryCap = DefaultMemoryCap
	}
	key := codeKey{sum: file.sum, memoryCap: opts.MemoryCap}
	if c := e.share(key, &opts); c != nil {
		m := newModule(c)
		if err := admit(&c.info, c.cost, &opts); err != nil {
			e.remove(m)
			return nil, err
		}
		return e.add(m)
	}
	p, err := e.prepare(ctx, key, file.bytes, &opts)
	if err != nil {
		return nil, err
	}
	c := &code{prepared: p, engine: e, key: key, users: 1}
	if !opts.Trusted {
		c.compiler, c.class = e.compiler, opts.Class
	}
	if err := c.compile(ctx); err != nil {
		return nil, err
	}
	if !opts.Cover {
		e.offer(c)
	}
	return e.add(newModule(c))
}

// prepare does what comes before compiling. Of a file that this program has prepared before, the cache has the result:
// only what depends on the caller is checked again.
func (e *Engine) prepare(ctx context.Context, key codeKey, file []byte, opts *LoadOptions) (*prepared, error) {
	cached := !opts.Cover && e.ownTable // of other tables nothing is known from one process to the next
	if cached {
		if p := e.prepared.load(key); p != nil {
			return p, admit(&p.info, p.cost, opts)
		}
	}
	p, err := e.parse(file)
	if err != nil {
		return nil, err
	}
	if err := e.admitFile(p, opts); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, loadError(StageCompile, ErrCanceled, "the caller gave up", context.Cause(ctx))
	}
	metered, err := meter.Instrument(p.module,
		meter.Options{MemoryPages: uint32(opts.MemoryCap / pageSize), Cover: opts.Cover})
	if err != nil {
		// admit checks the memory; reserved names remain.
		return nil, loadError(StageMeter, ErrModule, err.Error(), err)
	}
	out := newPrepared(p, metered)
	if cached {
		e.prepared.store(key, out)
	}
	return out, nil
}

// Check makes every check of Load that comes before the module is metered, and so
// says whether Load would refuse it, at a fraction of the cost. Errors are
// *LoadError. Safe for concurrent use.
func (e *Engine) Check(file []byte, opts LoadOptions) error {
	p, err := e.parse(file)
	if err != nil {
		return err
	}
	if opts.MemoryCap == 0 {
		opts.MemoryCap = DefaultMemoryCap
	}
	return e.admitFile(p, &opts)
}

// admitFile makes every check that comes before the module costs anything.
func (e *Engine) admitFile(p *parsed, opts *LoadOptions) error {
	if err := admitCost(&p.info, p.cost, opts); err != nil {
		return err
	}
	if err := e.host.link(p.module); err != nil {
		return err
	}
	return admitDeclared(&p.info, opts)
}

// admit makes those that a module which has passed them once may not pass with other options.
func admit(info *Info, cost wasm.Cost, opts *LoadOptions) error {
	if err := admitCost(info, cost, opts); err != nil {
		return err
	}
	return admitDeclared(info, opts)
}

func admitCost(info *Info, cost wasm.Cost, opts *LoadOptions) error {
	if opts.MemoryCap < pageSize || opts.MemoryCap > maxMemory {
		return loadError(StageEstimate, ErrTooCostly,
			fmt.Sprintf("a memory cap of %d bytes is not between 64 KiB and 1 GiB", opts.MemoryCap), nil)
	}
	if limit := opts.Class.budget(); uint64(info.EstimateNS) > limit.Nanos || uint64(info.EstimateBytes) > limit.Bytes {
		return loadError(StageEstimate, ErrTooCostly,
			fmt.Sprintf("compiling would take up to %v and %d MiB, the limits are %v and %d MiB",
				time.Duration(info.EstimateNS).Round(time.Millisecond),
				info.EstimateBytes>>20, time.Duration(limit.Nanos), limit.Bytes>>20), cost.Within(limit))
	}
	if info.MemoryMin > opts.MemoryCap {
		return loadError(StageEstimate, ErrTooCostly,
			fmt.Sprintf("the module starts with %d bytes of memory, the cap is %d", info.MemoryMin, opts.MemoryCap), nil)
	}
	return nil
}

func admitDeclared(info *Info, opts *LoadOptions) error {
	if opts.Class == Installed && (opts.Declared == nil || info.Manifest == nil) {
		return loadError(StageDeclared, ErrDeclared, "the module has no manifest; build it with `belay hook build`", nil)
	}
	if opts.Declared == nil {
		return nil
	}
	return checkDeclared(info, opts.Declared)
}
