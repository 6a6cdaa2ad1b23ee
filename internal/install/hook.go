// Package install decides which hooks get into belay.yaml: installed by an operator, or
// proposed by an agent and approved. A module is kept under its digest, looked at, and
// compiled once before it is bound. It never decides who may approve: package kernel
// does, and never how far a module is trusted: package trust does.
package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/near"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// ErrRefused is the class of errors about a hook that cannot be installed.
var ErrRefused = errors.New("the hook was refused")

// Request is what an operator says when installing a hook.
type Request struct {
	File     []byte           // the module; or
	Module   string           // builtin:NAME
	Evidence []tiers.Evidence // what vouches for File; kept beside it
	Name     string           // of the binding; default: the last part of the manifest's name
	Phases   []phases.Phase
	Priority int
	Tools    string // RE2; default: the manifest's
	AnyTool  bool
	Allow    []string // capabilities; nil allows all that the manifest declares
	Config   jsontext.Value
	// ConfigFile and ConfigFileOptional are as in config.Binding, in place of Config.
	ConfigFile         string
	ConfigFileOptional bool

	Mode     phases.Mode
	Compiler []string    // as loader.Options.Compiler
	Tier     phases.Tier // trusted: refused unless it is, and blocking its phases when it is not any more
}

// Hook checks a module, compiles it once, keeps it under its digest in
// the state directory and binds it in belay.yaml. The file and the configuration are written
// atomically and last, so that a hook that is refused leaves nothing behind.
// Errors are ErrRefused, config.ErrMissing, or of the file system.
func Hook(ctx context.Context, dir trust.Dir, r Request) (kernel.BindingSpec, loader.Info, error) {
	var none kernel.BindingSpec
	src, err := config.ReadFile(dir.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, loader.Info{}, config.ErrMissing
	} else if err != nil {
		return none, loader.Info{}, err
	}
	file, err := r.file()
	if err != nil {
		return none, loader.Info{}, err
	}
	info, err := loader.InspectIn(ctx, dir, file, r.Evidence, r.Allow)
	if err != nil {
		return none, info, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if len(info.Problems) > 0 {
		return none, info, fmt.Errorf("%w: %s", ErrRefused, strings.Join(info.Problems, "; "))
	}
	b, err := r.binding(&info)
	if err != nil {
		return none, info, err
	}
	edited, err := config.AddBinding(src, b) // before the time for compiling is spent
	if err != nil {
		return none, info, err
	}
	if err := optionsFit(dir.Path, edited, &b, info.Manifest); err != nil {
		return none, info, err
	}
	if err := loader.CompileOnce(ctx, dir.Path, file, info.Manifest, r.Compiler); err != nil {
		return none, info, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	// The module is kept under the lock of belay.yaml: the process that drops unneeded
	// modules holds it, too.
	err = config.EditFile(dir.Path, func(src []byte) ([]byte, error) {
		edited, err := config.AddBinding(src, b)
		if err != nil || r.Module != "" {
			return edited, err
		}
		if err := statedir.StoreBlob(dir.Path, info.Digest, file); err != nil {
			return nil, err
		}
		return edited, trust.StoreEvidence(dir.Path, info.Digest, r.Evidence)
	})
	if err != nil {
		return none, info, err
	}
	return loader.Spec(b), info, nil
}

// optionsFit holds the file of options of a binding to the schema of its hook.
func optionsFit(dir string, edited []byte, b *config.Binding, m *tiers.Manifest) error {
	if b.ConfigFile == "" {
		return nil
	}
	f, err := config.Parse(edited)
	if err != nil {
		return err
	}
	if err := f.ReadConfigs(dir); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for i := range f.Hooks {
		if f.Hooks[i].Name == b.Name {
			if err := m.ValidateConfig(f.Hooks[i].Config); err != nil {
				return fmt.Errorf("%w: %w", ErrRefused, f.ConfigError(b.Name, err))
			}
		}
	}
	return nil
}

func (r *Request) file() ([]byte, error) {
	name, ok := strings.CutPrefix(r.Module, "builtin:")
	if !ok {
		return r.File, nil
	}
	hooks, err := builtin.Load()
	if err != nil {
		return nil, err
	}
	h, err := hooks.Get(name)
	if err != nil {
		var names []string
		for _, h := range hooks.Hooks() {
			names = append(names, h.Name)
		}
		if question := near.Question(name, names); question != "" {
			return nil, fmt.Errorf("%w: %w; %s", ErrRefused, err, question)
		}
		return nil, fmt.Errorf("%w: %w; there are %s", ErrRefused, err, strings.Join(names, ", "))
	}
	return h.Module, nil
}

// binding makes the entry of belay.yaml. Capabilities are written out even when
// all are allowed: what a later version of the hook asks for is not allowed by
// an older decision.
func (r *Request) binding(info *loader.Info) (config.Binding, error) {
	m := info.Manifest
	b := config.Binding{
		Name: r.Name, Module: r.Module, Phases: r.Phases, Priority: r.Priority,
		Config: r.Config, ConfigFile: r.ConfigFile, ConfigFileOptional: r.ConfigFileOptional,
		Capabilities: r.Allow, Mode: r.Mode, Tier: r.Tier,
	}
	if b.Name == "" {
		b.Name = path.Base(m.Name)
	}
	if b.Module == "" {
		b.Module = info.Digest
	}
	if b.Capabilities == nil {
		b.Capabilities = []string{}
		for _, w := range m.Capabilities {
			b.Capabilities = append(b.Capabilities, w.Name)
		}
	}
	if r.Tools != "" {
		b.Match = &tiers.Match{Tools: r.Tools, Agents: m.Match.Agents, Runtimes: m.Match.Runtimes, Any: r.AnyTool}
	}
	if b.Mode == phases.Enforce {
		b.Mode = "" // the default is not written out
	}
	if err := m.ValidateConfig(r.Config); err != nil {
		return b, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for _, p := range r.Phases {
		if !slices.Contains(m.Phases, p) {
			return b, fmt.Errorf("%w: it does not serve the phase %q", ErrRefused, p)
		}
	}
	if r.Priority >= kernel.TrustedPriority && info.Tier != phases.Trusted {
		return b, fmt.Errorf("%w: priorities from %d on are for trusted hooks, and this one is %s (%s)", ErrRefused,
			kernel.TrustedPriority, info.Tier, info.Why)
	}
	if r.Tier == phases.Trusted && info.Tier != phases.Trusted {
		return b, fmt.Errorf("%w: it is to be bound as trusted, and it is %s (%s)", ErrRefused, info.Tier, info.Why)
	}
	return b, nil
}
