package loader

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
)

// ErrUnknownHook: belay.yaml binds no hook of that name.
var ErrUnknownHook = errors.New("there is no such hook")

// InspectBound is InspectIn for a hook that belay.yaml in dir binds, with the capabilities
// that the binding allows. Errors are config.ErrMissing, config.ErrUnusable, ErrUnknownHook
// when there is no binding of that name, and those of reading the module.
func InspectBound(ctx context.Context, dir trust.Dir, name string) (Info, error) {
	f, _, err := config.Load(dir.Path)
	if err != nil {
		return Info{}, err
	}
	i := slices.IndexFunc(f.Hooks, func(b config.Binding) bool { return b.Name == name })
	if i < 0 {
		return Info{}, fmt.Errorf("%w: %s binds no hook named %q", ErrUnknownHook, filepath.Join(dir.Path, config.FileName),
			name)
	}
	spec := Spec(f.Hooks[i])
	hooks, err := builtin.Load()
	if err != nil {
		return Info{}, err
	}
	files := source{dir: dir.Path, builtin: hooks}
	file, want, err := files.read(spec)
	if err != nil {
		return Info{}, err
	}
	digest := phases.ByteDigest(file)
	pieces, err := files.evidence(spec, digest)
	if err != nil {
		return Info{}, err
	}
	allowed := spec.Allowed
	if _, _, ok := rules.ParseModule(spec.Module); !ok || allowed != nil {
		allowed = append([]string{}, allowed...) // never nil, which would allow everything
	}
	info, err := InspectIn(ctx, dir, file, pieces, allowed)
	if err != nil {
		return info, err
	}
	if want != "" && digest != want {
		info.Problems = append(info.Problems, "it is not the module that was bound: the binding says "+want)
	}
	if reason := relies(spec); reason != "" && info.Tier != phases.Trusted {
		info.Problems = append(info.Problems, reason+", and it is "+string(info.Tier)+
			": it blocks its phases instead of running")
	}
	return info, nil
}
