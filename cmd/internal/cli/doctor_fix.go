package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/textdiff"
)

// doctorFix offers to grant the capabilities that bound hooks import without a
// grant. It writes exactly the edit that it shows: it leaves a belay.yaml that
// changes meanwhile alone. Its messages go to standard error, so that standard
// output holds only the report.
func (a *App) doctorFix(ctx context.Context, yes bool) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	host, err := a.openState(ctx, dir, belay.Options{NoHooks: true, InMemory: true})
	if err != nil {
		return err
	}
	if err := host.Close(); err != nil {
		return err
	}
	short, err := loader.UngrantedIn(ctx, trustDir(dir))
	if err != nil {
		return failureBy(err, "")
	}
	if len(short) == 0 {
		return nil
	}
	shown, err := config.ReadFile(dir)
	if err != nil {
		return failureBy(err, "")
	}
	edited := shown
	for _, u := range short {
		if edited, err = config.AddCapabilities(edited, u.Binding, u.Capabilities...); err != nil {
			return failureBy(err, "Add them under the capabilities of "+safe(u.Binding)+": "+
				safe(strings.Join(u.Capabilities, ", "))+".")
		}
		for i, c := range u.Capabilities {
			fmt.Fprintf(a.Err, "%s imports %s, which belay.yaml does not grant.", safe(u.Binding), safe(c))
			if u.Reasons[i] != "" {
				fmt.Fprintf(a.Err, " Its author: %s", oneLine(u.Reasons[i], 200))
			}
			fmt.Fprintln(a.Err)
		}
	}
	fmt.Fprintln(a.Err)
	for _, l := range textdiff.Near(textdiff.Lines(linesOf(shown), linesOf(edited)), 3) {
		fmt.Fprintf(a.Err, "  %c %s\n", l.Op, safe(l.Text))
	}
	fmt.Fprintln(a.Err)
	if !yes {
		if err := a.confirmOr("These hooks would hold what the lines with + say.", "nothing was granted"); err != nil {
			return err
		}
	}
	err = config.EditFile(dir, func(src []byte) ([]byte, error) {
		if !bytes.Equal(src, shown) {
			return nil, failure("belay.yaml was changed meanwhile", "Nothing was granted; look at it again.")
		}
		return edited, nil
	})
	if err != nil {
		return failureBy(err, "")
	}
	return a.tellDaemon(ctx)
}

// linesOf cuts a file into lines.
func linesOf(src []byte) []string { return strings.Split(strings.TrimSuffix(string(src), "\n"), "\n") }
