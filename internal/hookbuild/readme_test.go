package hookbuild

import (
	"os"
	"strings"
	"testing"
)

// The hook that the README shows whole is the one that `belay hook new` makes, which
// is built, run and fuzzed by tests.
func TestReadmeShowsTheTemplate(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```rust\n")
	shown, _, ok := strings.Cut(rest, "```")
	src, err := templates.ReadFile("templates/rust/src/lib.rs.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	if !ok || len(shown) < 200 || !strings.Contains(string(src), shown) {
		t.Errorf("the README shows a hook that is not the template:\n%s", shown)
	}
}
