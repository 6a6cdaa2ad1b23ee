package systemtest

import (
	"os"
	"strings"
	"testing"
)

// Each row of what a daemon of the agent's own user does not do, and each of what a user of system mode may do badly,
// is tried; and each try that names a row finds it. It runs without root.
func TestEveryRowIsTried(t *testing.T) {
	rows := map[string]int{}
	for _, at := range [][3]string{
		{"../../../docs/SERVE.md", "### What this does not do", "| gap |"},
		{"../../../docs/SYSTEM.md", "## Try it", "| a user |"},
	} {
		page, err := os.ReadFile(at[0])
		if err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(string(page), at[1]+"\n")
		_, table, ok := strings.Cut(section, at[2])
		table, _, _ = strings.Cut(table, "\n\n")
		n := 0
		for _, line := range strings.Split(table, "\n")[1:] {
			if cells := strings.Split(line, " | "); len(cells) > 1 {
				rows[strings.ToLower(strings.TrimPrefix(cells[0], "| "))] = 0
				n++
			}
		}
		if !ok || n < 8 {
			t.Fatalf("%s: %d rows were read below %q", at[0], n, at[1])
		}
	}
	for _, g := range groups() {
		for _, try := range g.tries() {
			found := try.row == ""
			for row := range rows {
				if try.row != "" && strings.Contains(row, strings.ToLower(try.row)) {
					rows[row]++
					found = true
				}
			}
			if !found {
				t.Errorf("%s: %q is no row of SERVE.md or SYSTEM.md", try.what, try.row)
			}
		}
	}
	for row, n := range rows {
		if n == 0 {
			t.Errorf("no try shows the row %q", row)
		}
	}
}
