package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
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
	host, err := a.openReadOnly(ctx)
	if err != nil {
		return err
	}
	defer host.Close()
	st, err := host.Status(ctx)
	if err != nil {
		return failureBy(err, "")
	}
	if asJSON {
		return a.printJSON(st)
	}
	p := a.palette()
	health := p.green("ready")
	if !st.Healthy {
		health = p.red("NOT READY: every action is blocked")
	}
	fmt.Fprintf(a.Out, "%s\n\n", health)
	fmt.Fprintf(a.Out, "state    %s\nconfig   %s\nevents   %s\nengine   %s\n", safe(st.Dir), st.Revision, count(st.LastSeq), st.Engine)
	for _, pr := range st.Problems {
		fmt.Fprintf(a.Out, "%s  %s\n", p.red("problem"), safe(pr))
	}
	if st.Healthy || len(host.Bindings()) > 0 {
		fmt.Fprintln(a.Out)
		if err := a.printBindings(host, false); err != nil {
			return err
		}
	}
	for _, l := range st.Latches {
		fmt.Fprintf(a.Out, "\n%s  session %s of %s: %s\n  belay latch clear %s %s\n", p.red("latched"), safe(l.Session), safe(l.Runtime), oneLine(l.Reason, 120), safe(l.Runtime), safe(l.Session))
	}
	if !st.Healthy {
		return exitWith(ExitError)
	}
	return nil
}

// printBindings lists what is bound, in the order in which hooks are asked.
func (a *App) printBindings(host *belay.Belay, asJSON bool) error {
	bindings := host.Bindings()
	if asJSON {
		if bindings == nil {
			bindings = []belay.BindingStatus{}
		}
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
		t.row(safe(b.Name), safe(b.Version), string(b.Tier), fmt.Sprint(b.Priority), string(b.Mode), phaseList(b.Phases), state)
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

// readOptions opens a state directory without its hooks: for commands that look
// at the record, which must work while a hook is broken.
func readOptions() belay.Options { return belay.Options{NoHooks: true} }

func (a *App) openReadOnly(ctx context.Context) (*belay.Belay, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	return a.openState(ctx, dir, readOptions())
}

func (a *App) logger() *slog.Logger {
	level := slog.LevelWarn
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
