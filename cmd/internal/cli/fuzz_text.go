package cli

import (
	"fmt"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/fuzz"
)

// printFuzz shows a result to a person.
func (a *App) printFuzz(options fuzzOptions, res *fuzz.Result) {
	colors := a.palette()
	table := newTable("SEVERITY", "CLASS", "PHASE", "WHAT")
	for _, f := range res.Findings {
		severity := string(f.Severity)
		switch f.Severity {
		case fuzz.Critical, fuzz.High:
			severity = colors.red(severity)
		case fuzz.Medium:
			severity = colors.yellow(severity)
		default:
			severity = colors.faint("note")
		}
		table.row(severity, f.Class, string(f.Phase), oneLine(f.Text, 100))
	}
	if len(table.rows) > 0 {
		table.print(a.Out, colors)
		fmt.Fprintln(a.Out)
	}
	for _, finding := range res.Findings {
		if !finding.Counts() {
			continue
		}
		fmt.Fprintf(a.Out, "%s: %s\n", colors.bold(finding.Class), oneLine(finding.Text, 160))
		if finding.Input != "" {
			fmt.Fprintf(a.Out, "  action  %s\n", oneLine(finding.Input, 160))
		}
		if finding.How != "" {
			fmt.Fprintf(a.Out, "  with    %s\n", oneLine(finding.How, 160))
		}
		switch {
		case finding.File == "":
		case options.out == "":
			fmt.Fprintln(a.Out, colors.faint("  --out DIR keeps a recording of it"))
		case finding.Replays:
			fmt.Fprintf(a.Out, "  again   belay replay %s\n", safe(filepath.Join(options.out, finding.File)))
		default:
			fmt.Fprintf(a.Out, "  kept    %s (a replay cannot show it)\n", safe(filepath.Join(options.out, finding.File)))
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
