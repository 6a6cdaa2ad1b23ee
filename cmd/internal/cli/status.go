package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) statusCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Is belay ready, which hooks are bound, which sessions are latched",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.status(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) status(ctx context.Context, asJSON bool) error {
	src, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	st, err := src.Status(ctx)
	if err != nil {
		return recordsFailure(err)
	}
	sessions, err := unstartedSessionsOf(ctx, src, st.Gone, time.Now())
	if err != nil {
		return recordsFailure(err)
	}
	if asJSON {
		out := struct {
			wire.Status
			// sessions of the last day whose start never reached belay
			Unstarted []unstarted `json:"unstarted_sessions,omitzero"`
		}{st, sessions}
		if err := a.printJSON(out); err != nil {
			return err
		}
		return readiness(&st)
	}
	p := a.palette()
	health := p.green("ready")
	if !st.Healthy {
		health = p.red("NOT READY: every action is blocked")
	} else if len(st.Latches) > 0 {
		health = p.red("NOT READY: " + plural(len(st.Latches), "session") + " latched")
	} else if st.Health == wire.HealthDegraded {
		health = p.yellow("ready, degraded: a sink that is not durable fails")
	}
	fmt.Fprintf(a.Out, "%s\n\n", health)
	config, trust, _ := strings.Cut(st.Revision, "+")
	fmt.Fprintf(a.Out, "state    %s\nconfig   %s\ntrust    %s\nevents   %s\nengine   %s\n", safe(st.Dir), safe(config),
		safe(cmp.Or(trust, "no signer")), count(st.LastSeq), engineLine(st))
	fmt.Fprintf(a.Out, "daemon   %s\n", daemonLine(st.Daemon))
	for _, k := range st.Sinks {
		a.printSink(k)
	}
	for _, pr := range st.Problems {
		fmt.Fprintf(a.Out, "%s  %s\n", p.red("problem"), safe(pr))
	}
	for _, w := range st.Warnings {
		fmt.Fprintf(a.Out, "%s  %s\n", p.yellow("warning"), safe(w))
	}
	hooks, err := src.Hooks(ctx)
	if err != nil {
		return recordsFailure(err)
	}
	if st.Healthy || len(hooks) > 0 {
		fmt.Fprintln(a.Out)
		if err := a.printBindings(hooks, false); err != nil {
			return err
		}
	}
	for n := range st.Latches {
		l := &st.Latches[n]
		fmt.Fprintf(a.Out, "\n%s  %s: %s\n", p.red("latched"), holds(l), oneLine(l.Reason, 120))
		fmt.Fprintf(a.Out, "  kind %s since %s, event %s; ended by %s\n", l.Cause, l.Since.Local().Format(time.DateTime),
			safe(cmp.Or(l.Event, "not recorded")), ending(l))
		fmt.Fprintf(a.Out, "  %s\n", wire.Session{Runtime: l.Runtime, Session: l.Session}.ClearCommand())
	}
	for _, u := range sessions {
		fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", p.red("NOT SEEN TO START"), unstartedText(u), unstartedAdvice)
	}
	if st.Unheld > 0 {
		fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", p.yellow("not held"), unheld(st.Unheld), unheldAdvice)
	}
	if changed, unasked := changedCalls(&st); changed+unasked != "" {
		if changed != "" {
			fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", p.red("changed"), changed, changedAdvice)
		}
		if unasked != "" {
			fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", p.red("not asked"), unasked, unaskedAdvice)
		}
	}
	if st.Unsigned.Count > 0 {
		fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", p.yellow("unsigned"), unsignedRevisions(st.Unsigned), unsignedAdvice)
	}
	return readiness(&st)
}

// readiness is the exit status of `belay status`, in either form: 1 while it is NOT READY.
func readiness(st *wire.Status) error {
	if !st.Healthy || len(st.Latches) > 0 {
		return exitWith(ExitError)
	}
	return nil
}

// unsignedRevisions says how often the configuration changed without a signature.
func unsignedRevisions(u wire.UnsignedRevisions) string {
	times := plural(u.Count, "revision") + " of belay.yaml or trust.yaml came into force without a reviewer's signature, "
	if u.Count == 1 {
		return times + "at " + u.Last.Local().Format(time.DateTime)
	}
	return times + "from " + u.Since.Local().Format(time.DateTime) + " to " + u.Last.Local().Format(time.DateTime)
}

const unsignedAdvice = "`belay events query --type notice --decision configured` prints what changed; who did it cannot be known. `belay config accept` says that a person has looked."

// unheld says how many events nothing holds.
func unheld(n int) string {
	return plural(n, "event") + " of the last 24 hours could neither be read nor blocked, and named no session to latch"
}

const unheldAdvice = "`belay events query --type failure` prints them. A runtime that sends such events is not understood; another program may have sent them."

// printSink is one line of the status: where records go, and whether they arrive.
func (a *App) printSink(k wire.Sink) {
	p := a.palette()
	need, state := "durable", p.green("ok")
	if !k.Durable {
		need = "not durable"
	}
	switch {
	case !k.OK && k.Durable:
		state = p.red("FAILS: " + strings.ReplaceAll(k.Trouble, "_", " "))
	case !k.OK:
		state = p.yellow("fails: " + strings.ReplaceAll(k.Trouble, "_", " "))
	case k.Seq > 0:
		state += ", up to event " + count(k.Seq)
	}
	if k.Kept > 0 {
		state += ", " + plural(int(k.Kept), "invocation") + " kept since the start"
	}
	if k.Lost > 0 {
		state += ", " + p.red(plural(int(k.Lost), "invocation")+" LOST")
	}
	fmt.Fprintf(a.Out, "sink     %s %s, %s: %s\n", k.Kind, safe(k.Path), need, state)
}

// printBindings lists the bound hooks in the order in which the kernel asks
// them.
func (a *App) printBindings(bindings []wire.Hook, asJSON bool) error {
	if asJSON {
		return a.printJSON(bindings)
	}
	if len(bindings) == 0 {
		fmt.Fprintln(a.Err, "No hook is bound: every action is allowed and recorded.")
		return nil
	}
	p := a.palette()
	t := newTable("HOOK", "VERSION", "TIER", "PRIORITY", "MODE", "PHASES", "STATE").alignRight(3)
	for _, b := range bindings {
		state := p.green("ready")
		switch {
		case b.Disabled:
			state = p.faint("disabled")
		case b.Problem != "":
			state = p.red("BLOCKS: " + oneLine(b.Problem, 100))
		}
		t.row(safe(b.Name), safe(b.Version), string(b.Tier), fmt.Sprint(b.Priority), string(b.Mode), phaseList(b.Phases),
			state)
	}
	t.print(a.Out, p)
	return nil
}

func phaseList(ps []phases.Phase) string {
	s := make([]string, len(ps))
	for i, p := range ps {
		s[i] = string(p)
	}
	return strings.Join(s, " ")
}

func daemonLine(d *wire.Daemon) string {
	if d == nil {
		return "not running"
	}
	s := fmt.Sprintf("running, process %d", d.PID)
	if d.Listen != "" {
		s += ", https://" + safe(d.Listen)
	}
	if d.Plain > 0 {
		s += ", " + plural(int(d.Plain), "request") + " WITHOUT TLS"
	}
	if d.Age > 1000 {
		s += fmt.Sprintf(", as of %d s ago", d.Age/1000)
	}
	return s + fmt.Sprintf(", %s decided since %s", count(d.Decided), d.Since.Local().Format(time.DateTime))
}

func (a *App) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.quiet {
		level = slog.LevelError
	}
	if a.Getenv("BELAY_DEBUG") != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level}))
}

func indentJSON(v []byte) string {
	j := jsontext.Value(append([]byte(nil), v...))
	if err := j.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(v)
	}
	return string(j)
}

// engineLine says how hooks run and, where it is not as it should be, how they are
// compiled.
func engineLine(st wire.Status) string {
	if st.Compile == wire.CompileHere {
		return st.Engine + "; hooks are compiled in belay's own process"
	}
	return st.Engine
}
