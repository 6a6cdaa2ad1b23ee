package guard_test

import (
	"os"
	"strings"
	"testing"
)

// What docs/EMBED.md shows is the body of the example, which runs.
func TestEmbedPageShowsTheExample(t *testing.T) {
	page, err := os.ReadFile("../docs/EMBED.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```go\n")
	shown, _, ok := strings.Cut(rest, "```")
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	unindented := strings.ReplaceAll(string(source), "\n\t", "\n")
	if !ok || len(shown) < 200 || !strings.Contains(unindented, shown) {
		t.Errorf("docs/EMBED.md shows an example that does not run:\n%s", shown)
	}
}
