package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) latchCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latch",
		Short: "See and clear latched sessions",
		Long: `A session is latched when belay blocked an event that its runtime cannot block: by a hook,
by a failure, or as not judged. Every later action of the session is denied until the latch ends.
One of a hook's making ends when a person clears it. One of belay's own making (overload, store,
deadline, stopped) ends with its cause, unless an enforcing hook would have judged the event. An
event that names no session latches the actions that name none.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the latched sessions: kind, scope, since when, which event, what ends it",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.latchList(cmd.Context(), asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	var sign orderFlags
	clearCmd := &cobra.Command{
		Use:   "clear RUNTIME [SESSION]",
		Short: "Let a latched session go on",
		Long: `Clears the latch of one session or, without SESSION, the one that holds a whole runtime.
Where a reviewer is registered it takes the reviewer's signature: the passphrase is asked
for on the terminal, or --statement brings what ` + "`belay reviewer sign latch clear`" + ` wrote.`,
		Args: latchArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.latchClear(cmd.Context(), latchKey(args), sign, asJSON)
		},
	}
	sign.flags(clearCmd.Flags())
	clearCmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(list, clearCmd)
	return cmd
}

func latchArgs(_ *cobra.Command, args []string) error {
	if len(args) != 1 && len(args) != 2 {
		return usageError("latch clear takes the runtime and the session",
			"`belay latch list` prints both; without a session it clears the latch of the whole runtime.")
	}
	return nil
}

func latchKey(args []string) wire.Session {
	key := wire.Session{Runtime: args[0]}
	if len(args) == 2 {
		key.Session = args[1]
	}
	return key
}

func (a *App) latchList(ctx context.Context, asJSON bool) error {
	src, err := a.lookAtRecords(ctx)
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
	table := newTable("RUNTIME", "SESSION", "SCOPE", "SINCE", "KIND", "CAUSE", "ENDED BY", "BY", "REASON")
	for n := range latches {
		l := &latches[n]
		session := safe(l.Session)
		switch l.Scope {
		case "runtime":
			session = "(all)"
		case "unnamed":
			session = "(none)"
		}
		table.row(safe(l.Runtime), session, safe(l.Scope), l.Since.Local().Format(time.DateTime), string(l.Cause),
			safe(cmp.Or(l.Event, l.Invocation)), ending(l), safe(l.DecidedBy), oneLine(l.Reason, 80))
	}
	table.print(a.Out, a.palette())
	return nil
}

func (a *App) latchClear(ctx context.Context, key wire.Session, sign orderFlags, asJSON bool) error {
	src, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	o, err := a.order(sign, func() (wish, error) { return latchWish(ctx, src, key) })
	if err != nil {
		return err
	}
	var refused *client.Error
	switch err := src.ClearLatch(ctx, key, o); {
	case errors.Is(err, kernel.ErrConflict), errors.As(err, &refused) && refused.Code == wire.CodeNotFound:
		return notLatched(key)
	case err != nil:
		return recordsFailure(err)
	}
	return a.tell(asJSON, map[string]any{"cleared": key}, a.Err, "Cleared: %s may go on. That is logged.\n", held(key))
}

func notLatched(key wire.Session) error {
	return failure(held(key)+" is not latched", "`belay latch list` prints the ones that are.")
}

// latchWish is the order that clears the latch as it stands.
func latchWish(ctx context.Context, src records, key wire.Session) (wish, error) {
	st, err := src.Status(ctx)
	if err != nil {
		return wish{}, recordsFailure(err)
	}
	for _, l := range st.Latches {
		if l.Runtime == key.Runtime && l.Session == key.Session {
			text := "Let " + held(key) + " go on. It is latched since " + l.Since.Local().Format(time.DateTime) + ": " +
				oneLine(l.Reason, 300)
			full := kernel.Latch{Runtime: key.Runtime, Session: key.Session, Invocation: l.Invocation, Since: l.Since}
			return wish{verb: queue.VerbLatchClear, store: st.Store, args: full.Order(), text: text}, nil
		}
	}
	return wish{}, notLatched(key)
}

// held says what a latch holds.
func held(key wire.Session) string {
	runtime := safe(key.Runtime)
	if runtime == "" {
		runtime = "callers that name no runtime"
	}
	if key.Session == "" {
		return "every session of " + runtime
	}
	return "session " + safe(key.Session) + " of " + runtime
}

// holds says what a latch holds.
func holds(l *wire.Latch) string {
	key := wire.Session{Runtime: l.Runtime, Session: l.Session}
	if l.Scope == "unnamed" {
		return "what names no session of " + strings.TrimPrefix(held(key), "every session of ")
	}
	return held(key)
}

// ending says what ends a latch.
func ending(l *wire.Latch) string {
	switch l.Ends {
	case phases.EndsWithCause:
		return "its cause, or a person"
	case phases.EndsByJudging:
		return "the verdict on its event, or a person"
	}
	return "a person"
}
