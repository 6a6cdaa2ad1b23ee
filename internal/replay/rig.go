package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// endless stands for the chain's time, which a replay ignores.
const endless = 365 * 24 * time.Hour

// rig is a kernel with the hooks of one configuration, fed by one recorded
// invocation after the other. It is used by one goroutine.
type rig struct {
	kernel  *kernel.Kernel
	hooks   map[string]*rigHook
	exact   bool
	ceiling time.Duration // of a turn, by the clock
	now     *turnTable
}

// rigHook is a hook of the rig; it answers to the kernel in place of the module.
type rigHook struct {
	rig    *rig
	name   string
	spec   kernel.BindingSpec
	loaded *kernel.Loaded
	inner  kernel.Hook
	same   bool // the module and configuration that were recorded
}

// openRig makes the kernel. load is asked for each binding.
func openRig(ctx context.Context, cfg *kernel.Config, load kernel.Loader, home string, failOpen, exact bool,
	ceiling time.Duration, same func(name, digest string, config []byte) bool) (*rig, error) {
	r := &rig{hooks: map[string]*rigHook{}, exact: exact, ceiling: cmp.Or(ceiling, kernel.ToolCeiling)}
	cfg.ChainBudget = endless
	k, err := kernel.Open(ctx, cfg, kernel.Options{
		Store: &store{Store: memory.New(), rig: r}, Loader: &rigLoader{rig: r, load: load, same: same}, Redactor: plain{},
		Recorder: r, Clock: clock{r},
		NewID: func(time.Time) string { return "00000000-0000-7000-8000-000000000000" }, Home: home, Sequential: true,
		Untimed: r.ceiling, UnsafeFailOpen: failOpen,
	})
	if err != nil {
		return nil, err
	}
	r.kernel = k
	return r, nil
}

func (r *rig) close() error { return r.kernel.Close() }

// Wants implements kernel.Recorder: this is how the rig learns what the hooks came to.
func (r *rig) Wants(*phases.Invocation) bool { return true }

// Recorded implements kernel.Recorder.
func (r *rig) Recorded(rec *kernel.Recording) { r.now.got = rec }

// rigLoader puts the rig's hook in front of every module. Audit hooks are left to
// the replayer: what they were shown is a record, which the kernel would build anew.
type rigLoader struct {
	rig  *rig
	load kernel.Loader
	same func(name, digest string, config []byte) bool
}

func (l *rigLoader) Load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	loaded, err := l.load.Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	h := &rigHook{rig: l.rig, name: spec.Name, spec: spec, loaded: loaded, inner: loaded.Hook,
		same: l.same(spec.Name, loaded.Digest, spec.Config)}
	l.rig.hooks[spec.Name] = h
	out := *loaded
	out.Hook = h
	return &out, nil
}

// Run implements kernel.Hook.
func (h *rigHook) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
	if h.rig.now == nil {
		return kernel.Outcome{}, phases.NewFault(phases.KindProtocol, "no invocation is being replayed", nil)
	}
	if t.Session.Pass == phases.PassAudit { // see rigLoader
		return kernel.Outcome{}, nil
	}
	return h.rig.now.run1(ctx, h, t)
}

// recordedLoader loads the modules that a chain names.
type recordedLoader struct {
	bench *loader.Bench
	chain *recording.Chain
	find  func(digest string) ([]byte, error)
	swap  map[string]*Hook // by binding, modules in place of the recorded ones
}

func (l *recordedLoader) Load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	if h := l.swap[spec.Name]; h != nil &&
		!slices.ContainsFunc(l.chain.Bindings, func(b recording.Binding) bool { return b.Name == spec.Name }) {
		return l.bench.Load(ctx,
			loader.BenchHook{Name: spec.Name, Module: h.Module, Tier: phases.Sandboxed, Config: spec.Config})
	}
	i := slices.IndexFunc(l.chain.Bindings, func(b recording.Binding) bool { return b.Name == spec.Name })
	if i < 0 {
		return nil, fmt.Errorf("no hook %q", spec.Name)
	}
	b := &l.chain.Bindings[i]
	swap := l.swap[spec.Name]
	if b.Failure != nil && swap == nil {
		var cause error
		if b.Trust {
			cause = kernel.ErrTrust
		}
		return nil, phases.NewFault(b.Failure.Kind, b.Failure.Text, cause)
	}
	h := loader.BenchHook{Name: b.Name, Tier: b.Tier, Config: spec.Config, MemoryMiB: b.Budget.MemoryMiB,
		Recorded: swap == nil}
	if b.Allowed != nil {
		h.Allowed = *b.Allowed
	}
	if swap != nil {
		h.Module = swap.Module
		if swap.AllowAll {
			h.Allowed = nil
		}
	} else {
		module, err := l.find(b.Digest)
		if err != nil {
			return nil, err
		}
		h.Module = module
	}
	loaded, err := l.bench.Load(ctx, h)
	if err == nil {
		loaded.Version, loaded.Signer = b.Version, b.Signer
		if swap == nil {
			loaded.Notes = b.Notes
		}
	}
	return loaded, err
}

// configOf turns a recorded chain into a kernel's configuration.
func configOf(c *recording.Chain, swap map[string]*Hook, added []*Hook) *kernel.Config {
	cfg := &kernel.Config{Revision: c.Revision, Ceiling: c.Ceiling}
	for _, r := range c.Require {
		cfg.Require = append(cfg.Require, kernel.Require(r))
	}
	for i := range c.Bindings {
		b := &c.Bindings[i]
		spec := kernel.BindingSpec{
			Name: b.Name, Digest: b.Digest, Phases: b.Phases, Priority: b.Priority, Match: &b.Match, Budget: b.Budget,
			Mode: b.Mode, State: b.State,
		}
		if b.Config != nil {
			spec.Config = jsonValue(b.Config)
		}
		if h := swap[b.Name]; h != nil {
			spec.Digest = ""
			if b.Failure != nil {
				spec.Phases = nil // it was to run everywhere, for nobody knew where
			}
			h.change(&spec)
		}
		cfg.Bindings = append(cfg.Bindings, spec)
	}
	for _, h := range added {
		spec := kernel.BindingSpec{Name: h.Name, State: "adhoc:" + h.Name}
		h.change(&spec)
		cfg.Bindings = append(cfg.Bindings, spec)
	}
	return cfg
}

// loadFailed returns why a hook of the rig could not be loaded, for those that were
// loaded when they were recorded.
func (r *rig) loadFailed(c *recording.Chain) error {
	var errs []error
	for _, s := range r.kernel.Hooks() {
		if s.Problem == "" {
			continue
		}
		was := slices.IndexFunc(c.Bindings, func(b recording.Binding) bool { return b.Name == s.Name && b.Failure != nil })
		if was < 0 {
			errs = append(errs, fmt.Errorf("%s: %s", s.Name, s.Problem))
		}
	}
	return errors.Join(errs...)
}
