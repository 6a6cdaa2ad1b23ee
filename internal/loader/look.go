package loader

import (
	"context"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Look opens a Loader that looks at the hooks of a state directory, by its trust policy,
// and writes no compiled code.
func Look(dir trust.Dir) (*Loader, error) {
	return Open(Options{Dir: dir.Path, Trust: dir.Open(nil)})
}

// Bound describes a bound hook, without running it.
type Bound struct {
	Manifest     *tiers.Manifest
	Digest       string // sha256:<hex>
	Imports      []string
	Phases       []phases.Phase
	Capabilities []string // that it really holds
}

// Bound looks at the hook of a binding. Errors are as those of Load.
func (l *Loader) Bound(ctx context.Context, spec kernel.BindingSpec) (*Bound, error) {
	c, err := l.examine(ctx, spec)
	if err != nil {
		return nil, err
	}
	have, err := held(c, spec)
	if err != nil {
		return nil, err
	}
	return &Bound{Manifest: c.manifest, Digest: c.info.Digest, Imports: c.info.Imports, Phases: c.info.Phases,
		Capabilities: have}, nil
}

// UngrantedIn is Loader.Ungranted of the enabled bindings of belay.yaml in dir. A
// belay.yaml that cannot be used binds nothing.
func UngrantedIn(ctx context.Context, dir trust.Dir) ([]Ungranted, error) {
	f, _, err := config.Load(dir.Path)
	if err != nil {
		return nil, nil
	}
	l, err := Look(dir)
	if err != nil {
		return nil, err
	}
	defer l.Close(func() bool { return false })
	return l.Ungranted(ctx, f.Enabled()), nil
}
