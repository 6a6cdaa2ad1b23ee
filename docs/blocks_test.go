package docs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/prose"
)

// checked are the languages of blocks that cmd/internal/cli runs or decodes, and of what is only shown.
var checked = []string{"sh", "yaml", "json", "text"}

// Every block of a page of docs says its language, and where no test runs or decodes that language, what it needs or
// which test checks it. CONTRIBUTING.md has the marks.
func TestBlocksSayHowTheyAreChecked(t *testing.T) {
	blocks := 0
	for _, page := range pages(t) {
		if strings.Contains(page, "/") && !strings.HasPrefix(page, "docs/") {
			continue // pages of the examples and SDKs, which have tests of their own
		}
		for _, b := range prose.Blocks(read(t, page)) {
			blocks++
			if !slices.Contains(checked, b.Language) && b.Needs == "" && b.By == "" {
				t.Errorf("%s:%d: a block in %q has no mark", page, b.Line, b.Language)
			}
		}
	}
	if blocks < 150 {
		t.Errorf("only %d blocks were read", blocks)
	}
}
