package belay

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/readfile"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const (
	mebibyte = 1 << 20

	// What a manifest can ask for by itself; an operator can give more.
	maxWantedFuel       = 1 << 30
	maxWantedDeadlineMS = 1000
	maxWantedMemoryMiB  = 64
	maxMemoryMiB        = 1024
)

const adHocScheme = "adhoc:" // followed by the index; belay.yaml cannot say it

// CompilerCommand is the argument by which a program says that it is to do what
// CompilerMain does and nothing else.
const CompilerCommand = sandbox.CompilerCommand

// CompilerMain is the whole of a compiler process: see Options.Compiler. A program that
// compiles for itself calls it first thing in main when CompilerCommand is its only
// argument, and exits with what it returns.
func CompilerMain(in io.Reader, out, errs io.Writer) int {
	return sandbox.CompilerMain(in, out, errs)
}

// adHoc is a hook given at Open.
type adHoc struct {
	spec   kernel.BindingSpec
	module []byte
}

// readAdHoc reads the files now: what is looked at later are these bytes.
func (b *Belay) readAdHoc() error {
	names := map[string]bool{}
	for _, h := range b.file.Hooks {
		names[h.Name] = true
	}
	for i, h := range b.o.Hooks {
		module := h.Module
		if module == nil {
			var err error
			if module, err = statedir.ReadModule(h.Path); err != nil {
				return fmt.Errorf("hook %s: %w", h.Path, err)
			}
		}
		base := phases.SafeLine(cmp.Or(h.Name, strings.TrimSuffix(filepath.Base(h.Path), ".wasm"), "hook"), 64)
		name := base
		for n := 2; names[name] || name == ""; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		names[name] = true
		b.adhoc = append(b.adhoc, adHoc{module: module, spec: kernel.BindingSpec{
			Name: name, Module: fmt.Sprintf("%s%d", adHocScheme, i), Priority: h.Priority, Config: h.Config, Redacts: h.Redacts,
			State: "adhoc:" + name, // never the state of an installed hook: no binding's name has a colon
		}})
	}
	return nil
}

// loader turns bindings into hooks that run.
type loader struct{ b *Belay }

// candidate is a module that was read and looked at, but not compiled.
type candidate struct {
	file     []byte
	sum      [sha256.Size]byte // of file
	info     sandbox.Info
	manifest *tiers.Manifest
	tier     phases.Tier
	signer   string
	class    sandbox.Class
	declared *sandbox.Declared
	notes    []string
}

// Load implements kernel.Loader.
func (l *loader) Load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
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
	if l.b.o.DryRun {
		http = unsentHTTP{}
	}
	module, err := l.b.engine.Load(ctx, c.file, sandbox.LoadOptions{
		Class: c.class, MemoryCap: memoryCap(&c.info, c.manifest, spec.Budget.MemoryMiB), Declared: c.declared,
		Trusted: l.b.builtin.Trusted(c.info.Digest),
	})
	if err != nil {
		return nil, loadFault(spec.Name, err)
	}
	loaded := loadedOf(c, module, held)
	loaded.HTTP = http
	return loaded, nil
}

// loadedOf is what the kernel is told about a hook that is ready to run.
func loadedOf(c *candidate, module *sandbox.Module, held []string) *kernel.Loaded {
	return &kernel.Loaded{
		Hook: &moduleHook{module: module, initSeed: initSeed(c.sum)}, Digest: c.info.Digest, Version: c.manifest.Version,
		Tier: c.tier, Signer: c.signer, Phases: c.info.Phases, Mutates: c.manifest.Mutates, Imports: c.info.Imports,
		Capabilities: held, Match: c.manifest.Match, Notes: c.notes,
		Close: func() error { module.Close(); return nil },
		Budget: tiers.Budget{
			Fuel:       min(c.manifest.Budget.Fuel, maxWantedFuel),
			DeadlineMS: min(c.manifest.Budget.DeadlineMS, maxWantedDeadlineMS),
		},
	}
}

const noteDerived = "the module has no manifest: phases and capabilities are taken from its exports and imports"

// examine reads the module, checks its digest, and finds out who it is. Nothing
// is compiled, so that it is also how Bindings tells what is wrong.
func (l *loader) examine(ctx context.Context, spec kernel.BindingSpec) (*candidate, error) {
	c := &candidate{tier: phases.Sandboxed, class: sandbox.Installed}
	file, want, err := l.read(spec)
	if err != nil {
		return nil, err
	}
	c.file, c.sum = file, sha256.Sum256(file)
	digest := "sha256:" + hex.EncodeToString(c.sum[:])
	if want != "" && digest != want {
		return nil, fmt.Errorf("%w: the file is %s, the binding says %s", kernel.ErrTrust, digest, want)
	}
	if c.info, err = l.b.engine.Inspect(file); err != nil {
		return nil, err
	}
	adhoc := strings.HasPrefix(spec.Module, adHocScheme)
	switch {
	case adhoc && !(l.b.o.SlowCompile && c.info.Manifest != nil):
		c.class = sandbox.AdHoc
	case l.b.builtin.Trusted(digest):
		if !adhoc {
			c.tier, c.signer = phases.Trusted, "builtin"
		}
	}
	var manifestErr error
	if c.info.Manifest != nil {
		c.manifest, manifestErr = tiers.DecodeManifest(c.info.Manifest)
	}
	if err := l.verify(ctx, spec, digest, c); err != nil { // before anything that fail-open would let pass
		return nil, err
	}
	if c.info.Manifest == nil {
		if !adhoc {
			return nil, errors.New("the module has no manifest; build it with `belay hook build`, or add one with `belay hook pack`")
		}
		c.manifest = derive(&c.info)
		c.notes = append(c.notes, noteDerived)
		return c, nil
	}
	if manifestErr != nil {
		return nil, manifestErr
	}
	if err := c.manifest.ValidateConfig(spec.Config); err != nil {
		return nil, err
	}
	c.declared = declaredBy(c.manifest)
	return c, nil
}

// declaredBy is what the module has to agree with.
func declaredBy(m *tiers.Manifest) *sandbox.Declared {
	d := &sandbox.Declared{Phases: m.Phases, Mutates: m.Mutates}
	for _, w := range m.Capabilities {
		d.Capabilities = append(d.Capabilities, w.Name)
	}
	return d
}

// memoryCap is the most memory an instance may have, in bytes: what the operator
// gives, else what the manifest wants within bounds; 0 means the sandbox's default.
func memoryCap(info *sandbox.Info, m *tiers.Manifest, operatorMiB int64) int64 {
	memory := cmp.Or(operatorMiB, min(m.Budget.MemoryMiB, maxWantedMemoryMiB))
	if memory == 0 && info.WASI {
		memory = maxWantedMemoryMiB // standard Go needs room for its collector
	}
	return min(memory, maxMemoryMiB) * mebibyte
}

// read returns the module's bytes and the digest that they must have.
func (l *loader) read(spec kernel.BindingSpec) (file []byte, digest string, err error) {
	if i, ok := strings.CutPrefix(spec.Module, adHocScheme); ok {
		for _, a := range l.b.adhoc {
			if a.spec.Module == adHocScheme+i {
				return a.module, "", nil
			}
		}
		return nil, "", errors.New("no such hook")
	}
	if name, ok := strings.CutPrefix(spec.Module, "builtin:"); ok {
		h, err := l.b.builtin.Get(name)
		return h.Module, cmp.Or(spec.Digest, h.Digest), err
	}
	path, digest := spec.Module, spec.Digest
	if hexDigest, ok := strings.CutPrefix(spec.Module, "sha256:"); ok {
		path, digest = filepath.Join("blobs", "sha256", hexDigest), spec.Module
	}
	if digest == "" {
		return nil, "", errors.New("no digest is pinned")
	}
	file, err = statedir.ReadModule(statedir.Inside(l.b.dir, path))
	return file, digest, err
}

// modulePath returns the file that a binding names, or "" when it names none.
func modulePath(dir, module string) string {
	for _, scheme := range []string{adHocScheme, "builtin:", "sha256:"} {
		if strings.HasPrefix(module, scheme) {
			return ""
		}
	}
	return statedir.Inside(dir, module)
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

// loadFault makes the failure that stands for a hook which could not be loaded.
// Texts of the sandbox and of manifests are made to be shown; others are not.
func loadFault(name string, err error) error {
	if f := phases.FaultOf(err); f != nil {
		return err
	}
	text := "the hook " + name + " could not be loaded"
	var le *sandbox.LoadError
	var te *tiers.Error
	switch {
	case errors.As(err, &le):
		text += ": " + le.Text
	case errors.As(err, &te):
		text += ": " + te.Text
	case errors.Is(err, kernel.ErrTrust):
		text += ": it is not the module that was bound"
	case errors.Is(err, os.ErrNotExist):
		text += ": its file is missing"
	case errors.Is(err, readfile.ErrNotRegular):
		text += ": its file is not a regular file"
	case errors.Is(err, readfile.ErrTooLarge):
		text += ": its file is too large"
	case errors.Is(err, builtin.ErrUnknown):
		text += ": there is no built-in hook of that name"
	}
	return phases.NewFault(phases.KindLoad, text, err)
}

var _ kernel.Loader = (*loader)(nil)
