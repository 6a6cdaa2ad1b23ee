package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
)

type eventsCompactOptions struct {
	before            string
	keep              int
	why               string
	dryRun, yes, json bool
	sign              orderFlags
}

func (a *App) eventsCompactCmd() *cobra.Command {
	var options eventsCompactOptions
	cmd := &cobra.Command{
		Use:   "compact {--before TIME | --keep DAYS}",
		Short: "Remove the contents of old events; the log stays provable",
		Long: `compact removes the contents of all events before the first one that is not older. It
verifies the log first and removes nothing from one that is wrong. A statement in the log, which
the checkpoint key signs, announces the removal. The hashes of the events stay. So events verify
tells a compaction from a deletion. Every checkpoint ever given out still counts, and earlier
exports can still be compared.

Events younger than 48 hours are never removed: questions, decisions and statements rest
on them. events.compaction.min_age in belay.yaml can raise that.

Where a reviewer is registered, it takes the reviewer's signature. It asks for the passphrase on
the terminal, or --statement brings what ` + "`belay reviewer sign events compact`" + ` wrote. The
statement says up to which number; --before and --keep are left out then.

The contents themselves are gone for good. Export them first, if they may be asked for:
  belay events export --until TIME --output old.jsonl`,
		Example: `  belay events compact --keep 90 --dry-run
  belay events export --until 90d --output old.jsonl && belay events compact --keep 90 --yes
  belay events compact --before 2026-01-01 --why "one year is enough"`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.eventsCompact(cmd.Context(), options) },
	}
	f := cmd.Flags()
	f.StringVar(&options.before, "before", "", "remove what is older than this: RFC 3339, a date, or how long ago (90d)")
	f.IntVar(&options.keep, "keep", 0, "remove what is older than so many days")
	f.StringVar(&options.why, "why", "", "why, for the record")
	f.BoolVar(&options.dryRun, "dry-run", false, "verify, and say what would be removed")
	f.BoolVar(&options.yes, "yes", false, "do not ask")
	f.BoolVar(&options.json, "json", false, "print JSON")
	options.sign.flags(f)
	return cmd
}

func (o *eventsCompactOptions) compaction(now time.Time) (client.Compaction, error) {
	const hint = "Say --before TIME, --keep DAYS or --statement FILE, one of them."
	compaction := client.Compaction{Why: o.why, DryRun: o.dryRun}
	switch {
	case o.sign.statement != "" && o.before == "" && o.keep == 0:
		return compaction, nil
	case o.sign.statement != "" || (o.before == "") == (o.keep == 0):
		return compaction, usageError("events compact takes how much to keep", hint)
	case o.keep < 0 || o.keep > 36_500:
		return compaction, usageError("--keep takes 1 to 36500 days", "")
	case o.keep > 0:
		compaction.Before = now.Add(-time.Duration(o.keep) * 24 * time.Hour)
		return compaction, nil
	}
	var err error
	compaction.Before, err = instant("--before", o.before, now)
	return compaction, err
}

func (a *App) eventsCompact(ctx context.Context, options eventsCompactOptions) error {
	compaction, err := options.compaction(time.Now())
	if err != nil {
		return err
	}
	src, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	if options.sign.statement != "" {
		if compaction.Statement, err = a.readOrder(options.sign.statement); err != nil {
			return err
		}
	}
	var would wire.Compacted
	if !options.dryRun {
		ask := compaction
		ask.DryRun = true
		if would, err = src.Compact(ctx, ask); err != nil {
			return recordsFailure(err)
		}
		if would.Events == 0 {
			would.DryRun = false
			return a.printCompacted(would, options)
		}
	}
	if !options.dryRun && !options.yes {
		if err := a.confirm(fmt.Sprintf("The contents of %s events, up to number %d, would be gone for good.",
			count(would.Events), would.Through)); err != nil {
			return err
		}
	}
	if !options.dryRun && compaction.Statement == nil {
		compaction.Statement, err = a.order(options.sign, func() (wish, error) { return compactWish(ctx, src, would) })
		if err != nil {
			return err
		}
		if compaction.Statement != nil {
			compaction.Before = time.Time{} // the statement says which events
		}
	}
	r, err := src.Compact(ctx, compaction)
	if err != nil {
		return recordsFailure(err)
	}
	return a.printCompacted(r, options)
}

// compactWish is the order that removes what a dry run would have removed.
func compactWish(ctx context.Context, src records, would wire.Compacted) (wish, error) {
	st, err := src.Status(ctx)
	if err != nil {
		return wish{}, recordsFailure(err)
	}
	text := fmt.Sprintf("Remove the contents of %s events, up to number %d, for good.", count(would.Events), would.Through)
	return wish{verb: queue.VerbCompact, store: st.Store, args: kernel.CompactOrder{Through: would.Through},
		text: text}, nil
}

func (a *App) printCompacted(r wire.Compacted, o eventsCompactOptions) error {
	switch {
	case o.json:
		return a.printJSON(r)
	case r.Events == 0:
		fmt.Fprintln(a.Out, "No event is that old and has its contents: nothing was removed.")
	case r.DryRun:
		fmt.Fprintf(a.Out, "The contents of %s events, up to number %d, would be removed. The log is sound.\n",
			count(r.Events), r.Through)
	default:
		fmt.Fprintf(a.Out, "The contents of %s events, up to number %d, were removed. Event %d announces it.\n",
			count(r.Events), r.Through, r.Event)
	}
	return nil
}

// confirm asks a person; without one, it is a refusal.
func (a *App) confirm(what string) error { return a.confirmOr(what, "nothing was removed") }

// confirmOr is confirm; declined says what a no leaves.
func (a *App) confirmOr(what, declined string) error {
	in, ok := a.In.(*os.File)
	if !ok || !isTerminal(in) {
		return failure(what+" There is no terminal to ask on", "With --yes the command asks no question.")
	}
	fmt.Fprintf(a.Err, "%s\nType yes to go on: ", what)
	answer, err := bufio.NewReader(io.LimitReader(in, 256)).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return failure(declined, "")
	}
	return nil
}

// ifCompacted says so when the event with the requested number has been
// compacted.
func (a *App) ifCompacted(ctx context.Context, src events, q wire.Query) error {
	gone, by, err := src.Compacted(ctx)
	if err != nil || gone == 0 || q.ID == "" && q.Before > gone+1 {
		return nil
	}
	if q.ID != "" {
		return failure(
			fmt.Sprintf("there is no event %q now, but events 1 to %d were compacted, and it may have been one of them",
				safe(q.ID), gone),
			fmt.Sprintf("`belay events show %d` says when and why. What was exported before has it.", by))
	}
	return failure(fmt.Sprintf("event %d was compacted: its contents are gone, its hash is kept", q.Before-1),
		fmt.Sprintf(
			"`belay events show %d` says when and why. A copy that was exported before is checked with `belay events verify --against FILE`.", by))
}
