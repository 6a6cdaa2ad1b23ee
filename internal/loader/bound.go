package belay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/evidence"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// InspectBound is InspectHookIn for a hook that belay.yaml in dir binds: of its
// capabilities it says what the binding allows. Errors are ErrNoConfig, ErrConfig,
// ErrUnknownHook when there is no binding of that name, and those of reading the
// module.
func InspectBound(ctx context.Context, dir, name string) (HookInfo, error) {
	path := filepath.Join(dir, config.FileName)
	src, err := config.ReadFile(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return HookInfo{}, fmt.Errorf("%w (looked for %s)", ErrNoConfig, path)
	case err != nil:
		return HookInfo{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	f, err := config.Parse(src)
	if err != nil {
		return HookInfo{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	i := slices.IndexFunc(f.Hooks, func(b config.Binding) bool { return b.Name == name })
	if i < 0 {
		return HookInfo{}, fmt.Errorf("%w: %s binds no hook named %q", ErrUnknownHook, path, name)
	}
	spec := specOf(f.Hooks[i])
	hooks, err := builtin.Load()
	if err != nil {
		return HookInfo{}, err
	}
	l := &loader{&Belay{dir: dir, builtin: hooks}}
	file, want, err := l.read(spec)
	if err != nil {
		return HookInfo{}, err
	}
	digest := statedir.Digest(file)
	evidence, err := l.kept(spec, digest)
	if err != nil {
		return HookInfo{}, err
	}
	allowed := append([]string{}, spec.Allowed...) // never nil, which would allow everything
	info, err := InspectHookIn(ctx, dir, file, evidence, allowed)
	if err != nil {
		return info, err
	}
	if want != "" && digest != want {
		info.Problems = append(info.Problems, "it is not the module that was bound: the binding says "+want)
	}
	if reason := relies(spec); reason != "" && info.Tier != phases.Trusted {
		info.Problems = append(info.Problems, reason+", and it is "+string(info.Tier)+": it blocks its phases instead of running")
	}
	return info, nil
}

// kept is the evidence about a bound module: kept with it, and beside its file.
func (l *loader) kept(spec kernel.BindingSpec, digest string) ([]tiers.Evidence, error) {
	list, err := evidence.Read(statedir.Blob(l.b.dir, digest))
	if err != nil {
		return nil, err
	}
	if path := modulePath(l.b.dir, spec.Module); path != "" {
		beside, err := evidence.Read(path)
		if err != nil {
			return nil, err
		}
		list = append(list, beside...)
	}
	return list, nil
}
