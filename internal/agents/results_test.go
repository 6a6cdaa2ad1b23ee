package agents_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/agents"
)

// The page holds the tables of the results as the files have them.
func TestThePageHoldsTheResults(t *testing.T) {
	clients, err := agents.Read("results")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/AGENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := agents.Insert(string(page), agents.Tables(clients))
	if err != nil || want != string(page) {
		t.Errorf("docs/AGENTS.md holds other tables; `go run ./internal/agents/table` writes them: %v", err)
	}
}

// A run of one group leaves the others as they were.
func TestOver(t *testing.T) {
	older := agents.Client{Results: []agents.Result{{Group: "verdict", Case: "1"}, {Group: "verdict", Case: "2"},
		{Group: "failure", Case: "3"}, {Group: "other", Case: "5"}}}
	got := agents.Client{Name: "Toy", Results: []agents.Result{{Group: "verdict", Case: "4"}}}.Over(older)
	want := []agents.Result{{Group: "verdict", Case: "4"}, {Group: "failure", Case: "3"}, {Group: "other", Case: "5"}}
	if got.Name != "Toy" || !slices.Equal(got.Results, want) || len(older.Results) != 4 || older.Results[0].Case != "1" {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A run in system mode takes the place of that level alone, and other runs leave it as it was.
func TestOverInSystemMode(t *testing.T) {
	user := agents.Result{Group: "verdict", Case: "1", Level: agents.User, Got: "held"}
	system := agents.Result{Group: "verdict", Case: "1", Level: agents.System, Got: "open"}
	way := agents.Result{Group: "way past", Case: "2", Level: agents.User}
	older := agents.Client{Results: []agents.Result{user, system, way}}
	for name, k := range map[string]struct{ ran, want []agents.Result }{
		"in system mode": {[]agents.Result{{Group: "verdict", Case: "3", Level: agents.System}},
			[]agents.Result{user, {Group: "verdict", Case: "3", Level: agents.System}, way}},
		"elsewhere": {[]agents.Result{{Group: "verdict", Case: "3", Level: agents.User}},
			[]agents.Result{{Group: "verdict", Case: "3", Level: agents.User}, system, way}},
	} {
		if got := (agents.Client{Results: k.ran}).Over(older).Results; !slices.Equal(got, k.want) {
			t.Errorf("%s: %+v, want %+v", name, got, k.want)
		}
	}
}

// A person who runs the tests reads what was seen, case by case.
func TestSummary(t *testing.T) {
	got := agents.Summary([]agents.Client{{Name: "Toy", Version: "1.2", Results: []agents.Result{
		{Group: "verdict", Case: "a", Got: "held"}, {Group: "way past", Case: "w", Got: "open", Note: "n"}}}})
	want := "\nToy 1.2\n" + strings.Repeat(" ", 17) + "VERDICT\n  held           a\n" +
		strings.Repeat(" ", 17) + "WAY PAST\n  open           w\n" + strings.Repeat(" ", 19) + "n\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A table has a row for each case, in their order, with a cell for each level that the client was tried at, and each
// note once.
func TestTables(t *testing.T) {
	got := agents.Tables([]agents.Client{{Name: "Toy", Version: "1.2", Results: []agents.Result{
		{Group: "verdict", Case: "b", Level: agents.User, Got: "held", Note: "n"},
		{Group: "verdict", Case: "b", Level: agents.Managed, Got: "held", Note: "n"},
		{Group: "way past", Case: "w", Level: agents.User, Got: "open"},
		{Group: "verdict", Case: "a|b", Level: agents.Project, Got: "open", Note: "m"},
	}}})
	want := "### Toy 1.2\n\n| verdict | user | project | managed | |\n|---|---|---|---|---|\n" +
		"| b | held |  | held | n |\n| a\\|b |  | open |  | m |\n" +
		"\n| way past | user | project | managed | |\n|---|---|---|---|---|\n| w | open |  |  |  |\n\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	wide := agents.Tables([]agents.Client{{Name: "Toy", Version: "2", Results: []agents.Result{
		{Group: "verdict", Case: "a", Level: agents.Local, Got: "held"},
		{Group: "verdict", Case: "a", Level: agents.Managed, Got: "open"}}}})
	if want := "### Toy 2\n\n| verdict | local | managed | |\n|---|---|---|---|\n" +
		"| a | held | open |  |\n\n"; wide != want {
		t.Errorf("%s\nwant\n%s", wide, want)
	}
	page := "a\n<!-- results: make test-agents -->\nold\n<!-- end of results -->\nb\n"
	out, err := agents.Insert(page, got)
	again, err2 := agents.Insert(out, got)
	if err := errors.Join(err, err2); err != nil || again != out || !strings.HasPrefix(out, "a\n") ||
		!strings.HasSuffix(out, "\nb\n") || strings.Contains(out, "old") {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := agents.Insert("a page", got); !errors.Is(err, agents.ErrPage) {
		t.Error(err)
	}
}
