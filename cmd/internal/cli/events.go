package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/export"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) eventsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "See what was decided, and why",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.eventsTailCmd(), a.eventsQueryCmd(), a.eventsShowCmd(), a.eventsExportCmd(), a.eventsVerifyCmd(),
		a.eventsReportCmd(), a.eventsReconcileCmd(), a.eventsProveCmd(), a.eventsCompactCmd(), a.eventsKeyCmd())
	return cmd
}

type eventsTailOptions struct {
	eventFilter
	n      int
	follow bool
	json   bool
	poll   time.Duration
}

func (a *App) eventsTailCmd() *cobra.Command {
	o := eventsTailOptions{poll: 500 * time.Millisecond}
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print the newest events, one line a verdict",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.eventsTail(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.IntVarP(&o.n, "lines", "n", 20, "how many events to start with; with --follow also 0")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on printing new events until interrupted")
	f.BoolVar(&o.all, "all", false, "also the turns of single hooks")
	f.BoolVar(&o.json, "json", false, "one JSON object a line")
	o.flags(f)
	return cmd
}

func (a *App) eventsTail(ctx context.Context, options eventsTailOptions) error {
	if err := checkLimit("--lines", options.n); err != nil && !(options.n == 0 && options.follow) {
		return err
	}
	query, err := options.query(time.Now())
	if err != nil {
		return err
	}
	src, err := a.openEvents(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	query.Limit, query.Newest = max(1, options.n), true
	events, err := src.Events(ctx, query)
	if err != nil {
		return recordsFailure(err)
	}
	var last int64
	if options.n == 0 && len(events) > 0 {
		last, events = events[0].Seq, nil
	}
	if len(events) == 0 && !options.follow {
		if !options.json {
			text := "No events yet. `belay eval` records one for every verdict."
			if options.eventFilter != (eventFilter{all: options.all}) {
				text = "No event matches."
			}
			fmt.Fprintln(a.Err, text)
		}
		return nil
	}
	for {
		for _, e := range events {
			if err := a.printEvent(e, options.json); err != nil {
				return err
			}
			last = e.Seq
		}
		if !options.follow {
			return nil
		}
		if f, ok := src.(follower); ok {
			query.Newest, query.Limit, query.After = false, 0, last
			if err := f.Follow(ctx, query, func(e phases.Event) error { return a.printEvent(e, options.json) }); err != nil {
				return recordsFailure(err)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(options.poll):
		}
		query.Newest, query.Limit, query.After = false, 1000, last
		if events, err = src.Events(ctx, query); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return failureBy(err, "")
		}
	}
}

func (a *App) printEvent(e phases.Event, asJSON bool) error {
	if asJSON {
		b, err := export.JSON(&e)
		if err != nil {
			return failureBy(err, "")
		}
		_, err = a.Out.Write(append(b, '\n'))
		return err
	}
	_, err := fmt.Fprintln(a.Out, a.eventLine(e))
	return err
}

// eventLine is one event at a glance: when, where, the decision, about what, by
// whom and why, and what has become of the action.
func (a *App) eventLine(event phases.Event) string {
	colors := a.palette()
	var text strings.Builder
	fmt.Fprintf(&text, "%s %6d  ", colors.faint(event.Time.Local().Format("15:04:05.000")), event.Seq)
	where := string(event.Phase)
	if event.Type != phases.EventVerdict {
		where = strings.TrimSpace(string(event.Type) + " " + where)
	}
	fmt.Fprintf(&text, "%-16s ", oneLine(where, 32))
	decision := oneLine(event.Decision, 12)
	if decision == "" {
		decision = "-"
	}
	text.WriteString(colors.decision(decision) + strings.Repeat(" ", max(0, 9-len(decision))))
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	by := event.DecidedBy
	if event.Type == phases.EventHook {
		by = ""
		add(oneLine(event.Binding, 40))
	} else {
		add(oneLine(glance(&event), 60))
	}
	if event.Kind != "" && event.Kind != phases.KindPolicy {
		add(colors.red(oneLine(string(event.Kind), 12)))
	}
	if event.Enforced == phases.EnforcedLatched {
		add(colors.yellow("latched"))
	}
	reason := oneLine(event.Reason, 100)
	if by = oneLine(by, 40); by != "" {
		by = "by " + by
		if reason != "" {
			by += ": "
		}
	}
	add(by + reason)
	for _, s := range became(&event) {
		add(colors.paint("36", oneLine(s, 110)))
	}
	if event.Type == phases.EventVerdict && event.DurationUS > 0 {
		add(colors.faint(micros(event.DurationUS)))
	}
	text.WriteString(strings.Join(parts, "  "))
	return strings.TrimRight(text.String(), " ")
}
