package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/tiers"
)

// casesDir is the folder of suites in the folder of a hook.
const casesDir = "cases"

// Find returns the files of cases that arguments of `belay test` mean, sorted
// within each argument: a file, a hook's folder, a folder of suites, or DIR/... for
// every hook's folder below DIR. Without holds folders of hooks that have no cases.
func Find(args []string) (files, without []string, err error) {
	for _, a := range args {
		root, all := strings.CutSuffix(filepath.ToSlash(a), "/...")
		if a == "..." {
			root, all = ".", true
		}
		var more, none []string
		switch {
		case all:
			more, none, err = findBelow(filepath.FromSlash(root))
		default:
			more, err = findIn(a)
		}
		if err != nil {
			return nil, nil, err
		}
		files, without = append(files, more...), append(without, none...)
	}
	return files, without, nil
}

func findIn(a string) ([]string, error) {
	st, err := os.Stat(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, errors.Unwrap(err))
	}
	if !st.IsDir() {
		return []string{a}, nil
	}
	for _, dir := range []string{filepath.Join(a, casesDir), a} {
		files, err := yamlFiles(dir)
		if err != nil || len(files) > 0 {
			return files, err
		}
	}
	return nil, fmt.Errorf("%s holds no cases; they stand in %s as YAML", a, filepath.Join(a, casesDir))
}

// yamlFiles are the suites of a folder: its YAML files but for a manifest.
func yamlFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if n := e.Name(); !e.IsDir() && strings.HasSuffix(n, ".yaml") && n != hookbuild.ManifestFile &&
			!strings.HasPrefix(n, ".") {
			out = append(out, filepath.Join(dir, n))
		}
	}
	return out, err
}

func findBelow(root string) (files, without []string, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if p != root &&
			(strings.HasPrefix(name, ".") || slices.Contains([]string{"target", "build", "node_modules", "sdk"}, name)) {
			return fs.SkipDir
		}
		if name == casesDir {
			found, err := yamlFiles(p)
			files = append(files, found...)
			return err
		}
		if isHook(p) {
			if found, err := yamlFiles(filepath.Join(p, casesDir)); err != nil {
				return err
			} else if len(found) == 0 {
				without = append(without, p)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("there are no cases below %s; they stand in HOOK/%s as YAML", root, casesDir)
	}
	return files, without, nil
}

// maxModule is the most that is read of a module, in bytes: one more than belay loads.
const maxModule = 8<<20 + 1

// isHook reports whether a folder has a hook's manifest.
func isHook(dir string) bool {
	src, err := files.Read(filepath.Join(dir, hookbuild.ManifestFile), strictyaml.MaxSize)
	if err != nil {
		return false
	}
	_, err = tiers.ParseManifestSource(src)
	return err == nil
}

// Module is a module file that suites are about.
type Module struct {
	Name   string // of the hook, as far as its place tells; "" means that of its manifest
	File   []byte
	Path   string // of the file; "" when it was built or comes with belay
	Source string // folder of its source; "" when that is not known

	// Stale is how the source differs from the module that lies there: it was built anew for that.
	Stale []hookbuild.Change
}

// Locator finds the modules that suites are about. It is used by one goroutine.
type Locator struct {
	// Build builds hooks from their source also when a module lies beside it.
	Build bool
	// Debug builds with debug information, so that coverage knows lines.
	Debug bool
	// WorkDir is where modules are built that are not there, or older than their source: nothing
	// is written beside a hook's source.
	WorkDir string
	// Builds knows which modules this user built. Only these are built anew when their source has
	// changed; another module that is older than its source is an error.
	Builds hookbuild.Builds

	builtin *builtin.Set
	built   map[string]*Module
}

// Module returns the module that the suite is about.
func (l *Locator) Module(ctx context.Context, s *Suite) (*Module, error) {
	switch {
	case strings.HasPrefix(s.Hook, "builtin:"):
		return l.own(s)
	case strings.HasPrefix(s.Hook, rules.Scheme):
		return l.rules(s)
	case s.Hook != "":
		p := filepath.Join(filepath.Dir(s.file), filepath.FromSlash(s.Hook))
		if filepath.IsAbs(s.Hook) {
			p = s.Hook
		}
		file, err := files.Read(p, maxModule)
		if err != nil {
			return nil, s.named(s.doc.Errorf("/hook", "%s: %v", s.Hook, errors.Unwrap(err)))
		}
		return l.fresh(ctx, &Module{Name: strings.TrimSuffix(filepath.Base(p), ".wasm"), File: file, Path: p})
	}
	dir := filepath.Dir(s.file)
	if abs, err := filepath.Abs(dir); err == nil && filepath.Base(abs) == casesDir {
		if dir == "." {
			dir = ".." // it was started in there
		} else {
			dir = filepath.Dir(dir)
		}
	}
	return l.folder(ctx, s, dir)
}

func (l *Locator) own(s *Suite) (*Module, error) {
	if l.builtin == nil {
		set, err := builtin.Load()
		if err != nil {
			return nil, err
		}
		l.builtin = set
	}
	name := strings.TrimPrefix(s.Hook, "builtin:")
	h, err := l.builtin.Get(name)
	if err != nil {
		return nil, s.named(s.doc.Errorf("/hook", "%v", err))
	}
	return &Module{Name: name, File: h.Module}, nil
}

// rules builds the module of a rules file, which stands beside the suite or one folder up.
func (l *Locator) rules(s *Suite) (*Module, error) {
	name, part, _ := rules.ParseModule(s.Hook)
	p := filepath.FromSlash(name)
	if !filepath.IsAbs(p) {
		p = filepath.Join(filepath.Dir(s.file), p)
	}
	src, err := files.Read(p, strictyaml.MaxSize)
	if err != nil {
		return nil, s.named(s.doc.Errorf("/hook", "%s: %v", s.Hook, errors.Unwrap(err)))
	}
	f, err := rules.Parse(p, src)
	if err != nil {
		return nil, err
	}
	if l.builtin == nil {
		if l.builtin, err = builtin.Load(); err != nil {
			return nil, err
		}
	}
	engine, err := l.builtin.Get(rules.Engine)
	if err != nil {
		return nil, err
	}
	module, err := f.Build(engine.Module, part)
	if err != nil {
		return nil, s.named(s.doc.Errorf("/hook", "%v", err))
	}
	return &Module{Name: f.HookName(part), File: module}, nil
}

// folder finds the module in a hook's folder, or builds it.
func (l *Locator) folder(ctx context.Context, s *Suite, dir string) (*Module, error) {
	src, err := files.Read(filepath.Join(dir, hookbuild.ManifestFile), strictyaml.MaxSize)
	if err != nil {
		return nil, s.named(s.doc.Errorf("",
			"which hook is it about? %s has no %s; say it with `hook: FILE.wasm` or `hook: builtin:NAME`", dir,
			hookbuild.ManifestFile))
	}
	m, err := tiers.ParseManifestSource(src)
	if err != nil {
		return nil, strictyaml.In(filepath.Join(dir, hookbuild.ManifestFile), err)
	}
	p := filepath.Join(dir, hookbuild.ModuleFile(m))
	if !l.Build {
		file, err := files.Read(p, maxModule)
		if err == nil {
			return l.fresh(ctx, &Module{Name: m.Name, File: file, Path: p, Source: dir})
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return l.build(ctx, m.Name, dir, hookbuild.Options{})
}

// fresh returns the module of a file, or one that is built anew because the source has changed since.
func (l *Locator) fresh(ctx context.Context, m *Module) (*Module, error) {
	err := hookbuild.Check(m.Path, m.File)
	if err == nil {
		return m, nil
	}
	var stale *hookbuild.StaleError
	switch {
	case !errors.As(err, &stale):
		return nil, err
	case stale.Rules != "":
		return nil, fmt.Errorf("%w; `%s` builds it anew", err, stale.Command())
	case !l.Builds.Ours(stale):
		return nil, fmt.Errorf("%w; you did not build it here, so belay does not do so unasked: `%s`", err, stale.Command())
	}
	built, failed := l.build(ctx, m.Name, stale.Dir, stale.Options)
	if failed != nil {
		return nil, fmt.Errorf("%w; %w", err, failed)
	}
	anew := *built
	anew.Stale = stale.Changes
	return &anew, nil
}

func (l *Locator) build(ctx context.Context, name, dir string, o hookbuild.Options) (*Module, error) {
	if m := l.built[dir]; m != nil {
		return m, nil
	}
	work, err := os.MkdirTemp(l.WorkDir, "hook-")
	if err != nil {
		return nil, err
	}
	o.Output, o.WorkDir, o.Debug = filepath.Join(work, "hook.wasm"), work, l.Debug
	r, err := hookbuild.Build(ctx, dir, o)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be built: %w", dir, err)
	}
	file, err := files.Read(r.Path, maxModule)
	if err != nil {
		return nil, err
	}
	if l.built == nil {
		l.built = map[string]*Module{}
	}
	l.built[dir] = &Module{Name: name, File: file, Source: dir}
	return l.built[dir], nil
}

// Forget drops the modules that were built, so that they are built again.
func (l *Locator) Forget() { l.built = nil }
