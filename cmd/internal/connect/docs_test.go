package connect_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// docs/AGENTS.md has the table of ways past belay as the commands print it.
func TestWaysAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/AGENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := "| runtime | what is done | local | project | user | managed | by what, or what is left |\n" +
		"|---|---|---|---|---|---|---|\n"
	for _, w := range connect.Ways() {
		rows += fmt.Sprintf("| %s | %s |", w.Runtime, w.What)
		for _, l := range []connect.Level{connect.Local, connect.Project, connect.User, connect.Managed} {
			cell := "held"
			if w.Open(l) {
				cell = "**open**"
			}
			if !slices.Contains(connect.Levels(w.Runtime), l) {
				cell = "–"
			}
			rows += " " + cell + " |"
		}
		rows += " " + w.By + " |\n"
	}
	if !strings.Contains(string(page), rows) {
		t.Errorf("docs/AGENTS.md does not have the table as it is in code:\n%s", rows)
	}
}

// The versions that doctor calls tested are those of the runtimes' pages.
func TestTestedVersionsAreDocumented(t *testing.T) {
	for _, name := range connect.Runtimes() {
		page, err := os.ReadFile("../../../docs/runtimes/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		if name == "cursor" { // it was never run
			if len(connect.Tested(name)) > 0 ||
				!strings.Contains(string(page), "**This page comes from golden pairs, not from a run.**") {
				t.Errorf("%s: its page does not say that it was never run", name)
			}
			continue
		}
		if v := connect.Tested(name); len(v) == 0 || !strings.Contains(string(page), v[0]) {
			t.Errorf("%s: %s is not the version that its page speaks of", name, v)
		}
	}
}
