package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/junit"
	"github.com/belay-hooks/belay/internal/reconcile"
)

// maxReconcileDays bounds how old the logs are that reconcile looks for by itself.
const maxReconcileDays = 366

type eventsReconcileOptions struct {
	transcripts []string
	runtimes    []string
	days        int
	junit       string
	json        bool
}

func (a *App) eventsReconcileCmd() *cobra.Command {
	var options eventsReconcileOptions
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare the runtimes' own logs of their sessions with belay's",
		Long: `reconcile reads the logs that ` + strings.Join(reconcile.Runtimes(), ", ") + ` keep
of their sessions. It lists calls without a verdict, verdicts without a call, and calls
whose arguments differ from the decided ones. Without --transcript it reads the logs of the
last --days days, of the runtimes that belay has heard of.

It detects: a call that was made while hooks were off stands in the runtime's log. It
proves nothing against an agent that rewrites its own log. A log is read only if it is a
regular file of the person in that runtime's directory. A record that belay does not know is
unknown, never good. Where belay read a log before, one that shrank or changed before that
point is a finding.

The findings are an event, and red in status and doctor. Exit 5 when logs differ, 1 when
something could not be compared.`,
		Example: `  belay events reconcile
  belay events reconcile --transcript ~/.claude/projects/-home-me-project/ID.jsonl
  belay events reconcile --runtime codex --days 30 --junit reconcile.xml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.eventsReconcile(cmd.Context(), options) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&options.transcripts, "transcript", nil, "compare this log; may be given several times")
	f.StringArrayVar(&options.runtimes, "runtime", nil, "only logs of this runtime; may be given several times")
	f.IntVar(&options.days, "days", 7, fmt.Sprintf("how many days back a log was written, 1 to %d", maxReconcileDays))
	f.StringVar(&options.junit, "junit", "", "write the results as JUnit XML to `FILE`")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

// logDir is the directory of a runtime whose logs belay reads, "" for none.
func (a *App) logDir(runtime string) string {
	dir := reconcile.Directory(runtime, a.Getenv("HOME"), a.Getenv)
	if dir == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// foundLog is a log that is to be compared.
type foundLog struct{ runtime, path string }

// unreadLog is a log that could not be compared.
type unreadLog struct {
	Runtime string `json:"runtime"`
	Log     string `json:"log"`
	Error   string `json:"error"`
}

func (a *App) eventsReconcile(ctx context.Context, options eventsReconcileOptions) error {
	if options.days < 1 || options.days > maxReconcileDays {
		return usageError(fmt.Sprintf("--days must be between 1 and %d", maxReconcileDays), "")
	}
	for _, name := range options.runtimes {
		if !slices.Contains(reconcile.Runtimes(), name) {
			return usageError(fmt.Sprintf("--runtime: belay reads no logs of %q", safe(name)),
				"It reads those of "+strings.Join(reconcile.Runtimes(), ", ")+".")
		}
	}
	files := &outputs{}
	if options.junit != "" {
		if err := files.add(options.junit, 0o644); err != nil {
			return err
		}
	}
	defer files.drop()
	src, err := a.openRecords(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	logs, err := a.logsToCompare(ctx, src, options)
	if err != nil {
		return err
	}
	var out []wire.Reconciliation
	var unread []unreadLog
	for _, log := range logs {
		list, err := src.Reconcile(ctx, log.runtime, log.path)
		if err != nil {
			unread = append(unread, unreadLog{log.runtime, log.path, err.Error()})
			continue
		}
		for i := range list {
			// A subagent's log is compared with its session's, which has a log of its own.
			if !slices.ContainsFunc(out, func(r wire.Reconciliation) bool {
				return r.Runtime == list[i].Runtime && r.Session == list[i].Session && r.Log == list[i].Log
			}) {
				out = append(out, list[i])
			}
		}
	}
	if err := files.write(func(string) ([]byte, error) { return reconcileJUnit(out, unread) }); err != nil {
		return err
	}
	if options.json {
		if err := a.printJSON(struct {
			Sessions []wire.Reconciliation `json:"sessions"`
			Unread   []unreadLog           `json:"unread,omitzero"`
			Proves   string                `json:"proves"`
		}{out, unread, reconcileProves}); err != nil {
			return err
		}
	} else {
		a.printReconciliations(out, unread)
	}
	return reconcileExit(out, unread)
}

// reconcileProves says what a comparison is worth.
const reconcileProves = "This detects, and proves nothing: an agent that can write its own log can make it agree."

// logsToCompare returns the logs that the options name, or those of the last days.
func (a *App) logsToCompare(ctx context.Context, src records, options eventsReconcileOptions) ([]foundLog, error) {
	var out []foundLog
	for _, path := range options.transcripts {
		wd, err := a.Getwd()
		if err != nil {
			return nil, failureBy(err, "")
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(wd, path)
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		name := reconcile.RuntimeOf(path, a.logDir)
		if name == "" {
			return nil, usageError("--transcript: "+safe(path)+" lies in no directory of a runtime whose logs belay reads",
				"Logs are read from "+strings.Join(a.logDirs(), ", ")+" only.")
		}
		out = append(out, foundLog{name, path})
	}
	if len(options.transcripts) > 0 {
		return out, nil
	}
	since := time.Now().AddDate(0, 0, -options.days)
	for _, name := range reconcile.Runtimes() {
		if len(options.runtimes) > 0 && !slices.Contains(options.runtimes, name) {
			continue
		}
		known, err := src.Events(ctx, wire.Query{Runtime: name, Limit: 1})
		if err != nil {
			return nil, recordsFailure(err)
		}
		if len(known) == 0 && len(options.runtimes) == 0 {
			continue
		}
		logs, more := reconcile.Logs(name, a.logDir(name), since)
		for _, path := range logs {
			out = append(out, foundLog{name, path})
		}
		if more {
			fmt.Fprintf(a.Err, "There are more logs of %s than belay lists: name them with --transcript.\n", name)
		}
	}
	return out, nil
}

func (a *App) logDirs() (out []string) {
	for _, name := range reconcile.Runtimes() {
		if dir := a.logDir(name); dir != "" {
			out = append(out, safe(dir))
		}
	}
	return out
}

// Reconcile implements records.
func (l localRecords) Reconcile(ctx context.Context, runtime, log string) ([]wire.Reconciliation, error) {
	out, err := reconcile.Compare(ctx, hostEvents{l.host},
		reconcile.Question{Runtime: runtime, Dir: l.logDir(runtime), Log: log, Now: time.Now()})
	for i := range out {
		if err == nil {
			err = l.host.Reconciled(ctx, &out[i])
		}
	}
	return out, err
}

func (a *App) printReconciliations(list []wire.Reconciliation, unread []unreadLog) {
	colors := a.palette()
	if len(list) == 0 && len(unread) == 0 {
		fmt.Fprintln(a.Err, "There is no log to compare.")
		return
	}
	for i := range list {
		r := &list[i]
		paint := map[wire.ReconcileStatus]func(string) string{wire.ReconcileAgrees: colors.green,
			wire.ReconcileUnknown: colors.yellow, wire.ReconcileDiffers: colors.red}[r.Status]
		fmt.Fprintf(a.Out, "%s  %s %s: %s, %s\n", paint(string(r.Status)), safe(r.Runtime), safe(r.Session),
			plural(r.Calls, "call"), plural(r.Verdicts, "verdict"))
		for _, f := range r.List {
			fmt.Fprintf(a.Out, "  %s  %s\n", colors.red(string(f.Kind)), findingText(&f))
		}
		if n := r.Found - len(r.List); n > 0 {
			fmt.Fprintf(a.Out, "  and %s more\n", plural(n, "finding"))
		}
		if r.Unknown > 0 {
			fmt.Fprintf(a.Out, "  %s  %d: %s\n", colors.yellow("unknown"), r.Unknown, oneLine(strings.Join(r.Why, "; "), 300))
		}
		if r.Earlier > 0 {
			fmt.Fprintf(a.Out, "  %s from before belay's first event, not judged\n", plural(r.Earlier, "call"))
		}
	}
	for _, u := range unread {
		fmt.Fprintf(a.Out, "%s  %s\n  %s\n", colors.red("not read"), safe(u.Log), safe(u.Error))
	}
	fmt.Fprintln(a.Out, reconcileProves)
}

// findingText is a finding in one line.
func findingText(f *wire.Finding) string {
	text := f.Kind.Text()
	for _, part := range []string{f.Tool, f.Call, f.Log} {
		if part != "" {
			text += ", " + oneLine(part, 80)
		}
	}
	if f.Event > 0 {
		text += fmt.Sprintf(", event %d", f.Event)
	}
	if !f.Time.IsZero() {
		text += ", " + f.Time.Local().Format(time.DateTime)
	}
	return text
}

// reconcileExit is the exit status of the command.
func reconcileExit(list []wire.Reconciliation, unread []unreadLog) error {
	code := ExitOK
	if len(unread) > 0 {
		code = ExitError
	}
	for i := range list {
		switch {
		case list[i].Status == wire.ReconcileDiffers:
			return exitWith(ExitDifferences)
		case list[i].Status != wire.ReconcileAgrees:
			code = ExitError
		}
	}
	return exitWith(code)
}

// reconcileJUnit has one case a session.
func reconcileJUnit(list []wire.Reconciliation, unread []unreadLog) ([]byte, error) {
	suite := junit.Suite{Name: "reconcile"}
	for i := range list {
		r := &list[i]
		c := junit.Case{Class: r.Runtime, Name: r.Session}
		switch r.Status {
		case wire.ReconcileDiffers:
			var lines []string
			for _, f := range r.List {
				lines = append(lines, findingText(&f))
			}
			c.Failure = &junit.Text{Message: plural(r.Found, "finding"), Type: string(r.List[0].Kind),
				Detail: strings.Join(lines, "\n")}
		case wire.ReconcileUnknown:
			c.Error = &junit.Text{Message: strings.Join(r.Why, "; "), Type: "unknown"}
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, u := range unread {
		suite.Cases = append(suite.Cases, junit.Case{Class: u.Runtime, Name: filepath.Base(u.Log),
			Error: &junit.Text{Message: u.Error, Type: "not read"}})
	}
	report := junit.Report{Name: "belay events reconcile", Suites: []junit.Suite{suite}, Errors: true}
	return report.XML()
}
