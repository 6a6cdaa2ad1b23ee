package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/hookbuild"
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
	out = append(out, a.examineKernel(ctx, dir, file.Central() != nil)...)
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
