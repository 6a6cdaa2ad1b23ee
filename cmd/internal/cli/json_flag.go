package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// jsonFlag adds --json, which every command has.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON")
}

// alwaysJSON adds --json to a command that prints JSON without it, so that a script can
// give the flag to each.
func alwaysJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().Bool("json", false, "print JSON, as it does without the flag")
	return cmd
}

// tell prints what a command did: JSON on standard output, or a text for people on w.
func (a *App) tell(asJSON bool, v any, w io.Writer, format string, args ...any) error {
	if asJSON {
		return a.printJSON(v)
	}
	_, err := fmt.Fprintf(w, format, args...)
	return err
}
