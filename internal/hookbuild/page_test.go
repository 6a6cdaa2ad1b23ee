package hookbuild

import (
	"os"
	"strings"
	"testing"
)

// The hook that docs/HOOKS.md shows whole is the one that `belay hook new` makes, which
// is built, run and fuzzed by tests.
func TestHooksPageShowsTheTemplate(t *testing.T) {
	page, err := os.ReadFile("../../docs/HOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```rust\n")
	shown, _, ok := strings.Cut(rest, "```")
	src, err := templates.ReadFile("templates/rust/src/lib.rs.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	if !ok || len(shown) < 200 || !strings.Contains(string(src), shown) {
		t.Errorf("docs/HOOKS.md shows a hook that is not the template:\n%s", shown)
	}
}
