package guard_test

import (
	"os"
	"strings"
	"testing"
)

// What README.md shows under "Embed it" is the body of the example, which runs.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "## Embed it\n")
	_, rest, _ = strings.Cut(rest, "```go\n")
	shown, _, ok := strings.Cut(rest, "```")
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	unindented := strings.ReplaceAll(string(source), "\n\t", "\n")
	if !ok || len(shown) < 200 || !strings.Contains(unindented, shown) {
		t.Errorf("README.md shows an example that does not run:\n%s", shown)
	}
}
