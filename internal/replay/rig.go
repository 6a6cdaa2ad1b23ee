package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// recordedID is the id of every invocation and event in a replay.
const recordedID = "00000000-0000-7000-8000-000000000000"

// chainRig is a kernel with the hooks of one configuration. It is given one recorded
// invocation after the other, by one goroutine.
type chainRig struct {
	*rig.Rig
	hooks map[string]*rigHook
	exact bool
	now   *turnTable
}

// rigHook is a hook of the rig. The kernel runs it in place of the module.
type rigHook struct {
	rig    *chainRig
	name   string
	spec   kernel.BindingSpec
	loaded *kernel.Loaded
	inner  kernel.Hook
	same   bool // the module and configuration that were recorded
}

// openRig opens a kernel. o has its configuration and its loader; same reports whether a
// hook is the recorded one.
func openRig(ctx context.Context, o rig.Options, exact bool,
	same func(name, digest string, config []byte) bool) (*chainRig, error) {
	r := &chainRig{hooks: map[string]*rigHook{}, exact: exact}
	o.ID, o.Store = recordedID, r.store()
	o.Wrap = func(spec kernel.BindingSpec, l *kernel.Loaded) kernel.Hook {
		h := &rigHook{rig: r, name: spec.Name, spec: spec, loaded: l, inner: l.Hook,
			same: same(spec.Name, l.Digest, spec.Config)}
		r.hooks[spec.Name] = h
		return h
	}
	var err error
	r.Rig, err = rig.Open(ctx, o)
	return r, err
}

// Run implements kernel.Hook.
func (h *rigHook) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
	if h.rig.now == nil {
		return kernel.Outcome{}, phases.NewFault(phases.KindProtocol, "no invocation is being replayed", nil)
	}
	if t.Session.Pass == phases.PassAudit {
		// Replayer.auditTurns runs audit hooks on the recorded record, which the kernel would build anew.
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
			Mode: b.Mode, State: b.State, Apart: b.Apart,
		}
		if b.Config != nil {
			spec.Config = jsonValue(b.Config)
		}
		if h := swap[b.Name]; h != nil {
			spec.Digest = ""
			if b.Failure != nil {
				spec.Phases = nil // it blocked every phase, for its own were not known
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
func (r *chainRig) loadFailed(c *recording.Chain) error {
	var errs []error
	for _, s := range r.Hooks() {
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
