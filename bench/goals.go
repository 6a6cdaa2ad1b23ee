package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

// goal is a limit that the design set for a figure.
type goal struct {
	name  string
	limit float64
	unit  string // what follows a figure: "×", " µs", "/s"
	least bool   // the limit is the least and not the most
	// of finds the figure among the tables of a run; false: this run did not measure it.
	of func(tables) (float64, bool)
}

// tables are what a run measured.
type tables []result

func (t tables) find(group, name string) (*result, *row) {
	for i := range t {
		for k := range t[i].rows {
			if t[i].name == group && t[i].rows[k].name == name && t[i].rows[k].missing == "" {
				return &t[i], &t[i].rows[k]
			}
		}
	}
	return nil, nil
}

// against compares two rows of a table within each round, by processor time.
func against(group, name, base string) func(tables) (float64, bool) {
	return func(t tables) (float64, bool) {
		_, one := t.find(group, name)
		_, other := t.find(group, base)
		if one == nil || other == nil {
			return 0, false
		}
		var ratios []float64
		for i := range one.rounds {
			ratios = append(ratios, float64(one.rounds[i].processor)/float64(max(other.rounds[i].processor, 1)))
		}
		return middle(ratios, 50), true
	}
}

// ratio compares a row with the first of its table.
func ratio(group, name string) func(tables) (float64, bool) {
	return func(t tables) (float64, bool) {
		r, row := t.find(group, name)
		if row == nil {
			return 0, false
		}
		return r.figures(row).ratio, true
	}
}

// takes is a row's processor time in a unit.
func takes(group, name string, unit time.Duration) func(tables) (float64, bool) {
	return func(t tables) (float64, bool) {
		r, row := t.find(group, name)
		if row == nil {
			return 0, false
		}
		return float64(r.figures(row).processor) / float64(unit), true
	}
}

// second is how many decisions of a row fit into one, by the clock.
func second(group, name string) func(tables) (float64, bool) {
	return func(t tables) (float64, bool) {
		r, row := t.find(group, name)
		if row == nil {
			return 0, false
		}
		return float64(time.Second) / float64(max(r.figures(row).clock, 1)), true
	}
}

// found is a fact's figure.
func found(what string) func(tables) (float64, bool) {
	return func(t tables) (float64, bool) {
		for _, r := range t {
			for _, f := range r.found {
				if f.what == what {
					return f.value, true
				}
			}
		}
		return 0, false
	}
}

// known is a figure that was measured outside of the tables.
func known(figure float64) func(tables) (float64, bool) {
	return func(tables) (float64, bool) { return figure, true }
}

// goals are those of the tables of make bench.
func goals() []goal {
	const turn, hook = "belay, a turn in C", "belay-hook"
	return []goal{
		{name: "a turn in C against bare reuse", limit: 1.5, unit: "×", of: ratio("judging", turn)},
		{name: "a turn in Rust against bare reuse", limit: 1.5, unit: "×",
			of: ratio("sandboxes in Rust", "belay, a turn in Rust")},
		{name: "Extism, fresh, against a turn in C", limit: 50, unit: "×", least: true,
			of: against("judging", "Extism, C, fresh", turn)},
		{name: "a decision in memory", limit: 45, unit: " µs",
			of: takes("decision", "belay, Invoke in memory", time.Microsecond)},
		{name: "a decision in memory against OPA", limit: 0.6, unit: "×",
			of: ratio("decision", "belay, Invoke in memory")},
		{name: "a durable decision against one insert of its bytes", limit: 1.3, unit: "×",
			of: ratio("durable", "belay, durable Invoke")},
		{name: "durable decisions of 64 callers", limit: 15_000, unit: "/s", least: true,
			of: second("callers", "64 at once")},
		{name: "framed socket against a framed echo", limit: 4, unit: "×", of: ratio("frames", "belay, frames")},
		{name: "HTTP against an HTTP echo", limit: 3, unit: "×", of: ratio("HTTP", "belay, HTTP")},
		{name: "belay-hook against a Go program with the same round trip", limit: 1.3, unit: "×",
			of: ratio("process", hook)},
		{name: "belay-hook against a hook in bash", limit: 1, unit: "×",
			of: against("process", hook, "a hook in bash")},
		{name: "belay eval, alone", limit: 12, unit: " ms",
			of: takes("process", "belay eval, alone", time.Millisecond)},
		{name: "belay-eval, alone", limit: 12, unit: " ms",
			of: takes("process", "belay-eval, alone", time.Millisecond)},
		{name: "1,000 hooks that do not match against 10", limit: 1.1, unit: "×",
			of: ratio("hooks", "1000 hooks that do not match")},
		{name: "an event of 960 KiB in memory", limit: 6, unit: " ms",
			of: takes("payload", "960 KiB", time.Millisecond)},
		{name: "others' 99th of a hundred beside four loopers", limit: 1.5, unit: "×",
			of: ratio("loopers", "loopers: 4")},
		{name: "beyond a deadline", limit: 2, unit: " slices", of: ratio("deadline", "beyond a deadline of 10 ms")},
		{name: "what a collection waits for, 99th of a hundred", limit: 1, unit: " slices", of: found(collectionLate)},
		{name: "an idle daemon", limit: 35, unit: " MB", of: found(daemonIdle)},
		{name: "an idle instance in C", limit: 64, unit: " KiB", of: found("an idle instance in C")},
		{name: "an idle instance in Rust", limit: 64, unit: " KiB", of: found("an idle instance in Rust")},
		{name: "an idle instance in Go", limit: 1536, unit: " KiB", of: found("an idle instance in Go")},
	}
}

// cells are a goal's columns: its name, limit and figure, and whether that is met.
func (g *goal) cells(figure float64) []string {
	sign, missed := "≤ ", figure/g.limit
	if g.least {
		sign, missed = "≥ ", g.limit/max(figure, 1e-9)
	}
	verdict := "met"
	if missed > 1 {
		verdict = "missed, " + times(missed) + "×"
	}
	return []string{g.name, sign + amount(g.limit) + g.unit, amount(figure) + g.unit, verdict}
}

// amount is a figure with as many digits as the goals have.
func amount(f float64) string {
	switch {
	case f >= 10_000:
		return fmt.Sprintf("%d,%03d", int(f)/1000, int(f)%1000)
	case f >= 100 || f == float64(int(f)):
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// reached are the goals that a run measured, as rows.
func reached(all []goal, t tables) *grid {
	g := &grid{header: []string{"", "goal", "measured", ""}}
	for _, one := range all {
		if figure, ok := one.of(t); ok {
			g.rows = append(g.rows, one.cells(figure))
		}
	}
	return g
}

// fillGoals puts figures into the table of goals on a page: a row keeps what people wrote behind its fourth cell.
// Each row has to be there.
func fillGoals(file string, rows [][]string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := marks("goals")
	_, rest, ok := bytes.Cut(page, begin)
	table, _, ok2 := bytes.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the lines %q and %q", file, begin, end)
	}
	lines := strings.SplitAfter(string(table), "\n")
	for _, cells := range rows {
		there := false
		for i, line := range lines {
			old := strings.SplitN(line, " | ", len(cells)+1)
			if len(old) <= len(cells) || strings.TrimPrefix(old[0], "| ") != cells[0] {
				continue
			}
			lines[i], there = "| "+strings.Join(cells, " | ")+" | "+old[len(cells)], true
		}
		if !there {
			return fmt.Errorf("the table of goals on %s has no row %q", file, cells[0])
		}
	}
	return replaceBetweenMarks(file, "goals", []byte(strings.Join(lines, "")))
}
