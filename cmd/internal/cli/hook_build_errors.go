package cli

import (
	"errors"
	"strings"

	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/tiers"
)

// notBuilt says why a hook was not built. A program gets every error with its place, on standard output.
func (a *App) notBuilt(err error, asJSON bool) error {
	var refusal *hookbuild.Refusal
	compiled := errors.As(err, &refusal)
	if asJSON {
		out := map[string]any{"errors": []hookbuild.Diagnostic{{Message: safe(err.Error())}}}
		if compiled {
			out = map[string]any{"errors": refusal.Errors, "compiler": refusal.Program, "output": refusal.Output}
		}
		if err := a.printJSON(out); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(err, tiers.ErrManifest):
		return failureBy(err, "Mend the manifest; `belay schema manifest` prints what it can say.")
	case !compiled:
		return failureBy(err, "docs/HOOKS.md shows a hook from its folder to belay.yaml.")
	}
	return failureBy(err, strings.ReplaceAll(safe(refusal.Next), "\n", "\n  "))
}
