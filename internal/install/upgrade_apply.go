package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
)

// ErrChangedMeanwhile: the binding is not any more what the upgrade was planned for.
var ErrChangedMeanwhile = errors.New("the binding was changed meanwhile")

// Apply makes the upgrade: it compiles the new module, keeps it with its evidence, and last replaces belay.yaml as a
// whole. A host reads either the file before or the one after, and each binds the hook, so that no action goes by
// unasked; with an error belay.yaml is as it was. left are capabilities of the version before that could not be taken
// out of belay.yaml; the new one does not declare them, so that it does not get them. Errors are ErrRefused,
// ErrChangedMeanwhile, config.ErrConfig, or of the file system.
func (u *Upgrade) Apply(ctx context.Context, dir trust.Dir) (left []string, err error) {
	if err := loader.CompileOnce(ctx, dir.Path, u.file, u.manifest, u.request.Compiler); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	from := u.binding.Module
	if !strings.HasPrefix(from, "builtin:") && u.before != nil {
		from = u.From.Digest // a path may name another file by then
	}
	err = config.EditFile(dir.Path, func(src []byte) ([]byte, error) {
		if err := u.unchanged(src); err != nil {
			return nil, err
		}
		edited, rest, err := config.SetModule(src, u.Binding, u.To.Module, u.target)
		if err != nil {
			return nil, err
		}
		left = rest
		if err := u.keep(dir.Path); err != nil {
			return nil, err
		}
		if u.Same {
			return edited, nil
		}
		return edited, remember(dir.Path, replaced{Binding: u.Binding, From: from, Capabilities: u.binding.Capabilities,
			To: u.To.Module, At: time.Now().UTC().Truncate(time.Second)})
	})
	return left, err
}

// keep stores both modules with their evidence: the new one to run, the one before for a rollback.
func (u *Upgrade) keep(dir string) error {
	if u.request.Module == "" {
		if err := statedir.StoreBlob(dir, u.To.Digest, u.file); err != nil {
			return err
		}
		if err := trust.StoreEvidence(dir, u.To.Digest, u.request.Evidence); err != nil {
			return err
		}
	}
	if u.before == nil || strings.HasPrefix(u.binding.Module, "builtin:") {
		return nil
	}
	if err := statedir.StoreBlob(dir, u.From.Digest, u.before); err != nil {
		return err
	}
	return trust.StoreEvidence(dir, u.From.Digest, u.proofs)
}

// unchanged returns ErrChangedMeanwhile unless the binding is as it was when the upgrade was planned.
func (u *Upgrade) unchanged(src []byte) error {
	f, err := config.Parse(src)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(f.Hooks, func(h config.Binding) bool { return h.Name == u.Binding })
	if i < 0 || f.Hooks[i].Module != u.binding.Module || f.Hooks[i].Digest != u.binding.Digest ||
		!sameSet(f.Hooks[i].Capabilities, u.binding.Capabilities) {
		return fmt.Errorf("%w: look again at what would change in %s", ErrChangedMeanwhile, u.Binding)
	}
	return nil
}

// PlanRollback plans the way back to the module that the newest upgrade of the binding replaced, with the capabilities
// that the binding had. Going back again returns to the newer one. Errors are ErrNoUpgrade and those of PlanUpgrade.
func PlanRollback(ctx context.Context, dir trust.Dir, name string, compiler []string) (*Upgrade, error) {
	b, err := bindingOf(dir.Path, name)
	if err != nil {
		return nil, err
	}
	was, err := before(dir.Path, name, b.Module)
	if err != nil {
		return nil, err
	}
	r := UpgradeRequest{Name: name, Compiler: compiler, capabilities: was.Capabilities, rollback: true}
	if r.capabilities == nil {
		r.capabilities = []string{}
	}
	switch {
	case strings.HasPrefix(was.From, "builtin:"):
		r.Module = was.From
	case !strings.HasPrefix(was.From, "sha256:"):
		return nil, fmt.Errorf("%w: its module was %s, which could not be read at the upgrade", ErrNoUpgrade, was.From)
	default:
		if r.File, err = readBlob(dir.Path, was.From); err != nil {
			return nil, err
		}
		if r.Evidence, err = trust.ReadEvidence(statedir.Blob(dir.Path, phases.ByteDigest(r.File))); err != nil {
			return nil, err
		}
	}
	return PlanUpgrade(ctx, dir, r)
}
