package cli

import (
	"errors"
	"strings"

	"github.com/belay-hooks/belay/internal/hookbuild"
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
	if !compiled {
		return failureBy(err, "")
	}
	return failureBy(err, strings.ReplaceAll(safe(refusal.Next), "\n", "\n  "))
}
