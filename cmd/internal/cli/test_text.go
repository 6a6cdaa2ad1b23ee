package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/suite"
)

// printTest prints a run for people: what went wrong first, then one line a suite.
func (a *App) printTest(run *testRun, sum testSummary, o *testOptions) {
	colors := a.palette()
	for i := range run.suites {
		s := &run.suites[i]
		if s.err != nil {
			text := strings.ReplaceAll(safe(s.err.Error()), "\n", "\n    ") // a compiler says more than one line
			fmt.Fprintf(a.Out, "%s  %s\n    %s\n\n", colors.red("ERROR"), safe(s.file), text)
		}
		for k := range s.res.Cases {
			a.printCase(s.file, &s.res.Cases[k], o)
		}
		for _, name := range s.res.Left {
			fmt.Fprintf(a.Out, "%s  %s  %s\n    the golden has this case, the suite has not; --update drops it\n\n",
				colors.yellow("GOLDEN"), safe(s.file), safe(name))
		}
	}
	t := newTable("STATUS", "HOOK", "SUITE", "CASES", "PASSED", "").alignRight(3, 4)
	for i := range run.suites {
		s := &run.suites[i]
		t.row(colors.suiteStatus(s), orDash(safe(s.res.Hook)), safe(s.file), fmt.Sprint(len(s.res.Cases)),
			fmt.Sprint(s.res.Count("pass")+s.res.Count("golden")), note(s))
	}
	for _, dir := range run.without {
		t.row(colors.faint("none"), "-", safe(dir), "0", "0", "no cases")
	}
	t.print(a.Out, colors)
	a.printCover(run)
	fmt.Fprintf(a.Out, "\n%s\n", sum.text(colors))
	if hint := testHint(run, sum); hint != "" {
		fmt.Fprintf(a.Out, "  %s\n", hint)
	}
}

// testHint says what to do about what did not pass.
func testHint(run *testRun, sum testSummary) string {
	switch {
	case sum.Errors > 0:
		return "A suite that cannot be run says where. docs/HARNESS.md lists what a suite can say; `belay schema suite` prints it."
	case sum.Failed > 0:
		for i := range run.suites {
			for k := range run.suites[i].res.Cases {
				if c := &run.suites[i].res.Cases[k]; c.Status() == "fail" {
					return "Mend the hook, or what the case wants. `belay test " + safe(filepath.Dir(filepath.Dir(run.suites[i].file))) +
						" -v --run '" + safe(regexp.QuoteMeta(c.Case)) + "'` runs that case alone."
				}
			}
		}
	}
	return ""
}

func note(s *suiteRun) string {
	var out []string
	if s.res.Skipped > 0 {
		out = append(out, fmt.Sprintf("%d not run", s.res.Skipped))
	}
	if s.res.Updated {
		out = append(out, "golden written")
	}
	if len(s.stale) > 0 {
		out = append(out, "built anew: "+oneLine(hookbuild.Differences(s.stale), 200))
	}
	return strings.Join(out, ", ")
}

func (p palette) suiteStatus(s *suiteRun) string {
	switch {
	case s.err != nil || s.res.Count("error") > 0:
		return p.red("ERROR")
	case s.res.Count("fail") > 0:
		return p.red("FAIL")
	case s.res.Count("golden")+len(s.res.Left) > 0:
		return p.yellow("GOLDEN")
	case len(s.res.Cases) == 0:
		return p.faint("none")
	}
	return p.green("ok")
}

func (s testSummary) text(p palette) string {
	parts := []string{p.green(fmt.Sprintf("%d passed", s.Passed))}
	if s.Failed > 0 {
		parts = append(parts, p.red(fmt.Sprintf("%d failed", s.Failed)))
	}
	if s.Errors > 0 {
		parts = append(parts, p.red(fmt.Sprintf("%d could not be run", s.Errors)))
	}
	if s.Golden+s.Left > 0 {
		parts = append(parts, p.yellow(fmt.Sprintf("%d differ from their goldens (--update takes them)", s.Golden+s.Left)))
	}
	return fmt.Sprintf("%s, %s: %s", countOf(s.Suites, "suite"), countOf(s.Cases, "case"), strings.Join(parts, ", "))
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// printCase prints a case that did not pass, or any with --verbose.
func (a *App) printCase(file string, result *suite.CaseResult, o *testOptions) {
	colors := a.palette()
	place := fmt.Sprintf("%s:%d", safe(file), result.Line)
	switch result.Status() {
	case "pass":
		if o.verbose {
			var fuel, memory int64
			for _, h := range result.Verdict.Hooks {
				fuel, memory = fuel+h.Fuel, max(memory, h.MemoryPeak)
			}
			fmt.Fprintf(a.Out, "%s  %s  %s  %s\n", colors.green("pass"), safe(result.Case),
				colors.decision(string(result.Verdict.Decision)),
				colors.faint(fmt.Sprintf("%d fuel, %s", fuel, bytesText(memory))))
		}
		return
	case "error":
		fmt.Fprintf(a.Out, "%s  %s  %s\n    %s\n\n", colors.red("ERROR"), place, colors.bold(safe(result.Case)),
			safe(result.Err.Error()))
		return
	case "golden":
		fmt.Fprintf(a.Out, "%s  %s  %s\n", colors.yellow("GOLDEN"), place, colors.bold(safe(result.Case)))
	default:
		fmt.Fprintf(a.Out, "%s  %s  %s\n", colors.red("FAIL"), place, colors.bold(safe(result.Case)))
	}
	for _, d := range append(append([]suite.Difference{}, result.Differences...), result.Golden...) {
		line := ""
		if d.Line > 0 {
			line = colors.faint(fmt.Sprintf("  line %d", d.Line))
		}
		fmt.Fprintf(a.Out, "    %s%s\n%s%s", safe(d.What), line, sides(colors.red, "- want  ", d.Want),
			sides(colors.green, "+ got   ", d.Got))
	}
	fmt.Fprintln(a.Out)
}

// sides prints one side of a difference, long JSON over several lines.
func sides(paint func(string) string, mark, text string) string {
	if v := jsontext.Value(text); len(text) > 100 && v.IsValid() && v.Indent(jsontext.WithIndent("  ")) == nil {
		text = string(v)
	}
	var b strings.Builder
	for i, l := range strings.Split(safe(text), "\n") {
		if i > 0 {
			mark = mark[:1] + strings.Repeat(" ", len(mark)-1)
		}
		b.WriteString("      " + paint(mark+l) + "\n")
	}
	return b.String()
}
