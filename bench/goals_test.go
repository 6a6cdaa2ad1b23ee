package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGoalCells(t *testing.T) {
	for _, c := range []struct {
		g      goal
		figure float64
		want   string
	}{
		{goal{name: "n", limit: 1.5, unit: "×"}, 1.49, "n, ≤ 1.50×, 1.49×, met"},
		{goal{name: "n", limit: 1.5, unit: "×"}, 3, "n, ≤ 1.50×, 3×, missed, 2.00×"},
		{goal{name: "n", limit: 15_000, unit: "/s", least: true}, 15_000, "n, ≥ 15,000/s, 15,000/s, met"},
		{goal{name: "n", limit: 15_000, unit: "/s", least: true}, 3600.4, "n, ≥ 15,000/s, 3600/s, missed, 4.17×"},
		{goal{name: "n", limit: 2, unit: " KB", least: true}, 0, "n, ≥ 2 KB, 0 KB, missed, 2000000000×"},
	} {
		if got := strings.Join(c.g.cells(c.figure), ", "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A figure is a row's of its own table, and of a goal that was not measured nothing is said.
func TestReachedGoals(t *testing.T) {
	took := func(each ...time.Duration) (rounds []round) {
		for _, d := range each {
			rounds = append(rounds, round{processor: d, clock: 2 * d})
		}
		return rounds
	}
	all := tables{
		{group: group{name: "judging"}, rows: []row{
			{name: "bare", rounds: took(10, 20, 40)},
			{name: "belay, a turn in C", rounds: took(20, 40, 80)},
			{name: "Extism, C, fresh", rounds: took(2000, 2000, 2000)},
		}},
		{group: group{name: "callers"}, rows: []row{{name: "64 at once", rounds: took(100 * time.Microsecond)}}},
		{group: group{name: "payload"}, rows: []row{{name: "960 KiB", missing: "not here"}}},
		{group: group{name: "idle"}, found: []fact{{what: daemonIdle, value: 40}}},
	}
	var got []string
	for _, cells := range reached(goals(), all).rows {
		got = append(got, cells[0]+": "+cells[2])
	}
	want := []string{"a turn in C against bare reuse: 2×", "Extism, fresh, against a turn in C: 50×",
		"durable decisions of 64 callers: 5000/s", "an idle daemon: 40 MB"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFillGoals(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	const text = "before\n<!-- goals: begin -->\n| goal | limit | measured | met | why |\n|---|---|---|---|---|\n" +
		"| one | old | old | old | words, with a | in them |\n| one more | – | – | – | |\n<!-- goals: end -->\nafter\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := fillGoals(page, [][]string{{"one", "≤ 1", "2", "missed"}}); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(text, "| one | old | old | old |", "| one | ≤ 1 | 2 | missed |", 1)
	if got := read(page); got != want {
		t.Error(got)
	}
	if err := fillGoals(page, [][]string{{"two", "", "", ""}}); err == nil || read(page) != want {
		t.Errorf("a goal without a row: %v", err)
	}
}

// The page has a row for each goal that a run fills in, and so nothing of it can fail at the end of one.
func TestEveryGoalHasARow(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte(read("../docs/BENCHMARKS.md")), 0o600); err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(goals(), soakGoals([]stretch{{}}), logGoals(make([]bigLog, 1), nil))
	for _, g := range all {
		if err := fillGoals(page, [][]string{g.cells(1)}); err != nil {
			t.Error(err)
		}
	}
}
