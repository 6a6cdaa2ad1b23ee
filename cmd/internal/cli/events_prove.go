package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func (a *App) eventsProveCmd() *cobra.Command {
	return alwaysJSON(&cobra.Command{
		Use:   "prove SEQ",
		Short: "Print a proof that one event is in the log",
		Long: `prove prints the event with its path to the root of a checkpoint that is signed now.
` + "`belay events verify --proof FILE --key KEY`" + ` checks it on any machine, without the database.`,
		Example: `  belay events prove 17 > 17.proof`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("events prove takes the number of one event", "`belay events tail` prints them.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.eventsProve(cmd.Context(), args[0]) },
	})
}

func (a *App) eventsProve(ctx context.Context, arg string) error {
	seq, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || seq < 1 {
		return usageError("the number of an event is 1 or more", "`belay events tail` prints them.")
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	log, err := a.openLog(ctx, dir)
	if err != nil {
		return err
	}
	defer log.Close()
	p, err := log.Prove(ctx, seq)
	if err != nil && strings.HasSuffix(err.Error(), fmt.Sprintf("there is no event %d", seq)) {
		return failure(fmt.Sprintf("there is no event %d", seq), "`belay events tail` prints the numbers of the newest.")
	}
	if err != nil {
		return failureBy(err, "`belay events verify` says whether the log is sound.")
	}
	return a.printJSON(p)
}
