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
	"github.com/belay-hooks/belay/cmd/internal/alarms"
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

// status prints the state of belay. Where not even that can be found out, it says NOT READY all the same: a script that
// reads only the first line must not take silence for readiness.
func (a *App) status(ctx context.Context, asJSON bool) error {
	done, err := a.statusOf(ctx, asJSON)
	if err == nil || done {
		return err
	}
	text := safe(err.Error())
	if asJSON {
		unknown := struct {
			Ready    bool     `json:"ready"`
			NotReady []string `json:"not_ready"`
		}{NotReady: []string{text}}
		if printed := a.printJSON(unknown); printed != nil {
			return printed
		}
		return err
	}
	fmt.Fprintln(a.Out, a.palette().red("NOT READY: "+oneLine(text, 200)))
	return err
}

// statusOf prints the state of belay. Done says that the answer is complete: what remains of the error is the exit
// status.
func (a *App) statusOf(ctx context.Context, asJSON bool) (done bool, err error) {
	src, err := a.openRecords(ctx)
	if err != nil {
		return false, err
	}
	defer src.Close()
	status, err := src.Status(ctx)
	if err != nil {
		return false, recordsFailure(err)
	}
	sessions, err := unstartedSessionsOf(ctx, src, status.Gone, time.Now())
	if err != nil {
		return false, recordsFailure(err)
	}
	off, lost, err := a.unheardSessionsOf(ctx, src, status.Dir, status.Gone, time.Now())
	if err != nil {
		return false, recordsFailure(err)
	}
	stopped, err := alarms.Read(ctx, src, alarmsOfADay(time.Now(), status.Gone))
	if err != nil {
		return false, recordsFailure(err)
	}
	hooks, err := src.Hooks(ctx)
	if err != nil {
		return false, recordsFailure(err)
	}
	reasons := notReady(&status, hooks)
	if asJSON {
		out := struct {
			wire.Status
			Ready    bool     `json:"ready"`              // the exit status is 0
			NotReady []string `json:"not_ready,omitzero"` // why it is not
			Blocked  []blocks `json:"blocked_hooks,omitzero"`
			// sessions of the last day whose start never reached belay
			Unstarted []unstarted `json:"unstarted_sessions,omitzero"`
			// sessions of the last day of which the runtime's own log tells, and no event of belay's
			Unheard []unheard   `json:"unheard_sessions,omitzero"`
			Alarms  alarmsToday `json:"alarms"`
		}{status, len(reasons) == 0, reasons, blocksOf(hooks), sessions, off, summary(stopped)}
		if err := a.printJSON(out); err != nil {
			return true, err
		}
		return true, readiness(reasons)
	}
	colors := a.palette()
	health := colors.green("READY")
	switch {
	case len(reasons) > 0:
		health = colors.red("NOT READY: " + safe(strings.Join(reasons, "; ")))
	case status.Health == wire.HealthDegraded:
		health = colors.yellow("READY, degraded: a sink that is not durable fails")
	}
	fmt.Fprintf(a.Out, "%s\n\n", health)
	config, trust := revisionParts(status.Revision)
	fmt.Fprintf(a.Out, "state    %s\nconfig   %s\ntrust    %s\nevents   %s\nengine   %s\n", safe(status.Dir), safe(config),
		safe(cmp.Or(trust, "no signer")), count(status.LastSeq), engineLine(status))
	for _, f := range status.Rules {
		fmt.Fprintf(a.Out, "rules    %s  %s\n", safe(f.File), safe(cmp.Or(f.Digest, "cannot be read")))
	}
	fmt.Fprintf(a.Out, "daemon   %s\n", daemonLine(status.Daemon))
	if status.Daemon != nil && status.Daemon.Machine != nil {
		fmt.Fprintf(a.Out, "machine  %s\n", machineLine(status.Daemon.Machine, colors))
	}
	fmt.Fprintf(a.Out, "alarms   %s\n", alarmsLine(stopped))
	if status.Reconciled.Sessions > 0 {
		fmt.Fprintf(a.Out, "logs     %s\n", reconciledLine(&status.Reconciled))
	}
	for _, k := range status.Sinks {
		a.printSink(k)
	}
	for _, pr := range status.Problems {
		fmt.Fprintf(a.Out, "%s  %s\n", colors.red("problem"), safe(pr))
	}
	if status.TrustProblem != "" {
		fmt.Fprintf(a.Out, "%s  %s\n         %s\n", colors.red("problem"), safe(status.TrustProblem), trustAdvice)
	}
	for _, h := range blockedHooks(hooks) {
		fmt.Fprintf(a.Out, "%s  hook %s: %s\n", colors.red("problem"), safe(h.Name), safe(h.Problem))
	}
	for _, w := range status.Warnings {
		fmt.Fprintf(a.Out, "%s  %s\n", colors.yellow("warning"), safe(w))
	}
	if status.Healthy || len(hooks) > 0 {
		fmt.Fprintln(a.Out)
		if err := a.printBindings(hooks, false); err != nil {
			return true, err
		}
	}
	for n := range status.Latches {
		l := &status.Latches[n]
		fmt.Fprintf(a.Out, "\n%s  %s: %s\n", colors.red("latched"), holds(l), oneLine(l.Reason, 120))
		fmt.Fprintf(a.Out, "  kind %s since %s, event %s; ended by %s\n", l.Cause, l.Since.Local().Format(time.DateTime),
			safe(cmp.Or(l.Event, "not recorded")), ending(l))
		fmt.Fprintf(a.Out, "  %s\n", wire.Session{Runtime: l.Runtime, Session: l.Session}.ClearCommand())
	}
	for _, u := range sessions {
		fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", colors.red("NOT SEEN TO START"), unstartedText(u), unstartedAdvice)
	}
	for _, u := range off {
		fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", colors.red("NOT HEARD OF"), unheardText(u), unheardAdvice)
	}
	for _, l := range lost {
		fmt.Fprintf(a.Out, "\n%s  %s\n", colors.yellow("not looked at"), unreadText(l))
	}
	for _, w := range status.ChangedTools {
		fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", colors.red("TOOLS CHANGED"), changedTools(w), toolChangeAdvice)
	}
	if status.Unheld > 0 {
		fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", colors.yellow("not held"), unheld(status.Unheld), unheldAdvice)
	}
	for _, c := range callTroubles(&status) {
		fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", colors.red(c.label), c.text, c.advice)
	}
	if status.Unsigned.Count > 0 {
		fmt.Fprintf(a.Out, "\n%s  %s\n  %s\n", colors.yellow("unsigned"), unsignedRevisions(status.Unsigned), unsignedAdvice)
	}
	return true, readiness(reasons)
}

// unsignedRevisions says how often the configuration changed without a signature.
func unsignedRevisions(u wire.UnsignedRevisions) string {
	times := plural(u.Count, "revision") + " of belay.yaml, trust.yaml or rules came into force without a reviewer's signature, "
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
func (a *App) printSink(sink wire.Sink) {
	colors := a.palette()
	need, state := "durable", colors.green("ok")
	if !sink.Durable {
		need = "not durable"
	}
	switch {
	case !sink.OK && sink.Durable:
		state = colors.red("FAILS: " + strings.ReplaceAll(sink.Trouble, "_", " "))
	case !sink.OK:
		state = colors.yellow("fails: " + strings.ReplaceAll(sink.Trouble, "_", " "))
	case sink.Seq > 0:
		state += ", up to event " + count(sink.Seq)
	}
	if f := sink.Forwarding; f != nil && f.Waiting > 0 {
		state += ", " + backlogText(f)
	}
	if sink.Kept > 0 {
		state += ", " + plural(int(sink.Kept), "invocation") + " kept since the start"
	}
	if sink.Lost > 0 {
		state += ", " + colors.red(plural(int(sink.Lost), "invocation")+" LOST")
	}
	fmt.Fprintf(a.Out, "sink     %s %s, %s: %s\n", sink.Kind, safe(sink.Path), need, state)
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
	colors := a.palette()
	t := newTable("HOOK", "VERSION", "TIER", "PRIORITY", "MODE", "PHASES", "STATE").alignRight(3)
	for _, b := range bindings {
		state := colors.green("ready")
		switch {
		case b.Disabled:
			state = colors.faint("disabled")
		case b.Problem != "" && b.Mode == phases.Observe:
			state = colors.red("CANNOT RUN: " + oneLine(b.Problem, 100))
		case b.Problem != "":
			state = colors.red("BLOCKS: " + oneLine(b.Problem, 100))
		}
		t.row(safe(b.Name), safe(b.Version), string(b.Tier), fmt.Sprint(b.Priority), string(b.Mode), phaseList(b.Phases),
			state)
	}
	t.print(a.Out, colors)
	return nil
}

func phaseList(ps []phases.Phase) string {
	s := make([]string, len(ps))
	for i, p := range ps {
		s[i] = string(p)
	}
	return strings.Join(s, " ")
}

func daemonLine(daemon *wire.Daemon) string {
	if daemon == nil {
		return "not running"
	}
	s := fmt.Sprintf("running, process %d", daemon.PID)
	if daemon.Listen != "" {
		s += ", https://" + safe(daemon.Listen)
	}
	if daemon.Plain > 0 {
		s += ", " + plural(int(daemon.Plain), "request") + " WITHOUT TLS"
	}
	if daemon.Age > 1000 {
		s += fmt.Sprintf(", as of %d s ago", daemon.Age/1000)
	}
	return s + fmt.Sprintf(", %s decided since %s", count(daemon.Decided), daemon.Since.Local().Format(time.DateTime))
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

// revisionParts takes a revision apart: what names belay.yaml, and what names the trust
// policy, "" for none. What names rules files stands in lines of their own.
func revisionParts(revision string) (config, trust string) {
	config, rest, _ := strings.Cut(revision, "+")
	for part := range strings.SplitSeq(rest, "+") {
		if !strings.HasPrefix(part, "rules:") {
			trust = part
		}
	}
	return config, trust
}
