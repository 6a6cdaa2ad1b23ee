package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/phases"
)

type eventsQueryOptions struct {
	eventFilter
	limit int
	json  bool
}

func (a *App) eventsQueryCmd() *cobra.Command {
	var options eventsQueryOptions
	cmd := &cobra.Command{
		Use:   "query",
		Short: "Find events by time, phase, decision, kind, hook, tool, agent or session",
		Long: `query prints the events that match all the flags, oldest first: the newest ones
when there are more than --limit. Turns of hooks are left out unless --hook,
--type hook or --all asks for them.`,
		Example: `  belay events query --decision block --since 2h
  belay events query --hook command-guard --since 7d
  belay events query --kind fuel --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.eventsQuery(cmd.Context(), options) },
	}
	options.flags(cmd.Flags())
	cmd.Flags().BoolVar(&options.all, "all", false, "also the turns of single hooks")
	cmd.Flags().IntVarP(&options.limit, "limit", "n", 100, "how many at most")
	cmd.Flags().BoolVar(&options.json, "json", false, "one JSON object a line")
	return cmd
}

func (a *App) eventsQuery(ctx context.Context, options eventsQueryOptions) error {
	query, err := options.query(time.Now())
	if err != nil {
		return err
	}
	if err := checkLimit("--limit", options.limit); err != nil {
		return err
	}
	src, err := a.openEvents(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	query.Limit, query.Newest = options.limit, true
	events, err := src.Events(ctx, query)
	if err != nil {
		return recordsFailure(err)
	}
	if options.json {
		for _, e := range events {
			if err := a.printEvent(e, true); err != nil {
				return err
			}
		}
		return nil
	}
	if len(events) == 0 {
		fmt.Fprintln(a.Err, "No event matches.")
	} else {
		a.printEvents(events)
	}
	if gone, _, err := src.Compacted(ctx); err == nil && len(events) < options.limit && query.After < gone {
		fmt.Fprintf(a.Err, "Events 1 to %d were compacted: their contents are gone and were not searched.\n", gone)
	}
	if len(events) == options.limit {
		fmt.Fprintf(a.Err,
			"These are the newest %s; there may be more. --limit shows more, `belay events export` writes them all.\n",
			count(int64(options.limit)))
	}
	return nil
}

// printEvents prints a table for people.
func (a *App) printEvents(events []phases.Event) {
	colors := a.palette()
	table := newTable("SEQ", "TIME", "PHASE", "DECISION", "BY", "KIND", "SESSION", "WHAT", "WHY").alignRight(0)
	for _, event := range events {
		by := event.DecidedBy
		if event.Type == phases.EventHook {
			by = event.Binding
		}
		why := event.Reason
		if why == "" {
			why = strings.Join(became(&event), ", ")
		}
		phase := oneLine(string(event.Phase), 20)
		if event.Type != phases.EventVerdict {
			phase = oneLine(string(event.Type)+" "+string(event.Phase), 28)
		}
		kind := event.Kind
		if kind == phases.KindPolicy {
			kind = ""
		}
		table.row(fmt.Sprint(event.Seq), event.Time.Local().Format(time.DateTime), phase,
			colors.decision(oneLine(event.Decision, 12)),
			oneLine(by, 24),
			oneLine(string(kind), 10), oneLine(event.Session, 16), oneLine(glance(&event), 40), oneLine(why, 60))
	}
	table.print(a.Out, colors)
}
