package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) eventsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "See what was decided, and why",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.eventsTailCmd(), a.eventsShowCmd())
	return cmd
}

type eventsTailOptions struct {
	n      int
	follow bool
	all    bool
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
	f.IntVarP(&o.n, "lines", "n", 20, "how many events to start with")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on printing new events until interrupted")
	f.BoolVar(&o.all, "all", false, "also the turns of single hooks")
	f.BoolVar(&o.json, "json", false, "one JSON object a line")
	return cmd
}

func (a *App) eventsTail(ctx context.Context, o eventsTailOptions) error {
	if o.n < 0 {
		return usageError("--lines cannot be negative", "")
	}
	src, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	q := client.Query{Limit: o.n, Newest: true}
	if !o.all {
		q.Except = phases.EventHook
	}
	events, err := src.Events(ctx, q)
	if err != nil {
		return recordsFailure(err)
	}
	if len(events) == 0 && !o.follow {
		if !o.json {
			fmt.Fprintln(a.Err, "No events yet. `belay eval` records one for every verdict.")
		}
		return nil
	}
	var last int64
	for {
		for _, e := range events {
			if err := a.printEvent(e, o.json); err != nil {
				return err
			}
			last = e.Seq
		}
		if !o.follow {
			return nil
		}
		if f, ok := src.(follower); ok {
			q.Newest, q.Limit, q.After = false, 0, last
			if err := f.Follow(ctx, q, func(e phases.Event) error { return a.printEvent(e, o.json) }); err != nil {
				return recordsFailure(err)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.poll):
		}
		q.Newest, q.Limit, q.After = false, 1000, last
		if events, err = src.Events(ctx, q); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return failureBy(err, "")
		}
	}
}

func (a *App) printEvent(e phases.Event, asJSON bool) error {
	if asJSON {
		b, err := encodeJSON(e, false)
		if err != nil {
			return err
		}
		_, err = a.Out.Write(append(b, '\n'))
		return err
	}
	_, err := fmt.Fprintln(a.Out, a.eventLine(e))
	return err
}

// eventLine is one event at a glance: when, what, decision, by whom, why.
func (a *App) eventLine(e phases.Event) string {
	p := a.palette()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %6d  ", p.faint(e.Time.Local().Format("15:04:05.000")), e.Seq)
	what := string(e.Phase)
	if e.Type != phases.EventVerdict {
		what = strings.TrimSpace(string(e.Type) + " " + what)
	}
	fmt.Fprintf(&b, "%-16s ", what)
	decision := e.Decision
	if decision == "" {
		decision = "-"
	}
	b.WriteString(p.decision(decision) + strings.Repeat(" ", max(0, 10-len(decision))))
	var parts []string
	if e.Tool != "" {
		parts = append(parts, safe(e.Tool))
	}
	if by := e.DecidedBy; by != "" {
		parts = append(parts, "by "+safe(by))
	} else if e.Binding != "" {
		parts = append(parts, safe(e.Binding))
	}
	if e.Kind != "" && e.Kind != phases.KindPolicy {
		parts = append(parts, p.red(string(e.Kind)))
	}
	if e.Enforced == phases.EnforcedLatched {
		parts = append(parts, p.yellow("latched"))
	}
	if len(e.Changed) > 0 {
		parts = append(parts, "changed "+safe(strings.Join(e.Changed, " ")))
	}
	if e.Reason != "" {
		parts = append(parts, oneLine(e.Reason, 100))
	}
	b.WriteString(strings.Join(parts, "  "))
	return strings.TrimRight(b.String(), " ")
}

type eventsShowOptions struct {
	json bool
}

func (a *App) eventsShowCmd() *cobra.Command {
	var o eventsShowOptions
	cmd := &cobra.Command{
		Use:   "show SEQ|ID",
		Short: "Print one event in full, with the turns of its hooks",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("events show takes the number or the id of one event", "`belay events tail` lists the newest.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.eventsShow(cmd.Context(), args[0], o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print the event as JSON")
	return cmd
}

func (a *App) eventsShow(ctx context.Context, ref string, o eventsShowOptions) error {
	src, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	q := client.Query{Limit: 1}
	if seq, err := strconv.ParseInt(ref, 10, 64); err == nil {
		q.After, q.Before = seq-1, seq+1
	} else {
		q.ID = ref
	}
	events, err := src.Events(ctx, q)
	if err != nil {
		return recordsFailure(err)
	}
	if len(events) == 0 {
		return failure(fmt.Sprintf("there is no event %q", safe(ref)), "`belay events tail` lists the newest.")
	}
	e := events[0]
	if o.json {
		return a.printJSON(e)
	}
	a.describeEvent(e)
	if e.Type == phases.EventVerdict && e.Invocation != "" {
		return a.describeTurns(ctx, src, e)
	}
	return nil
}

func (a *App) describeEvent(e phases.Event) {
	p := a.palette()
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.Out, "%s%s %s\n", p.faint(name), strings.Repeat(" ", max(0, 11-len(name))), value)
		}
	}
	field("event", fmt.Sprintf("%d  %s", e.Seq, e.ID))
	field("time", e.Time.Local().Format(time.RFC3339Nano))
	field("type", string(e.Type))
	field("phase", string(e.Phase))
	decision := p.decision(e.Decision)
	if e.DecidedBy != "" {
		decision += "  by " + safe(e.DecidedBy)
	}
	if e.Kind != "" {
		decision += "  (" + string(e.Kind) + ")"
	}
	field("decision", decision)
	field("enforced", string(e.Enforced))
	field("reason", safe(e.Reason))
	field("detail", safe(e.Detail))
	field("tool", safe(e.Tool))
	who := ""
	for _, s := range []string{e.Runtime, e.Session, e.Agent, e.Run, e.User} {
		if s != "" {
			who += " / " + safe(s)
		}
	}
	field("caller", strings.TrimPrefix(who, " / "))
	field("hook", strings.TrimSpace(safe(e.Binding)+" "+safe(e.HookVersion)+" "+string(e.Tier)))
	field("digest", e.HookDigest)
	field("policy", e.PolicyRevision)
	field("input", pretty(e.Input))
	field("output", pretty(e.Output))
	field("changed", safe(strings.Join(e.Changed, " ")))
	field("masked", safe(strings.Join(e.Masked, " ")))
	field("in digest", e.InputDigest)
	field("out digest", e.OutputDigest)
	for _, l := range e.Logs {
		field("log", oneLine(l, 400))
	}
	for _, n := range e.Notes {
		field("note", oneLine(n, 400))
	}
	if e.Fuel > 0 || e.DurationUS > 0 {
		field("cost", fmt.Sprintf("%s fuel, %s memory, %d hostcalls, %s", count(e.Fuel), bytesText(e.MemoryPeak), e.Hostcalls, micros(e.DurationUS)))
	}
}

// describeTurns lists the hooks that ran for the verdict.
func (a *App) describeTurns(ctx context.Context, src records, e phases.Event) error {
	turns, err := src.Events(ctx, client.Query{Invocation: e.Invocation, Type: phases.EventHook, Limit: 1000})
	if err != nil {
		return recordsFailure(err)
	}
	if len(turns) == 0 {
		return nil
	}
	p := a.palette()
	t := newTable("SEQ", "HOOK", "TIER", "PASS", "DECISION", "FUEL", "TIME", "REASON").alignRight(0, 5, 6)
	for _, h := range turns {
		t.row(fmt.Sprint(h.Seq), safe(h.Binding), string(h.Tier), string(h.Pass), p.decision(h.Decision), count(h.Fuel), micros(h.DurationUS), oneLine(h.Reason, 60))
	}
	fmt.Fprintln(a.Out)
	t.print(a.Out, p)
	return nil
}

func pretty(v []byte) string {
	if len(v) == 0 {
		return ""
	}
	return safe(strings.ReplaceAll(indentJSON(v), "\n", "\n             "))
}
