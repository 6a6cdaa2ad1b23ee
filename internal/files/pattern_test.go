package files_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/files"
)

// The part of a pattern in front of its first element with a mark, without the backslashes that quote.
func TestUnmarked(t *testing.T) {
	for pattern, want := range map[string]struct {
		fixed string
		whole bool
	}{
		"/a/b":      {"/a/b", true},
		"/a/*.md":   {"/a", false},
		"/a/b?/c":   {"/a", false},
		"/a/[b]/c":  {"/a", false},
		`/a/\*/c`:   {"/a/*/c", true},
		`/a/\*/c*`:  {"/a/*", false},
		`end\`:      {"end", true},
		"name":      {"name", true},
		"na*e":      {"", false},
		"":          {"", true},
		"/*":        {"", false},
		`/a/\[b/c]`: {"/a/[b/c]", true},
	} {
		if fixed, whole := files.Unmarked(pattern); fixed != want.fixed || whole != want.whole {
			t.Errorf("%s: %q, %v", pattern, fixed, whole)
		}
	}
}
