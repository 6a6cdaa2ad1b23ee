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
	var o eventsQueryOptions
	cmd := &cobra.Command{
		Use:   "query",
		Short: "Find events by time, phase, decision, kind, hook, tool, agent or session",
		Long: `query prints the events that match all the flags, oldest first: the newest ones
when there are more than --limit. Turns of hooks are left out unless --hook,
--type hook or --all asks for them.`,
		Example: `  belay events query --decision block --since 2h
  belay events query --hook command-block --since 7d
  belay events query --kind fuel --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.eventsQuery(cmd.Context(), o) },
	}
	o.flags(cmd.Flags())
	cmd.Flags().BoolVar(&o.all, "all", false, "also the turns of single hooks")
	cmd.Flags().IntVarP(&o.limit, "limit", "n", 100, "how many at most")
	cmd.Flags().BoolVar(&o.json, "json", false, "one JSON object a line")
	return cmd
}

func (a *App) eventsQuery(ctx context.Context, o eventsQueryOptions) error {
	q, err := o.query(time.Now())
	if err != nil {
		return err
	}
	if err := checkLimit("--limit", o.limit); err != nil {
		return err
	}
	src, err := a.openEvents(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	q.Limit, q.Newest = o.limit, true
	events, err := src.Events(ctx, q)
	if err != nil {
		return recordsFailure(err)
	}
	if o.json {
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
	if gone, _, err := src.Compacted(ctx); err == nil && len(events) < o.limit && q.After < gone {
		fmt.Fprintf(a.Err, "Events 1 to %d were compacted: their contents are gone and were not searched.\n", gone)
	}
	if len(events) == o.limit {
		fmt.Fprintf(a.Err,
			"These are the newest %s; there may be more. --limit shows more, `belay events export` writes them all.\n",
			count(int64(o.limit)))
	}
	return nil
}

// printEvents prints a table for people.
func (a *App) printEvents(events []phases.Event) {
	p := a.palette()
	t := newTable("SEQ", "TIME", "PHASE", "DECISION", "BY", "KIND", "SESSION", "WHAT", "WHY").alignRight(0)
	for _, e := range events {
		by := e.DecidedBy
		if e.Type == phases.EventHook {
			by = e.Binding
		}
		why := e.Reason
		if why == "" {
			why = strings.Join(became(&e), ", ")
		}
		phase := oneLine(string(e.Phase), 20)
		if e.Type != phases.EventVerdict {
			phase = oneLine(string(e.Type)+" "+string(e.Phase), 28)
		}
		kind := e.Kind
		if kind == phases.KindPolicy {
			kind = ""
		}
		t.row(fmt.Sprint(e.Seq), e.Time.Local().Format(time.DateTime), phase, p.decision(oneLine(e.Decision, 12)),
			oneLine(by, 24),
			oneLine(string(kind), 10), oneLine(e.Session, 16), oneLine(glance(&e), 40), oneLine(why, 60))
	}
	t.print(a.Out, p)
}
