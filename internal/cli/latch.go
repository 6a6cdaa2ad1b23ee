package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/kernel"
)

func (a *App) latchCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latch",
		Short: "See and clear latched sessions",
		Long: `A session is latched when a hook blocked, or failed, at an event that its runtime
cannot block. Every later action of the session is denied until an operator clears it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the latched sessions",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.latchList(cmd.Context(), asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	clearCmd := &cobra.Command{
		Use:   "clear RUNTIME SESSION",
		Short: "Let a latched session go on",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError("latch clear takes the runtime and the session", "`belay latch list` prints both.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.latchClear(cmd.Context(), client.Session{Runtime: args[0], Session: args[1]})
		},
	}
	cmd.AddCommand(list, clearCmd)
	return cmd
}

func (a *App) latchList(ctx context.Context, asJSON bool) error {
	src, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	latches, err := src.Latches(ctx)
	if err != nil {
		return recordsFailure(err)
	}
	if asJSON {
		return a.printJSON(latches)
	}
	if len(latches) == 0 {
		fmt.Fprintln(a.Err, "No session is latched.")
		return nil
	}
	t := newTable("RUNTIME", "SESSION", "SINCE", "KIND", "BY", "REASON")
	for _, l := range latches {
		t.row(safe(l.Runtime), safe(l.Session), l.Since.Local().Format(time.DateTime), string(l.Kind), safe(l.DecidedBy), oneLine(l.Reason, 80))
	}
	t.print(a.Out, a.palette())
	return nil
}

func (a *App) latchClear(ctx context.Context, key client.Session) error {
	src, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	var refused *client.Error
	switch err := src.ClearLatch(ctx, key); {
	case errors.Is(err, kernel.ErrConflict), errors.As(err, &refused) && refused.Code == client.CodeNotFound:
		return failure(fmt.Sprintf("session %q of %q is not latched", safe(key.Session), safe(key.Runtime)), "`belay latch list` prints the ones that are.")
	case err != nil:
		return recordsFailure(err)
	}
	fmt.Fprintf(a.Err, "Session %s of %s may go on. The clearing is on record.\n", safe(key.Session), safe(key.Runtime))
	return nil
}
