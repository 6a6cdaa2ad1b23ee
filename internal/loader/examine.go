package loader

import (
	"context"
	"errors"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/kernel"
)

// Examine looks at every binding without compiling it: each is as the kernel would have
// it, with the reason why it blocks its phases. Errors are those of kernel.Examine.
func (l *Loader) Examine(ctx context.Context, bindings []config.Binding) ([]wire.Hook, error) {
	cfg := &kernel.Config{}
	for _, h := range bindings {
		cfg.Bindings = append(cfg.Bindings, Spec(h))
	}
	return kernel.Examine(cfg, func(spec kernel.BindingSpec) (*kernel.Loaded, error) {
		c, err := l.examine(ctx, spec)
		if err != nil {
			return nil, loadFault(spec.Name, err)
		}
		caps, err := held(c, spec)
		if err != nil {
			return nil, loadFault(spec.Name, err)
		}
		return &kernel.Loaded{Hook: notCompiled{}, Digest: c.info.Digest, Version: c.manifest.Version, Tier: c.tier,
			Signer: c.signer,
			Phases: c.info.Phases, Mutates: c.manifest.Mutates, Imports: c.info.Imports, Capabilities: caps,
			Match: c.manifest.Match}, nil
	})
}

// notCompiled stands for a hook that was looked at only.
type notCompiled struct{}

// Run implements kernel.Hook: it never answers.
func (notCompiled) Run(context.Context, kernel.Turn) (kernel.Outcome, error) {
	return kernel.Outcome{}, errors.New("not compiled")
}
