package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/hookdoc"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// builtinHook is a line of `belay hook list --builtin`.
type builtinHook struct {
	Module      string         `json:"module"`               // builtin:NAME
	Others      []string       `json:"other_names,omitzero"` // builtin:NAME of each further name, which is the same hook
	Version     string         `json:"version"`
	Phases      []phases.Phase `json:"phases"`
	Description string         `json:"description"`
	Digest      string         `json:"digest"`
	Bound       []boundAs      `json:"bound"` // the bindings of belay.yaml that run it
}

type boundAs struct {
	Name     string      `json:"name"`
	Mode     phases.Mode `json:"mode"`
	Disabled bool        `json:"disabled,omitzero"`
}

// hookListBuiltin lists the hooks that come with the binary. belay.yaml is read, whether a daemon
// runs or not: the question is what the file binds.
func (a *App) hookListBuiltin(ctx context.Context, asJSON bool) error {
	bindings, err := a.fileBindings()
	if err != nil {
		return err
	}
	set, err := builtin.Load()
	if err != nil {
		return failureBy(err, "")
	}
	hooks := []builtinHook{}
	for _, h := range set.Hooks() {
		info, err := loader.Inspect(ctx, h.Module, nil)
		if err != nil {
			return failureBy(err, "")
		}
		one := builtinHook{Module: builtinScheme + h.Name, Version: info.Manifest.Version, Phases: info.Phases,
			Description: info.Manifest.Description, Digest: h.Digest, Bound: boundTo(&h, bindings)}
		for _, other := range h.Others {
			one.Others = append(one.Others, builtinScheme+other)
		}
		hooks = append(hooks, one)
	}
	if asJSON {
		return a.printJSON(hooks)
	}
	colors := a.palette()
	t := newTable("HOOK", "VERSION", "BOUND", "PHASES", "WHAT IT DOES")
	for _, h := range hooks {
		does := h.Description
		if len(h.Others) > 0 {
			does += " Also " + strings.Join(h.Others, ", ") + "."
		}
		t.row(safe(h.Module), safe(h.Version), boundText(h.Bound), phaseList(h.Phases), oneLine(does, 300))
	}
	t.print(a.Out, colors)
	fmt.Fprintf(a.Out, "\n`belay hook inspect builtin:NAME` shows its options, and a binding for belay.yaml.\n")
	return nil
}

// fileBindings returns what belay.yaml binds; nothing where there is no such file.
func (a *App) fileBindings() ([]config.Binding, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	f, _, err := config.Load(dir)
	if errors.Is(err, config.ErrMissing) {
		return nil, nil
	} else if err != nil {
		return nil, failureBy(err, "")
	}
	return f.Hooks, nil
}

// boundTo returns the bindings that run a built-in hook: by its name, by its digest, or as the
// engine of a rules file.
func boundTo(h *builtin.Hook, bindings []config.Binding) []boundAs {
	out := []boundAs{}
	for _, b := range bindings {
		_, _, isRules := rules.ParseModule(b.Module)
		name, named := strings.CutPrefix(b.Module, builtinScheme)
		if (!named || builtin.Name(name) != h.Name) && b.Module != h.Digest && b.Digest != h.Digest &&
			(!isRules || h.Name != rules.Engine) {
			continue
		}
		mode := b.Mode
		if mode == "" {
			mode = phases.Enforce
		}
		out = append(out, boundAs{Name: b.Name, Mode: mode, Disabled: b.Disabled})
	}
	return out
}

func boundText(bound []boundAs) string {
	if len(bound) == 0 {
		return "no"
	}
	var parts []string
	for _, b := range bound {
		text := "as " + safe(b.Name)
		switch {
		case b.Disabled:
			text += " (disabled)"
		case b.Mode != phases.Enforce:
			text += " (" + string(b.Mode) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// inspected is what `belay hook inspect` tells about a module.
type inspected struct {
	loader.Info
	Options []hookdoc.Option `json:"options"`
	// Unread says why the options cannot be told.
	Unread string `json:"options_unread,omitzero"`
	// Binding, of a built-in hook, is an element of `hooks` in belay.yaml.
	Binding string `json:"binding,omitzero"`
}

func newInspected(info loader.Info) inspected {
	in := inspected{Info: info, Options: []hookdoc.Option{}}
	if info.Manifest == nil {
		return in
	}
	options, err := hookdoc.Options(info.Manifest.ConfigSchema)
	if err != nil {
		in.Unread = err.Error()
		return in
	}
	in.Options = options
	return in
}

// inspectBuiltin describes a hook that comes with the binary, with a binding for it.
func (a *App) inspectBuiltin(ctx context.Context, dir, name string) (inspected, error) {
	set, err := builtin.Load()
	if err != nil {
		return inspected{}, failureBy(err, "")
	}
	h, err := set.Get(name)
	if err != nil {
		return inspected{}, failureBy(err, "`belay hook list --builtin` lists them.")
	}
	info, err := loader.InspectIn(ctx, trustDir(dir), h.Module, nil, nil)
	if err != nil {
		return inspected{}, failureBy(err, "")
	}
	in := newInspected(info)
	b, err := suggested(dir, h.Name, info.Manifest)
	if err == nil {
		in.Binding, err = hookdoc.Block(b, in.Options)
	}
	if err != nil {
		return inspected{}, failureBy(err, "")
	}
	return in, nil
}

// suggested is the binding of a built-in hook that `belay init` writes, or one with all that its
// manifest asks for. The rules engine is bound by the file of the rules.
func suggested(dir, name string, m *tiers.Manifest) (config.Binding, error) {
	text, err := starter(dir)
	if err != nil {
		return config.Binding{}, err
	}
	f, err := config.Parse([]byte(text))
	if err != nil {
		return config.Binding{}, err
	}
	if i := slices.IndexFunc(f.Hooks, func(b config.Binding) bool { return b.Module == builtinScheme+name }); i >= 0 {
		return f.Hooks[i], nil
	}
	b := config.Binding{Name: name, Module: builtinScheme + name, Capabilities: []string{}}
	b.ConfigFile = builtin.OptionsFile(name)
	b.ConfigFileOptional = b.ConfigFile != ""
	for _, c := range m.Capabilities {
		b.Capabilities = append(b.Capabilities, c.Name)
	}
	if name == rules.Engine {
		b.Name, b.Module = "rules", rules.Scheme+"rules.yaml"
	}
	return b, nil
}

func (a *App) describeOptions(in *inspected) {
	colors := a.palette()
	if in.Unread != "" {
		fmt.Fprintf(a.Out, "\n%s %s\n", colors.yellow("options:"), oneLine(in.Unread, 200))
	} else if len(in.Options) > 0 {
		t := newTable("OPTION", "TYPE", "DEFAULT", "MEANING")
		for _, o := range in.Options {
			text := oneLine(o.DefaultText(), 40)
			if o.Required {
				text = "(must be set)"
			}
			t.row(safe(o.Name), oneLine(o.Type, 100), text, oneLine(o.Meaning, 200))
		}
		fmt.Fprintln(a.Out)
		t.print(a.Out, colors)
	} else if in.Manifest != nil {
		fmt.Fprintln(a.Out, "\nIt takes no options.")
	}
	if in.Binding != "" {
		fmt.Fprintf(a.Out, "\nIn belay.yaml:\nhooks:\n%s", safeLines(in.Binding))
	}
}

// safeLines is safe for a text of several lines.
func safeLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, l := range lines {
		end := strings.TrimSuffix(l, "\n")
		lines[i] = safe(end) + l[len(end):]
	}
	return strings.Join(lines, "")
}
