// Package loader decides which module file a binding means, whether the file is the one
// that was bound, which tier and which capabilities it has, and makes it ready to run.
// It looks at files without running them, too, and runs hooks outside of any
// configuration, on a Bench. It never decides about an action: package kernel does. Nor
// does it decide whom the operator trusts: package trust does.
package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/internal/sealcache"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const (
	mebibyte = 1 << 20

	// The most that a manifest gets by itself; an operator can give more.
	maxWantedFuel       = 1 << 30
	maxWantedDeadlineMS = 1000
	maxWantedMemoryMiB  = 64
	maxMemoryMiB        = 1024
)

// CostTable is the version of the table by which fuel is counted. Fuel of different
// versions cannot be compared.
const CostTable = sandbox.CostTable

// Options are the parts of a Loader.
type Options struct {
	Dir      string          // the state directory, absolute
	Cache    string          // the directory of compiled code
	CacheKey []byte          // authenticates it; nil: there is none
	RulesKey []byte          // authenticates modules of rules files in Dir; nil: Dir holds none
	Compiler []string        // compiles modules in a process of its own; empty: here
	Trust    *trust.Verifier // the operator's policy in Dir
	Verifier kernel.Verifier // decides in place of Trust; nil: Trust decides

	Hooks       []Ready // as ReadGiven returned them
	SlowCompile bool    // hooks of Hooks that have a manifest get the compile budget of installed ones
	DryRun      bool    // hooks send nothing

	Logger *slog.Logger // nil discards
}

// Loader turns bindings into hooks that run. It is a kernel.Loader and safe for
// concurrent use.
type Loader struct {
	o      Options
	files  source
	engine *sandbox.Engine
	known  known
}

// Open makes a Loader, to be closed after every hook that it loaded. The error is
// statedir.ErrUnusable when Dir cannot hold compiled code.
func Open(o Options) (*Loader, error) {
	set, err := builtin.Load()
	if err != nil {
		return nil, err
	}
	opts := sandbox.Options{Compiler: o.Compiler, Logger: o.Logger}
	if o.CacheKey != nil {
		opts.CacheDir, opts.CacheKey = o.Cache, o.CacheKey
	}
	engine, err := sandbox.Open(opts)
	if err != nil {
		return nil, statedir.Unusable("cache", err)
	}
	kept := &builtRules{log: o.Logger}
	if o.RulesKey != nil {
		kept.cache = sealcache.Open(builtRulesDir(o.Dir), o.RulesKey, sealcache.Builder(), builtRulesUse())
	}
	return &Loader{o: o, files: source{dir: o.Dir, builtin: set, given: o.Hooks, rules: kept}, engine: engine}, nil
}

// Isolated reports whether modules that do not come with belay are compiled in a
// process of their own.
func (l *Loader) Isolated() bool { return l.engine.Isolated() }

// Close unloads all modules. It waits for code that runs, but not for turns that the kernel
// left behind, as left reports: their code stays loaded.
func (l *Loader) Close(left func() bool) error { return closeEngine(l.engine, left) }

// candidate is a module that was read and looked at, but not compiled.
type candidate struct {
	file     *sandbox.File
	info     sandbox.Info
	manifest *tiers.Manifest
	tier     phases.Tier
	signer   string
	class    sandbox.Class
	declared *sandbox.Declared
	notes    []string
}

// Load implements kernel.Loader.
func (l *Loader) Load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	c, err := l.examine(ctx, spec)
	if err != nil {
		return nil, loadFault(spec.Name, err)
	}
	held, err := held(c, spec)
	if err != nil {
		return nil, loadFault(spec.Name, err)
	}
	http, err := newHTTPCaller(spec.HTTP)
	if err != nil {
		return nil, loadFault(spec.Name, err)
	}
	if l.o.DryRun {
		http = unsentHTTP{}
	}
	module, err := l.engine.LoadFile(ctx, c.file, sandbox.LoadOptions{
		Class: c.class, MemoryCap: memoryCap(&c.info, c.manifest, spec.Budget.MemoryMiB), Declared: c.declared,
		Trusted: l.files.builtin.Trusted(c.info.Digest),
	})
	if err != nil {
		return nil, loadFault(spec.Name, err)
	}
	loaded := loadedOf(c, module, held)
	loaded.HTTP = http
	return loaded, nil
}

// loadedOf describes a hook that is ready to run to the kernel.
func loadedOf(c *candidate, module *sandbox.Module, held []string) *kernel.Loaded {
	return &kernel.Loaded{
		Hook: &moduleHook{module: module, initSeed: initSeed(c.file.Sum())}, Digest: c.info.Digest,
		Version: c.manifest.Version,
		Tier:    c.tier, Signer: c.signer, Phases: c.info.Phases, Mutates: c.manifest.Mutates, Imports: c.info.Imports,
		Capabilities: held, Match: c.manifest.Match, Notes: c.notes,
		Close: func() error { module.Close(); return nil }, EndsItself: true,
		Budget: tiers.Budget{
			Fuel:       min(c.manifest.Budget.Fuel, maxWantedFuel),
			DeadlineMS: min(c.manifest.Budget.DeadlineMS, maxWantedDeadlineMS),
		},
	}
}

const noteDerived = "the module has no manifest: phases and capabilities are taken from its exports and imports"

// examine reads the module, checks its digest, and decides its tier. It compiles nothing,
// so that Examine uses it, too.
func (l *Loader) examine(ctx context.Context, spec kernel.BindingSpec) (*candidate, error) {
	c := &candidate{tier: phases.Sandboxed, class: sandbox.Installed}
	file, want, err := l.files.read(spec)
	if err != nil {
		return nil, err
	}
	c.file = l.known.file(spec.Module, file)
	digest := c.file.Digest()
	if want != "" && digest != want {
		return nil, fmt.Errorf("%w: the file is %s, the binding says %s", kernel.ErrTrust, digest, want)
	}
	if c.info, err = l.engine.InspectFile(c.file); err != nil {
		return nil, err
	}
	adhoc := isGiven(spec)
	switch {
	case l.files.builtin.Trusted(digest): // given by its bytes it is not trusted, but known to compile
		if !adhoc {
			c.tier, c.signer = phases.Trusted, "builtin"
		}
	case adhoc && !(l.o.SlowCompile && c.info.Manifest != nil):
		c.class = sandbox.AdHoc
	}
	var manifestErr error
	if c.info.Manifest != nil {
		c.manifest, manifestErr = l.known.manifest(c.file, c.info.Manifest)
	}
	if err := l.verify(ctx, spec, digest, c); err != nil { // before anything that fail-open would let pass
		return nil, err
	}
	if c.info.Manifest == nil {
		if !adhoc {
			return nil, errors.New("the module has no manifest; build it with `belay hook build`")
		}
		c.manifest = derive(&c.info)
		c.notes = append(c.notes, noteDerived)
		return c, nil
	}
	if manifestErr != nil {
		return nil, manifestErr
	}
	if err := c.manifest.ValidateConfig(spec.Config); err != nil {
		return nil, placed(spec, err)
	}
	c.declared = declaredBy(c.manifest)
	return c, nil
}

// declaredBy returns the manifest's promises, which the module has to agree with.
func declaredBy(m *tiers.Manifest) *sandbox.Declared {
	d := &sandbox.Declared{Phases: m.Phases, Mutates: m.Mutates}
	for _, w := range m.Capabilities {
		d.Capabilities = append(d.Capabilities, w.Name)
	}
	return d
}

// memoryCap is the most memory an instance may have, in bytes: the operator's number, else
// the manifest's within bounds; 0 means the sandbox's default.
func memoryCap(info *sandbox.Info, m *tiers.Manifest, operatorMiB int64) int64 {
	memory := cmp.Or(operatorMiB, min(m.Budget.MemoryMiB, maxWantedMemoryMiB))
	if memory == 0 && info.WASI {
		memory = maxWantedMemoryMiB // standard Go needs room for its collector
	}
	return min(memory, maxMemoryMiB) * mebibyte
}

// derive makes a manifest for a module that has none.
func derive(info *sandbox.Info) *tiers.Manifest {
	m := &tiers.Manifest{ABI: 1, Phases: info.Phases}
	for _, c := range info.Capabilities {
		m.Capabilities = append(m.Capabilities, tiers.WantedCapability{Name: c})
	}
	if len(info.Mutating()) > 0 {
		m.Mutates = slices.DeleteFunc(slices.Clone(info.Phases), func(p phases.Phase) bool { return p == phases.Audit })
	}
	return m
}

var _ kernel.Loader = (*Loader)(nil)
