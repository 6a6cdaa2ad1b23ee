package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/hookdoc"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Weakening is a way in which another version of a hook guards less. An operator accepts each by its name.
type Weakening string

// The ways in which a version can guard less than the one before.
const (
	OtherHook   Weakening = "other-hook"   // its manifest has another name
	FewerPhases Weakening = "fewer-phases" // it is not asked any more in a phase
	LessTrust   Weakening = "less-trust"   // its tier is lower
	Older       Weakening = "older"        // its version is a lower one
)

// Weakenings lists them all.
func Weakenings() []Weakening { return []Weakening{OtherHook, FewerPhases, LessTrust, Older} }

// UpgradeRequest says which other module a binding is to run.
type UpgradeRequest struct {
	Name     string           // of the binding
	File     []byte           // the module; or
	Module   string           // builtin:NAME
	Evidence []tiers.Evidence // what vouches for File; kept beside it
	Allow    []string         // capabilities in addition to those that the binding has
	Accept   []Weakening
	Compiler []string // as loader.Options.Compiler

	capabilities []string // exactly these, in place of the binding's and Allow; of a rollback
	rollback     bool     // it ran before: no weakening stands against it
}

// Version is one of the two modules of an upgrade.
type Version struct {
	Module       string   `json:"module"` // as belay.yaml names it
	Name         string   `json:"name,omitzero"`
	Version      string   `json:"version,omitzero"`
	Digest       string   `json:"digest,omitzero"`
	Tier         string   `json:"tier,omitzero"`
	Why          string   `json:"why,omitzero"` // this tier
	Signers      []string `json:"signers,omitzero"`
	Phases       []string `json:"phases,omitzero"` // in which the binding is asked
	Tools        string   `json:"tools,omitzero"`  // RE2, as the binding has it
	Capabilities []string `json:"capabilities,omitzero"`
	Problem      string   `json:"problem,omitzero"` // why it does not run
}

// Upgrade is a change of a binding's module that can be made. Nothing is changed yet.
type Upgrade struct {
	Binding      string      `json:"binding"`
	From         Version     `json:"from"`
	To           Version     `json:"to"`
	Imports      Changes     `json:"imports"`
	Capabilities Changes     `json:"capabilities"` // that it holds
	Phases       Changes     `json:"phases"`
	Options      Changes     `json:"options"`         // of its configuration, with their types
	Weaker       []Weakening `json:"weaker,omitzero"` // how it guards less
	Evidence     int         `json:"evidence"`        // pieces beside the new file
	Same         bool        `json:"same,omitzero"`   // both are the same file, with the same capabilities
	Rollback     bool        `json:"rollback,omitzero"`

	request  UpgradeRequest
	binding  config.Binding // as it is now, with the options that its file has
	before   []byte         // the file that is bound now; nil: it cannot be read
	proofs   []tiers.Evidence
	file     []byte
	manifest *tiers.Manifest
	target   []string // capabilities of the binding afterwards
}

// Files are the modules of both versions; before is nil when it cannot be read.
func (u *Upgrade) Files() (before, after []byte) { return u.before, u.file }

// Bindings are the binding as it is, and as it would be.
func (u *Upgrade) Bindings() (before, after config.Binding) {
	before, after = u.binding, u.binding
	after.Module, after.Digest, after.Capabilities = u.To.Module, "", u.target
	return before, after
}

// PlanUpgrade looks at both versions, and refuses what could not run in the binding's place. It runs
// and changes nothing. Errors are ErrRefused, loader.ErrUnknownHook, config.ErrMissing, config.ErrUnusable
// or of the file system.
func PlanUpgrade(ctx context.Context, dir trust.Dir, r UpgradeRequest) (*Upgrade, error) {
	b, err := bindingOf(dir.Path, r.Name)
	if err != nil {
		return nil, err
	}
	if _, _, ok := rules.ParseModule(b.Module); ok {
		return nil, fmt.Errorf("%w: %s is built from a rules file: edit %s, and belay builds it anew", ErrRefused, r.Name,
			strings.TrimPrefix(b.Module, rules.Scheme))
	}
	u := &Upgrade{Binding: r.Name, request: r, binding: b, Evidence: len(r.Evidence), Rollback: r.rollback,
		target: r.capabilities}
	if u.target == nil {
		u.target = slices.Clone(b.Capabilities)
		for _, c := range r.Allow {
			if !slices.Contains(u.target, c) {
				u.target = append(u.target, c)
			}
		}
	}
	source := Request{File: r.File, Module: r.Module}
	if u.file, err = source.file(); err != nil {
		return nil, err
	}
	now, err := loader.InspectIn(ctx, dir, u.file, r.Evidence, append([]string{}, u.target...))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	u.manifest = now.Manifest
	u.To = versionOf(&now, &b, r.Module)
	was := u.lookBefore(ctx, dir)
	u.Same = u.From.Digest == u.To.Digest && u.From.Module == u.To.Module && sameSet(b.Capabilities, u.target)
	u.compare(was, &now)
	if len(now.Problems) > 0 {
		return u, fmt.Errorf("%w: %s", ErrRefused, strings.Join(now.Problems, "; "))
	}
	if err := u.fits(dir.Path, &now); err != nil {
		return u, err
	}
	return u, u.accepted()
}

// bindingOf returns a binding as belay.yaml has it, with the options that its file holds.
func bindingOf(dir, name string) (config.Binding, error) {
	src, err := config.ReadFile(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Binding{}, config.ErrMissing
	} else if err != nil {
		return config.Binding{}, err
	}
	f, err := config.Parse(src)
	if err != nil {
		return config.Binding{}, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	i := slices.IndexFunc(f.Hooks, func(h config.Binding) bool { return h.Name == name })
	if i < 0 {
		var names []string
		for _, h := range f.Hooks {
			names = append(names, h.Name)
		}
		return config.Binding{}, fmt.Errorf("%w: belay.yaml binds no hook named %q; it binds %s", loader.ErrUnknownHook,
			name, strings.Join(names, ", "))
	}
	if f.Hooks[i].ConfigFile != "" {
		if err := f.ReadConfigs(dir); err != nil {
			return config.Binding{}, fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	return f.Hooks[i], nil
}

// versionOf describes a module as the binding would run it. module is builtin:NAME, or "" for a file by its digest.
func versionOf(info *loader.Info, b *config.Binding, module string) Version {
	v := Version{Module: module, Digest: info.Digest, Tier: string(info.Tier), Why: info.Why,
		Phases: texts(asked(b.Phases, info.Phases)), Capabilities: []string{}}
	if v.Module == "" {
		v.Module = info.Digest
	}
	if info.Manifest != nil {
		v.Name, v.Version, v.Tools = info.Manifest.Name, info.Manifest.Version, info.Manifest.Match.Tools
	}
	if b.Match != nil {
		v.Tools = b.Match.Tools
	}
	if info.Trust != nil {
		v.Signers = info.Trust.Signers
	}
	for _, c := range info.Capabilities {
		v.Capabilities = append(v.Capabilities, c.Granted...)
	}
	if len(info.Problems) > 0 {
		v.Problem = strings.Join(info.Problems, "; ")
	}
	return v
}

// asked are the phases in which a binding is asked: all that the hook serves, or those of them that it names.
func asked(bound, served []phases.Phase) []phases.Phase {
	if len(bound) == 0 {
		return served
	}
	return bound
}

// lookBefore looks at the version that is bound now. One that cannot be read does not run: an upgrade may mend that.
func (u *Upgrade) lookBefore(ctx context.Context, dir trust.Dir) *loader.Info {
	broken := func(err error) *loader.Info {
		u.From = Version{Module: u.binding.Module, Digest: u.binding.Digest, Problem: err.Error()}
		if strings.HasPrefix(u.binding.Module, "sha256:") {
			u.From.Digest = u.binding.Module
		}
		return nil
	}
	file, evidence, err := loader.ReadBound(dir.Path, loader.Spec(u.binding))
	if err != nil {
		return broken(err)
	}
	info, err := loader.InspectIn(ctx, dir, file, evidence, append([]string{}, u.binding.Capabilities...))
	if err != nil {
		return broken(err)
	}
	u.before, u.proofs = file, evidence
	u.From = versionOf(&info, &u.binding, u.binding.Module)
	return &info
}

// compare says what changes, and how the new version guards less.
func (u *Upgrade) compare(was, now *loader.Info) {
	if was == nil {
		u.Imports, u.Options = changes(nil, now.Imports), changes(nil, optionsOf(now.Manifest))
	} else {
		u.Imports, u.Options = changes(was.Imports, now.Imports), changes(optionsOf(was.Manifest), optionsOf(now.Manifest))
	}
	u.Capabilities = changes(u.From.Capabilities, u.To.Capabilities)
	u.Phases = changes(u.From.Phases, u.To.Phases)
	if was == nil {
		return
	}
	if u.From.Name != u.To.Name {
		u.Weaker = append(u.Weaker, OtherHook)
	}
	if len(u.Phases.Removed) > 0 {
		u.Weaker = append(u.Weaker, FewerPhases)
	}
	if was.Tier == phases.Trusted && now.Tier != phases.Trusted {
		u.Weaker = append(u.Weaker, LessTrust)
	}
	if u.From.Name == u.To.Name && !u.Rollback && lowerVersion(u.To.Version, u.From.Version) {
		u.Weaker = append(u.Weaker, Older)
	}
}

// fits holds the binding, which stays as it is, to the new version.
func (u *Upgrade) fits(dir string, now *loader.Info) error {
	b := &u.binding
	for _, p := range b.Phases {
		if !slices.Contains(now.Phases, p) {
			return fmt.Errorf("%w: the binding asks it in the phase %s, which version %s does not serve", ErrRefused, p,
				u.To.Version)
		}
	}
	r := Request{Name: b.Name, Module: u.request.Module, Phases: b.Phases, Priority: b.Priority, Allow: u.target,
		Tier: b.Tier, Config: b.Config, Mode: b.Mode}
	_, err := r.binding(now)
	return err
}

// accepted refuses an upgrade that guards less in a way that the operator has not accepted.
func (u *Upgrade) accepted() error {
	if u.request.rollback {
		return nil
	}
	var not []string
	for _, w := range u.Weaker {
		if !slices.Contains(u.request.Accept, w) {
			not = append(not, string(w))
		}
	}
	if len(not) == 0 {
		return nil
	}
	return &WeakerError{Not: not, Text: u.weakerText(not)}
}

// WeakerError refuses an upgrade that guards less in ways that were not accepted. It is an ErrRefused.
type WeakerError struct {
	Not  []string // the names of the ways
	Text string
}

func (e *WeakerError) Error() string { return ErrRefused.Error() + ": " + e.Text }

// Is reports the class ErrRefused.
func (e *WeakerError) Is(target error) bool { return target == ErrRefused }

func (u *Upgrade) weakerText(not []string) string {
	var out []string
	for _, w := range not {
		switch Weakening(w) {
		case OtherHook:
			out = append(out, fmt.Sprintf("it is another hook, %s in place of %s", u.To.Name, u.From.Name))
		case FewerPhases:
			out = append(out, "it is not asked any more in "+strings.Join(u.Phases.Removed, ", "))
		case LessTrust:
			out = append(out, fmt.Sprintf("it is %s (%s) in place of %s", u.To.Tier, u.To.Why, u.From.Tier))
		case Older:
			out = append(out, fmt.Sprintf("version %s is older than %s", u.To.Version, u.From.Version))
		}
	}
	return strings.Join(out, "; ")
}

func sameSet(a, b []string) bool {
	c := changes(a, b)
	return len(c.Added)+len(c.Removed) == 0
}

// optionsOf lists the options of a hook's configuration, each with its type. Of a schema that cannot be told as options
// it lists that there is one.
func optionsOf(m *tiers.Manifest) []string {
	if m == nil || len(m.ConfigSchema) == 0 {
		return nil
	}
	options, err := hookdoc.Options(m.ConfigSchema)
	if err != nil {
		return []string{"a schema with the digest " + phases.ByteDigest(m.ConfigSchema)}
	}
	var out []string
	for _, o := range options {
		text := o.Name + " (" + o.Type
		if o.Required {
			text += ", required"
		}
		if len(o.Default) > 0 {
			text += ", default " + string(o.Default)
		}
		out = append(out, text+")")
	}
	return out
}

// lowerVersion compares semantic versions.
func lowerVersion(a, b string) bool { return semver.Compare("v"+a, "v"+b) < 0 }
