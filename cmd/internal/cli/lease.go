package cli

import (
	"github.com/spf13/cobra"
)

func (a *App) leaseCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "lease",
		Aliases: []string{"leases"},
		Short:   "See, lend and take back what agents may do for a while",
		Long: `A lease lends one agent of one session a capability, for a scope, a time and a number
of uses. Hooks lend them, and people do here. Everything below an id goes with it when
it is taken back.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.leaseListCmd(), a.leaseShowCmd(), a.leaseMintCmd(), a.leaseRevokeCmd(), a.leaseCheckCmd(),
		a.leaseVerifyCmd())
	return cmd
}

// leaseArg wants one argument, and says what to do without.
func leaseArg(text, hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError(text, hint)
		}
		return nil
	}
}
