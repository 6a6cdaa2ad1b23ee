package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// finding is one line of `belay doctor`.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warn, fail
	Text   string `json:"text"`
	Advice string `json:"advice,omitzero"`
	Red    bool   `json:"red,omitzero"` // a warning that is not to be overlooked
}

func (a *App) doctorCmd() *cobra.Command {
	var asJSON, fix, yes bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and say what to do about it",
		Long: `doctor looks at the state directory and says what is wrong with it. On a machine in system mode it
says what of it holds for you: the daemon, its configuration, and what your agents are wired to.

With --fix it first offers to grant what bound hooks import and belay.yaml does not grant.
Where a runtime is connected, it also offers to bind the settings guard. It shows what would
change in belay.yaml, asks, and writes it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if fix {
				if err := a.ownState(); err != nil {
					return err
				}
				if err := a.doctorFix(cmd.Context(), yes); err != nil {
					return err
				}
				if err := a.doctorGuard(cmd.Context(), yes); err != nil {
					return err
				}
			} else if yes {
				return usageError("--yes goes with --fix", "")
			}
			return a.doctor(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&fix, "fix", false,
		"offer to grant what bound hooks import without a grant, and to bind the settings guard")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --fix: do not ask")
	return cmd
}

func (a *App) doctor(ctx context.Context, asJSON bool) error {
	found, err := a.examineAll(ctx)
	if err != nil {
		return err
	}
	failed := false
	for _, f := range found {
		failed = failed || f.Status == "fail"
	}
	if asJSON {
		if err := a.printJSON(found); err != nil {
			return err
		}
	} else {
		a.printFindings(found)
	}
	if failed {
		return exitWith(ExitError)
	}
	return nil
}

// examineAll looks at the machine's daemon in system mode, and otherwise at the state directory.
func (a *App) examineAll(ctx context.Context) ([]finding, error) {
	on, err := a.onMachine()
	if on {
		return a.examineMachine(ctx), nil
	}
	if err != nil {
		return nil, err
	}
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	return append(a.examineSystem(ctx), a.examine(ctx, dir)...), nil
}

func (a *App) printFindings(found []finding) {
	p := a.palette()
	mark := map[string]string{"ok": p.green("ok  "), "warn": p.yellow("warn"), "fail": p.red("FAIL")}
	for _, f := range found {
		text := safe(f.Text)
		if f.Red {
			text = p.red(text)
		}
		fmt.Fprintf(a.Out, "%s  %-14s %s\n", mark[f.Status], f.Check, text)
		if f.Advice != "" {
			fmt.Fprintf(a.Out, "      %-14s %s\n", "", p.faint(safe(f.Advice)))
		}
	}
}

func (a *App) examine(ctx context.Context, dir string) []finding {
	var out []finding
	ok := func(check, text string) { out = append(out, finding{Check: check, Status: "ok", Text: text}) }
	warn := func(check, text, advice string) {
		out = append(out, finding{Check: check, Status: "warn", Text: text, Advice: advice})
	}
	fail := func(check, text, advice string) {
		out = append(out, finding{Check: check, Status: "fail", Text: text, Advice: advice})
	}

	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fail("state", dir+" does not exist", "`belay init` makes it.")
		return out
	case err != nil:
		fail("state", err.Error(), "")
		return out
	case info.Mode().Perm()&0o077 != 0:
		fail("state", fmt.Sprintf("%s can be opened by others (%v)", dir, info.Mode().Perm()), "chmod 700 "+dir)
	default:
		ok("state", dir)
	}
	for _, name := range []string{"keys", "belay.db", "cache"} {
		if in, err := os.Stat(filepath.Join(dir, name)); err == nil && in.Mode().Perm()&0o077 != 0 {
			fail("permissions", fmt.Sprintf("%s can be opened by others (%v)", name, in.Mode().Perm()),
				"chmod go-rwx "+filepath.Join(dir, name))
		}
	}

	src, err := config.ReadFile(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fail("configuration", "there is no "+config.FileName, "`belay init` writes a first one.")
		return out
	case err != nil:
		fail("configuration", err.Error(), "")
		return out
	}
	file, err := config.Parse(src)
	if err != nil {
		fail("configuration", err.Error(), "Until it is mended every action is blocked.")
		return out
	}
	if err := file.ReadConfigs(dir); err != nil {
		fail("configuration", err.Error(), "Until it is mended every action is blocked.")
		return out
	}
	ok("configuration", file.Revision(src))

	if f := examineLeftover(ctx, dir, file); f != nil {
		out = append(out, *f)
	}
	if p := file.Central(); p != nil {
		out = append(out, examinePostgres(ctx, p)...)
	}
	out = append(out, examineTrust(dir))
	out = append(out, examineTools(dir)...)
	out = append(out, a.examineWiring(ctx, dir)...)
	if f := a.examineGuard(dir, file); f != nil {
		out = append(out, *f)
	}
	out = append(out, examineReset())
	if a.examineDaemon(ctx, dir, ok, warn, fail) {
		return out
	}

	host, err := belay.Open(ctx, dir, belay.Options{Logger: a.logger(), Compiler: a.Compiler, Signatures: sigstore.New})
	if err != nil {
		fail("kernel", err.Error(), "Every action is blocked.")
		return out
	}
	defer host.Close()
	st, err := host.Status(ctx)
	if err != nil {
		fail("kernel", err.Error(), "")
		return out
	}
	for _, k := range st.Sinks {
		switch {
		case k.OK && k.Kind == "store":
			ok("store", fmt.Sprintf("%s events", count(st.LastSeq)))
		case k.OK && k.Kind == wire.SinkPostgres:
			ok("postgres", fmt.Sprintf("%s has %s events", k.Path, count(k.Seq)))
		case k.OK && k.Kind == wire.SinkRecordings:
			ok("recordings", k.Path)
		case k.OK:
			ok("sink", k.Kind+" "+k.Path)
		case k.Durable || k.Kind == wire.SinkPostgres && k.Trouble == string(sink.Foreign):
			fail(checkOf(k), k.Path+": "+k.Problem, adviceFor(k))
		default:
			warn(checkOf(k), k.Path+": "+k.Problem, adviceFor(k))
		}
	}
	for _, pr := range st.Problems {
		fail("kernel", pr, "")
	}
	if st.Engine == "compiler" {
		ok("engine", "compiler, "+runtime.GOARCH)
	} else {
		warn("engine", "interpreter: about 40 times slower", engineAdvice())
	}
	if st.Compile == wire.CompileApart {
		ok("compile", "in a process of its own, with limits of time and memory")
	} else {
		warn("compile", "in belay's own process: only an estimate bounds what a hook takes to compile",
			"The system does not say which file this program is, or the program that embeds belay names no compiler.")
	}
	ready := 0
	for _, b := range host.Bindings() {
		switch {
		case b.Disabled:
		case b.Problem != "":
			fail("hook", b.Name+": "+b.Problem, "Its phases are blocked until it is mended, removed or disabled.")
		default:
			ready++
		}
	}
	ok("hooks", fmt.Sprintf("%d ready", ready))
	for n := range st.Latches {
		l := &st.Latches[n]
		text := fmt.Sprintf("%s, kind %s: %s", holds(l), l.Cause, oneLine(l.Reason, 100))
		warn("latch", text, wire.Session{Runtime: l.Runtime, Session: l.Session}.ClearCommand())
	}
	if st.Unsigned.Count > 0 {
		warn("revisions", unsignedRevisions(st.Unsigned), unsignedAdvice)
	}
	for _, c := range callTroubles(&st) {
		fail("calls", c.text, c.advice)
	}
	if st.Unheld > 0 {
		warn("payloads", unheld(st.Unheld), unheldAdvice)
	}
	if text := host.ClockWarning(ctx); text != "" {
		warn("clock", text,
			"Set the clock right and keep it so, with a time server. docs/OPERATIONS.md says what goes by which clock.")
	}
	out = append(out, a.examineSessions(ctx, host, dir, st.Gone)...)
	if unsound, ok := examineQueue(ctx, host); !ok {
		out = append(out, unsound)
	}
	if _, f, err := a.readConfigFile(); err == nil {
		if r := f.Recordings; r != nil && r.UnsafePlaintext {
			out = append(out, finding{Check: "recordings", Status: "warn", Red: true,
				Text:   "UNSAFE: full inputs, secrets included, are kept in plain text in " + r.Dir,
				Advice: "`belay record keygen FILE` makes a key; give what it prints as recipients instead of unsafe_plaintext."})
		}
		if protected, text, advice := protection(f); protected {
			ok("approvals", text)
		} else {
			out = append(out, finding{Check: "approvals", Status: "warn", Text: text, Advice: advice, Red: true})
		}
		out = append(out, examineVerbs(f))
		if m := examineMark(statelog.Of(host.Log()).HighWater(ctx), f); m != nil {
			out = append(out, *m)
		}
	}
	return append(out, examineBuild()...)
}

// examineSessions looks for sessions of which belay heard too late, or nothing.
func (a *App) examineSessions(ctx context.Context, src eventReader, dir string, gone int64) (out []finding) {
	sessions, err := unstartedSessionsOf(ctx, src, gone, time.Now())
	if err != nil {
		out = append(out, finding{Check: "sessions", Status: "fail", Text: err.Error()})
	}
	for _, u := range sessions {
		out = append(out,
			finding{Check: "session", Status: "warn", Red: true, Text: unstartedText(u), Advice: unstartedAdvice})
	}
	off, lost, err := a.unheardSessionsOf(ctx, src, dir, gone, time.Now())
	if err != nil {
		out = append(out, finding{Check: "sessions", Status: "fail", Text: err.Error()})
	}
	for _, u := range off {
		out = append(out,
			finding{Check: "session", Status: "warn", Red: true, Text: unheardText(u), Advice: unheardAdvice})
	}
	for _, l := range lost {
		out = append(out, finding{Check: "sessions", Status: "warn", Text: unreadText(l)})
	}
	return out
}

// examineBuild says in which languages hooks can be written here.
func examineBuild() (out []finding) {
	for _, lang := range hookbuild.Languages() {
		f := finding{Check: "build", Status: "ok", Text: lang}
		if missing := hookbuild.Missing(lang); missing != "" {
			f = finding{Check: "build", Status: "warn", Text: lang + " hooks cannot be built here: " + missing,
				Advice: "Only needed to write hooks in " + lang + "."}
		}
		out = append(out, f)
	}
	return out
}

func checkOf(k wire.Sink) string {
	if k.Kind == "store" || k.Kind == wire.SinkRecordings || k.Kind == wire.SinkPostgres {
		return k.Kind
	}
	return "sink"
}

func adviceFor(k wire.Sink) string {
	effect := "belay logs events without it, and catches it up when it works again."
	if k.Kind == wire.SinkRecordings {
		effect = "Actions go on; their full inputs are lost until it can be written, and counted."
	}
	if k.Kind == wire.SinkPostgres {
		effect = "What needs a lease or an approval is blocked; the rest goes on until too many events wait (store.postgres.keep)."
		if k.Trouble == string(sink.Foreign) {
			return effect + " docs/SCALING.md says what to do about a log that is forked, or that has lost events."
		}
	}
	if k.Durable {
		effect = "Every action is blocked until it can be written; then belay goes on by itself."
	}
	switch sink.Trouble(k.Trouble) {
	case sink.RolledBack:
		return "Every action is blocked until the newest database is back, or a person lets this one go on: `belay recover`."
	case sink.Tampered:
		return "Every action is blocked until the rows are as they were, or a person has them repaired: `belay recover --dry-run` says how."
	case sink.DiskFull:
		return "Free space. " + effect
	case sink.Foreign:
		return "Look at it before you move it away: docs/OPERATIONS.md says what it can mean. " + effect
	}
	return effect
}
