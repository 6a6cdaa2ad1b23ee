package cli

import (
	"errors"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/leases"
)

func (a *App) leaseRevokeCmd() *cobra.Command {
	var prefix bool
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Take a lease back, and everything below it",
		Args: leaseArg("lease revoke takes the id of a lease, or with --prefix the beginning of ids",
			"`belay lease list` prints them."),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.openLender(cmd.Context())
			if err != nil {
				return err
			}
			defer l.Close()
			r := client.LeaseRevoke{ID: args[0]}
			if prefix {
				r = client.LeaseRevoke{Prefix: args[0]}
			}
			if err := l.RevokeLease(cmd.Context(), r); err != nil {
				if errors.Is(err, leases.ErrUnknown) {
					return failure("there is no lease "+safe(args[0]), "`belay lease list --all` prints all that there are.")
				}
				return leaseFailure(err)
			}
			what := "Lease " + safe(args[0]) + " and everything below it"
			if prefix {
				what = "Every lease at or below " + safe(args[0])
			}
			return a.tell(*asJSON, map[string]any{"revoked": r}, a.Err, "%s is taken back, and that is logged.\n", what)
		},
	}
	asJSON = jsonFlag(cmd)
	cmd.Flags().BoolVar(&prefix, "prefix", false,
		"every lease at or below this id, whether there is one of that very id or not")
	return cmd
}
