package loader

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/internal/sealcache"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// ErrNoModule: no file of the digest is at hand.
var ErrNoModule = errors.New("there is no module of this digest")

// BenchOptions are the parts of a Bench. The zero value works.
type BenchOptions struct {
	// Dir is a state directory: its keys, its compiled code and its installed
	// modules are used, and nothing else of it. "" works without.
	Dir string
	// Cover counts which parts of each module run: see Bench.Coverage. It costs time,
	// and changes neither results nor fuel.
	Cover    bool
	Compiler []string     // see Options
	Logger   *slog.Logger // nil discards
	// Interpreter runs modules on the engine's interpreter: slow, same fuel, same results.
	Interpreter bool
	// Signatures verifies signatures for Bench.Policy; see trust.Dir.
	Signatures func(*tiers.Policy) tiers.EvidenceVerifier
}

// Bench loads hooks outside of any configuration that is in force, for replays and
// tests: through the same admission and into the same sandbox, without a store,
// without records, and without anything that a hook could reach. It is safe for
// concurrent use.
type Bench struct {
	files  source
	engine *sandbox.Engine
	log    *slog.Logger
	cover  bool

	signatures func(*tiers.Policy) tiers.EvidenceVerifier // nil: see trust.Dir

	mu      sync.Mutex
	modules map[benchKey]*sandbox.Module
	known   map[[sha256.Size]byte]candidate // modules that examine has parsed, without file and tier
}

type benchKey struct {
	sum    [sha256.Size]byte
	memory int64
}

// OpenBench returns a bench, to be closed after everything that was loaded on it. The
// error is statedir.ErrUnusable.
func OpenBench(o BenchOptions) (*Bench, error) {
	set, err := builtin.Load()
	if err != nil {
		return nil, err
	}
	b := &Bench{files: source{builtin: set}, log: o.Logger, cover: o.Cover, signatures: o.Signatures,
		modules: map[benchKey]*sandbox.Module{},
		known:   map[[sha256.Size]byte]candidate{}}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	opts := sandbox.Options{Logger: b.log, Interpreter: o.Interpreter, Compiler: o.Compiler}
	if o.Dir != "" {
		if b.files.dir, err = statedir.Open(o.Dir); err != nil {
			return nil, err
		}
		key, err := statedir.MakeKey(statedir.Keys(b.files.dir), "cache")
		if err != nil {
			return nil, statedir.Unusable("keys", err)
		}
		opts.CacheDir, opts.CacheKey = statedir.Cache(b.files.dir), key
	}
	if b.engine, err = sandbox.Open(opts); err != nil {
		return nil, statedir.Unusable("cache", err)
	}
	return b, nil
}

// Close releases the modules. Code that still runs is left to the end of the process.
func (b *Bench) Close() error { return closeEngine(b.engine, func() bool { return true }) }

// BenchHook is a module, with the tier and capabilities that it runs with.
type BenchHook struct {
	Name      string // of the binding, for errors
	Module    []byte
	Tier      phases.Tier    // as which it runs; no proof is asked for
	Allowed   []string       // capabilities; nil means everything that it declares
	Config    jsontext.Value // checked against the manifest's schema
	MemoryMiB int64          // 0 means the manifest's

	// Recorded: it was loaded like this before, and is to be loaded again, also with an
	// import that is not granted: the call is denied then, as it was.
	Recorded bool
}

// Load makes a hook ready to run. Errors are as those of kernel.Loader. The hook stays
// loaded until the bench is closed: its Close is nil.
func (b *Bench) Load(ctx context.Context, h BenchHook) (*kernel.Loaded, error) {
	l, err := b.load(ctx, h)
	if err != nil {
		return nil, loadFault(h.Name, err)
	}
	return l, nil
}

func (b *Bench) load(ctx context.Context, h BenchHook) (*kernel.Loaded, error) {
	c, err := b.examine(h.Module)
	if err != nil {
		return nil, err
	}
	c.tier = h.Tier
	if c.info.Manifest != nil {
		if err := c.manifest.ValidateConfig(h.Config); err != nil {
			return nil, err
		}
	}
	capabilities, err := held(c, kernel.BindingSpec{Allowed: h.Allowed})
	if h.Recorded {
		var grants []tiers.Grant
		grants, err = grantsFor(c.manifest, h.Allowed, c.tier)
		capabilities = tiers.Held(grants)
	}
	if err != nil {
		return nil, err
	}
	module, err := b.module(ctx, c, memoryCap(&c.info, c.manifest, h.MemoryMiB))
	if err != nil {
		return nil, err
	}
	l := loadedOf(c, module, capabilities)
	l.Close = nil
	return l, nil
}

// examine looks at a module once: replays and tests load it with many
// configurations, and to parse it costs more than to run it.
func (b *Bench) examine(module []byte) (*candidate, error) {
	file := sandbox.NewFile(module)
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.known[file.Sum()]; ok {
		c.file = &file
		return &c, nil
	}
	c := candidate{class: sandbox.AdHoc}
	var err error
	if c.info, err = b.engine.InspectFile(&file); err != nil {
		return nil, err
	}
	if c.info.Manifest == nil {
		c.manifest = derive(&c.info)
		c.notes = []string{noteDerived}
	} else {
		if c.manifest, err = tiers.DecodeManifest(c.info.Manifest); err != nil {
			return nil, err
		}
		c.class, c.declared = sandbox.Installed, declaredBy(c.manifest)
	}
	b.known[file.Sum()] = c // without the file's bytes
	c.file = &file
	return &c, nil
}

// module loads a file once.
func (b *Bench) module(ctx context.Context, c *candidate, memory int64) (*sandbox.Module, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := benchKey{c.file.Sum(), memory}
	if m := b.modules[key]; m != nil {
		return m, nil
	}
	m, err := b.engine.LoadFile(ctx, c.file,
		sandbox.LoadOptions{Class: c.class, MemoryCap: memory, Declared: c.declared,
			Trusted: b.files.builtin.Trusted(c.info.Digest), Cover: b.cover})
	if err == nil {
		b.modules[key] = m
	}
	return m, err
}

// Coverage says which regions of a module ran.
type Coverage = sandbox.Coverage

// Coverage says which regions of a module's code have run, on a bench that covers; nil
// when it does not, or has not loaded the module. A module that was loaded with several
// memory caps counts as one.
func (b *Bench) Coverage(module []byte) *Coverage {
	sum := sha256.Sum256(module)
	b.mu.Lock()
	defer b.mu.Unlock()
	var out *Coverage
	for k, m := range b.modules {
		c := m.Coverage()
		if k.sum != sum || c == nil {
			continue
		}
		if out == nil {
			out = c
			continue
		}
		for i, hit := range c.Hit {
			out.Hit[i] = out.Hit[i] || hit
		}
	}
	return out
}

// Find returns the module of the digest (sha256:<hex>): one that comes with the
// binary, or one that is installed or bound in the state directory. The error is
// ErrNoModule.
func (b *Bench) Find(digest string) ([]byte, error) {
	if h, ok := b.files.builtin.ByDigest(digest); ok {
		return h.Module, nil
	}
	if b.files.dir == "" || !strings.HasPrefix(digest, "sha256:") {
		return nil, fmt.Errorf("%w: %s", ErrNoModule, digest)
	}
	paths := []string{statedir.Blob(b.files.dir, digest)}
	f, _, _ := config.Load(b.files.dir) // beside an error it binds nothing
	for _, h := range f.Hooks {
		if p := modulePath(b.files.dir, h.Module); p != "" {
			paths = append(paths, p)
		}
		if _, _, ok := rules.ParseModule(h.Module); ok {
			if file, err := b.files.buildRules(h.Module); err == nil && phases.ByteDigest(file) == digest {
				return file, nil
			}
		}
	}
	for _, p := range paths {
		file, err := statedir.ReadModule(p)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, err
		}
		if phases.ByteDigest(file) == digest {
			return file, nil
		}
	}
	// What a rules file was built into before it became another one.
	kept := sealcache.Find(builtRulesDir(b.files.dir), func(entry []byte) bool {
		module, _, ok := unpackRules(entry)
		return ok && phases.ByteDigest(module) == digest
	})
	if module, _, ok := unpackRules(kept); ok {
		return module, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNoModule, digest)
}

// NameOf returns the name that the module's manifest gives it, and its version; ""
// when it has none.
func (b *Bench) NameOf(module []byte) (name, version string) {
	info, err := b.engine.Inspect(module)
	if err != nil || info.Manifest == nil {
		return "", ""
	}
	m, err := tiers.DecodeManifest(info.Manifest)
	if err != nil {
		return "", ""
	}
	return m.Name, m.Version
}

// Policy reads a configuration as it stands in a file called belay.yaml, and says
// how its hooks are loaded: as a belay whose state directory the file stands in
// would, trust policy included. The error is
// config.ErrUnusable.
func (b *Bench) Policy(path string) (*kernel.Config, kernel.Loader, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	src, err := files.Read(abs, strictyaml.MaxSize)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	f, err := config.Parse(src)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	dir := filepath.Dir(abs)
	if err := f.ReadConfigs(dir); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	policy := trust.Dir{Path: dir, Signatures: b.signatures}.Open(nil)
	revision := f.Revision(src)
	if r := policy.Revision(); r != "" {
		revision += "+" + r
	}
	l := &Loader{o: Options{Dir: dir, Trust: policy, Logger: b.log},
		files:  source{dir: dir, builtin: b.files.builtin, rules: &builtRules{log: b.log}},
		engine: b.engine}
	used, _, err := l.UseRules(f.Enabled(), true)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	return Config(f, dir, policy.InUse(), revision+RulesRevision(used)), l, nil
}
