package cli

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/suite"
)

// printTest prints a run for people: what went wrong first, then one line a suite.
func (a *App) printTest(run *testRun, sum testSummary, o *testOptions) {
	p := a.palette()
	for i := range run.suites {
		s := &run.suites[i]
		if s.err != nil {
			fmt.Fprintf(a.Out, "%s  %s\n    %s\n\n", p.red("ERROR"), safe(s.file), safe(s.err.Error()))
		}
		for k := range s.res.Cases {
			a.printCase(s.file, &s.res.Cases[k], o)
		}
		for _, name := range s.res.Left {
			fmt.Fprintf(a.Out, "%s  %s  %s\n    the golden has this case, the suite has not; --update drops it\n\n",
				p.yellow("GOLDEN"), safe(s.file), safe(name))
		}
	}
	t := newTable("STATUS", "HOOK", "SUITE", "CASES", "PASSED", "").alignRight(3, 4)
	for i := range run.suites {
		s := &run.suites[i]
		t.row(p.suiteStatus(s), orDash(safe(s.res.Hook)), safe(s.file), fmt.Sprint(len(s.res.Cases)),
			fmt.Sprint(s.res.Count("pass")+s.res.Count("golden")), note(s))
	}
	for _, dir := range run.without {
		t.row(p.faint("none"), "-", safe(dir), "0", "0", "no cases")
	}
	t.print(a.Out, p)
	a.printCover(run)
	fmt.Fprintf(a.Out, "\n%s\n", sum.text(p))
}

func note(s *suiteRun) string {
	var out []string
	if s.res.Skipped > 0 {
		out = append(out, fmt.Sprintf("%d not run", s.res.Skipped))
	}
	if s.res.Updated {
		out = append(out, "golden written")
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
func (a *App) printCase(file string, c *suite.CaseResult, o *testOptions) {
	p := a.palette()
	place := fmt.Sprintf("%s:%d", safe(file), c.Line)
	switch c.Status() {
	case "pass":
		if o.verbose {
			var fuel, memory int64
			for _, h := range c.Verdict.Hooks {
				fuel, memory = fuel+h.Fuel, max(memory, h.MemoryPeak)
			}
			fmt.Fprintf(a.Out, "%s  %s  %s  %s\n", p.green("pass"), safe(c.Case), p.decision(string(c.Verdict.Decision)),
				p.faint(fmt.Sprintf("%d fuel, %s", fuel, bytesText(memory))))
		}
		return
	case "error":
		fmt.Fprintf(a.Out, "%s  %s  %s\n    %s\n\n", p.red("ERROR"), place, p.bold(safe(c.Case)), safe(c.Err.Error()))
		return
	case "golden":
		fmt.Fprintf(a.Out, "%s  %s  %s\n", p.yellow("GOLDEN"), place, p.bold(safe(c.Case)))
	default:
		fmt.Fprintf(a.Out, "%s  %s  %s\n", p.red("FAIL"), place, p.bold(safe(c.Case)))
	}
	for _, d := range append(append([]suite.Difference{}, c.Differences...), c.Golden...) {
		line := ""
		if d.Line > 0 {
			line = p.faint(fmt.Sprintf("  line %d", d.Line))
		}
		fmt.Fprintf(a.Out, "    %s%s\n%s%s", safe(d.What), line, sides(p.red, "- want  ", d.Want),
			sides(p.green, "+ got   ", d.Got))
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
