package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/textdiff"
	"github.com/belay-hooks/belay/phases"
)

// guardModule is the hook that keeps an agent from switching belay off.
const guardModule = "builtin:settings-guard"

// guardBinding returns the hook as `belay init` binds it, for a state directory.
func guardBinding(dir string) (config.Binding, error) {
	list, err := ownPaths(dir)
	if err != nil {
		return config.Binding{}, err
	}
	return config.Binding{
		Name: "settings-guard", Module: guardModule, Priority: 90, Via: "queue",
		Capabilities: []string{"block", "request_approval", "shell_parse", "path_resolve", "state_get", "state_put"},
		Config:       jsontext.Value(`{"paths":` + string(list) + `}`),
	}, nil
}

// guardFault says how far a configuration lets an agent switch belay off; "" when a settings guard
// stands in its way. bound: there is a binding, and a person has to look at it.
func guardFault(f *config.File, dir string) (text string, bound bool) {
	for _, h := range f.Hooks {
		if h.Module != guardModule {
			continue
		}
		switch {
		case h.Disabled:
			text = h.Name + " is disabled"
		case h.Mode != "" && h.Mode != phases.Enforce:
			text = h.Name + " only observes"
		case len(h.Phases) > 0 && !slices.Contains(h.Phases, phases.PreTool):
			text = h.Name + " is not bound to pre_tool"
		case !guardsDir(h.Config, dir):
			text = h.Name + " does not protect " + dir
		case h.Via != "queue":
			text = h.Name + " asks in the agent's own prompt, where no reviewer signs (via: queue)"
		default:
			return "", true
		}
		bound = true
	}
	if !bound {
		text = "no settings guard is bound"
	}
	return text, bound
}

// guardsDir reports whether a guard's configuration names the state directory.
func guardsDir(raw jsontext.Value, dir string) bool {
	var c struct {
		Paths []string `json:"paths"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &c) != nil {
		return false
	}
	return slices.ContainsFunc(c.Paths, func(p string) bool { return realName(p) == realName(dir) })
}

const guardAdvice = "An agent can switch belay off by its runtime's settings, or by belay's own files. "

// examineGuard is what doctor says of the guard where a runtime is connected.
func (a *App) examineGuard(dir string, f *config.File) *finding {
	found, err := a.findRuntimes()
	connected := err == nil && slices.ContainsFunc(found, func(f foundRuntime) bool { return len(f.Connected) > 0 })
	text, bound := guardFault(f, absolute(dir))
	switch {
	case text == "" && bound:
		return &finding{Check: "settings guard", Status: "ok",
			Text: "bound: an agent's changes of settings wait for a person"}
	case !connected:
		return nil
	case bound:
		return &finding{Check: "settings guard", Status: "warn", Red: true, Text: text,
			Advice: guardAdvice + "Mend it in belay.yaml."}
	}
	return &finding{Check: "settings guard", Status: "warn", Red: true, Text: text,
		Advice: guardAdvice + "`belay doctor --fix` binds it."}
}

// doctorGuard offers to bind the guard where a runtime is connected.
func (a *App) doctorGuard(ctx context.Context, yes bool) error {
	found, err := a.findRuntimes()
	if err != nil || !slices.ContainsFunc(found, func(f foundRuntime) bool { return len(f.Connected) > 0 }) {
		return nil // doctor says what is wrong with the runtimes
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	_, err = a.offerGuard(ctx, dir, yes)
	return err
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// guardOffer is how an offer to bind the guard ended.
type guardOffer string

const (
	guardBound   guardOffer = "bound"   // it was there
	guardAdded   guardOffer = "added"   // it was bound now
	guardMissing guardOffer = "missing" // it is not bound, or not as it protects
)

// offerGuard binds the settings guard in a belay.yaml that was made before there was one: it shows the
// edit, asks, and writes exactly what it showed. A binding that is there is left alone. What it says
// goes to standard error.
func (a *App) offerGuard(ctx context.Context, dir string, yes bool) (guardOffer, error) {
	dir = absolute(dir)
	shown, err := config.ReadFile(dir)
	if err != nil {
		return guardMissing, failureBy(err, "")
	}
	f, err := config.Parse(shown)
	if err != nil {
		return guardMissing, failureBy(err, "")
	}
	text, bound := guardFault(f, dir)
	if bound {
		if text != "" {
			fmt.Fprintf(a.Err, "%s %s. %sMend it in %s.\n", a.palette().red("warn"), safe(text), guardAdvice,
				safe(filepath.Join(dir, config.FileName)))
			return guardMissing, nil
		}
		return guardBound, nil
	}
	b, err := guardBinding(dir)
	if err != nil {
		return guardMissing, failureBy(err, "")
	}
	edited, err := config.AddBinding(shown, b)
	if err != nil {
		return guardMissing, failureBy(err, "Bind "+guardModule+" by hand; `belay init` in another directory shows how.")
	}
	fmt.Fprintf(a.Err, "\nNo settings guard is bound in %s. %s\n", safe(filepath.Join(dir, config.FileName)), guardAdvice)
	for _, l := range textdiff.Near(textdiff.Lines(linesOf(shown), linesOf(edited)), 3) {
		fmt.Fprintf(a.Err, "  %c %s\n", l.Op, safe(l.Text))
	}
	if !yes {
		if in, ok := a.In.(*os.File); !ok || !isTerminal(in) {
			fmt.Fprintln(a.Err, "With --yes, or at a terminal, belay binds it.")
			return guardMissing, nil
		}
		if err := a.confirmOr("belay would bind the settings guard as the lines with + say.", ""); err != nil {
			fmt.Fprintln(a.Err, "The settings guard was not bound.")
			return guardMissing, nil
		}
	}
	err = config.EditFile(dir, func(src []byte) ([]byte, error) {
		if !bytes.Equal(src, shown) {
			return nil, failure("belay.yaml was changed meanwhile", "The settings guard was not bound; run it again.")
		}
		return edited, nil
	})
	if err != nil {
		return guardMissing, failureBy(err, "")
	}
	fmt.Fprintln(a.Err, "The settings guard is bound.")
	return guardAdded, a.tellDaemon(ctx)
}
