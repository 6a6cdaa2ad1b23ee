package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
)

func (a *App) configCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, restrict and accept the configuration",
		Long: `In system mode the configuration has layers: effective shows them, and user changes yours.

Each revision of belay.yaml and trust.yaml that comes into force without a reviewer's
signature is logged, and doctor warns until a person accepts the configuration.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	var sign orderFlags
	var asJSON *bool
	accept := &cobra.Command{
		Use:   "accept",
		Short: "Say that a person has looked at the configuration in use",
		Long: `Records that a person has looked at the configuration in use; doctor does not warn of
the changes until now any more. It changes nothing that is decided. Where a reviewer is
registered it takes the reviewer's signature: the passphrase is asked for on the
terminal, or --statement brings what ` + "`belay reviewer sign config accept`" + ` wrote.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.configAccept(cmd.Context(), sign, *asJSON) },
	}
	sign.flags(accept.Flags())
	asJSON = jsonFlag(accept)
	cmd.AddCommand(accept, a.configEffectiveCmd(), a.configUserCmd())
	return cmd
}

func (a *App) configAccept(ctx context.Context, sign orderFlags, asJSON bool) error {
	src, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	status, err := src.Status(ctx)
	if err != nil {
		return recordsFailure(err)
	}
	o, err := a.order(sign, func() (wish, error) { return acceptWish(status), nil })
	if err != nil {
		return err
	}
	var refused *client.Error
	switch err := src.AcceptConfig(ctx, status.Revision, o); {
	case errors.Is(err, kernel.ErrConflict), errors.As(err, &refused) && refused.Code == wire.CodeConflict && o == nil:
		return failure("another revision came into force meanwhile", "Look at it, and accept it then.")
	case err != nil:
		return recordsFailure(err)
	}
	return a.tell(asJSON, map[string]any{"accepted": status.Revision}, a.Err, "Accepted: %s. That is logged.\n",
		safe(status.Revision))
}

// acceptWish is the order that accepts the configuration in use.
func acceptWish(st wire.Status) wish {
	text := "Accept the configuration in use."
	if st.Unsigned.Count > 0 {
		text += " " + unsignedRevisions(st.Unsigned) + "."
	}
	return wish{verb: queue.VerbConfigAccept, store: st.Store, args: kernel.ConfigOrder{Revision: st.Revision},
		text: text}
}

// signConfigCmd is `belay reviewer sign config`.
func (a *App) signConfigCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Of the configuration", Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	cmd.AddCommand(a.signVerbCmd("accept", "Sign that the configuration in use was looked at", noArgs,
		func(ctx context.Context, src records, _ []string) (wish, error) {
			st, err := src.Status(ctx)
			if err != nil {
				return wish{}, recordsFailure(err)
			}
			return acceptWish(st), nil
		}))
	return cmd
}
