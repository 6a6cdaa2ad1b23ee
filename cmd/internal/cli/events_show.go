package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/export"
	"github.com/belay-hooks/belay/phases"
)

type eventsShowOptions struct {
	json bool
}

func (a *App) eventsShowCmd() *cobra.Command {
	var o eventsShowOptions
	cmd := &cobra.Command{
		Use:   "show SEQ|ID",
		Short: "Print one event in full: what changed, and the turns of its hooks",
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

func (a *App) eventsShow(ctx context.Context, ref string, options eventsShowOptions) error {
	src, err := a.openEvents(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	q := wire.Query{Limit: 1}
	if seq, err := strconv.ParseInt(ref, 10, 64); err == nil && seq > 0 {
		q.After, q.Before = seq-1, seq+1
	} else {
		q.ID = ref
	}
	events, err := src.Events(ctx, q)
	if err != nil {
		return recordsFailure(err)
	}
	if len(events) == 0 {
		if err := a.ifCompacted(ctx, src, q); err != nil {
			return err
		}
		return failure(fmt.Sprintf("there is no event %q", safe(ref)), "`belay events tail` lists the newest.")
	}
	event := events[0]
	if options.json {
		b, err := export.JSON(&event)
		if err != nil {
			return failureBy(err, "")
		}
		if a.Terminal {
			b = []byte(indentJSON(b))
		}
		_, err = a.Out.Write(append(b, '\n'))
		return err
	}
	a.describeEvent(event)
	if event.Type == phases.EventVerdict && event.Invocation != "" {
		return a.describeTurns(ctx, src, event)
	}
	return nil
}

const fieldWidth = 12

// field prints a name and a value, which is made safe. A value of several lines is
// set in, so that no line of it can be taken for a field.
func (a *App) field(name, value string) {
	if value != "" {
		a.rawField(name, safe(value))
	}
}

func (a *App) rawField(name, value string) {
	pad := strings.Repeat(" ", fieldWidth)
	fmt.Fprintf(a.Out, "%s%s%s\n", a.palette().faint(name), pad[:max(1, fieldWidth-len(name))],
		strings.ReplaceAll(value, "\n", "\n"+pad))
}

func (a *App) describeEvent(event phases.Event) {
	p := a.palette()
	a.field("event", fmt.Sprintf("%d  %s", event.Seq, event.ID))
	a.field("time", event.Time.Local().Format(time.RFC3339Nano))
	a.field("type", string(event.Type))
	a.field("phase", string(event.Phase))
	if event.Decision != "" {
		decision := p.decision(oneLine(event.Decision, 40))
		if event.DecidedBy != "" {
			decision += "  by " + oneLine(event.DecidedBy, 100)
		}
		if event.Kind != "" {
			decision += "  (" + oneLine(string(event.Kind), 40) + ")"
		}
		a.rawField("decision", decision)
	}
	a.field("enforced", string(event.Enforced))
	a.field("reason", event.Reason)
	a.field("detail", event.Detail)
	a.field("tool", event.Tool)
	var who []string
	for _, s := range []string{event.Runtime, event.Session, event.Agent, event.Run, event.User} {
		if s != "" {
			who = append(who, s)
		}
	}
	a.field("caller", strings.Join(who, " / "))
	a.field("invocation", event.Invocation)
	a.field("trace", event.Traceparent)
	a.field("hook", strings.TrimSpace(event.Binding+" "+event.HookVersion+" "+string(event.Tier)))
	a.field("digest", event.HookDigest)
	a.field("signer", event.Signer)
	a.field("policy", event.PolicyRevision)
	a.describeChanges(&event)
	if len(event.Input) > 0 {
		a.field("input", indentJSON(event.Input))
	}
	if len(event.Output) > 0 {
		a.field("output", indentJSON(event.Output))
	}
	a.field("masked", strings.Join(event.Masked, " "))
	a.field("in digest", event.InputDigest)
	a.field("out digest", event.OutputDigest)
	for _, l := range event.Logs {
		a.field("log", oneLine(l, 400))
	}
	for _, n := range event.Notes {
		a.field("note", oneLine(n, 400))
	}
	if event.Fuel > 0 || event.DurationUS > 0 {
		a.field("cost",
			fmt.Sprintf("%s fuel, %s memory, %d hostcalls, %s", count(event.Fuel), bytesText(event.MemoryPeak), event.Hostcalls,
				micros(event.DurationUS)))
	}
}

// describeChanges shows every changed member of the action before and after.
func (a *App) describeChanges(e *phases.Event) {
	for _, ptr := range e.Changed {
		at := ptr
		if at == "" {
			at = "the whole action"
		}
		before, after, ok := change(e, ptr)
		if !ok {
			a.field("changed", at+" (the values are not stored)")
			continue
		}
		a.field("changed", at)
		a.printDiff(valueLines(before), valueLines(after), 2)
	}
}

// valueLines is a value as lines to compare: a text of several lines as they are,
// everything else as indented JSON. An absent value has none.
func valueLines(v jsontext.Value) []string {
	if v == nil {
		return nil
	}
	if text := plainValue(v); v.Kind() == '"' && strings.Contains(strings.TrimSuffix(text, "\n"), "\n") {
		return strings.Split(text, "\n")
	}
	return strings.Split(indentJSON(v), "\n")
}

// describeTurns lists the hooks that ran for the verdict.
func (a *App) describeTurns(ctx context.Context, src events, e phases.Event) error {
	turns, err := src.Events(ctx, wire.Query{Invocation: e.Invocation, Type: phases.EventHook, Limit: 1000})
	if err != nil {
		return recordsFailure(err)
	}
	if len(turns) == 0 {
		return nil
	}
	p := a.palette()
	t := newTable("SEQ", "HOOK", "TIER", "PASS", "DECISION", "FUEL", "TIME", "REASON").alignRight(0, 5, 6)
	for _, h := range turns {
		t.row(fmt.Sprint(h.Seq), oneLine(h.Binding, 40), oneLine(string(h.Tier), 12), oneLine(string(h.Pass), 12),
			p.decision(oneLine(h.Decision, 12)),
			count(h.Fuel), micros(h.DurationUS), oneLine(h.Reason, 60))
	}
	fmt.Fprintln(a.Out)
	t.print(a.Out, p)
	return nil
}
