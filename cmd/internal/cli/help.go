package cli

import "github.com/spf13/cobra"

// helpCmd is `belay help COMMAND`. For a command that there is not it fails as that command does: cobra's own prints
// the help of belay and ends with 0.
func (a *App) helpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 && found.HasAvailableSubCommands() {
				return noArgs(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
