package cli

import (
	"fmt"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/fuzz"
)

// printFuzz shows a result to a person.
func (a *App) printFuzz(o fuzzOptions, res *fuzz.Result) {
	p := a.palette()
	t := newTable("SEVERITY", "CLASS", "PHASE", "WHAT")
	for _, f := range res.Findings {
		severity := string(f.Severity)
		switch f.Severity {
		case fuzz.Critical, fuzz.High:
			severity = p.red(severity)
		case fuzz.Medium:
			severity = p.yellow(severity)
		default:
			severity = p.faint("note")
		}
		t.row(severity, f.Class, string(f.Phase), oneLine(f.Text, 100))
	}
	if len(t.rows) > 0 {
		t.print(a.Out, p)
		fmt.Fprintln(a.Out)
	}
	for _, f := range res.Findings {
		if !f.Counts() {
			continue
		}
		fmt.Fprintf(a.Out, "%s: %s\n", p.bold(f.Class), oneLine(f.Text, 160))
		if f.Input != "" {
			fmt.Fprintf(a.Out, "  action  %s\n", oneLine(f.Input, 160))
		}
		if f.How != "" {
			fmt.Fprintf(a.Out, "  with    %s\n", oneLine(f.How, 160))
		}
		switch {
		case f.File == "":
		case o.out == "":
			fmt.Fprintln(a.Out, p.faint("  --out DIR keeps a recording of it"))
		case f.Replays:
			fmt.Fprintf(a.Out, "  again   belay replay %s\n", safe(filepath.Join(o.out, f.File)))
		default:
			fmt.Fprintf(a.Out, "  kept    %s (a replay cannot show it)\n", safe(filepath.Join(o.out, f.File)))
		}
	}
	early := ""
	if res.Stopped {
		early = ", stopped early"
	}
	for _, st := range res.Phases {
		fmt.Fprintf(a.Out, "%s: %s runs on valid input; at most %s fuel, %s, %d hostcalls\n", st.Phase, count(int64(st.Runs)),
			count(st.Fuel), bytesText(st.Memory), st.Calls)
	}
	fmt.Fprintf(a.Out, "%s runs, seed %d, %s inputs kept, %s refused: %s%s\n", count(int64(res.Runs)), res.Seed,
		count(int64(res.Inputs)), count(int64(res.Refused)), plural(res.Found(), "finding"), early)
}
