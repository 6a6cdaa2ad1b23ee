package docs_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/prose"
)

// No sentence of a page is longer than a reader can hold, prose wraps, and no word hides what it means.
func TestPagesCanBeRead(t *testing.T) {
	sentences := 0
	for _, page := range pages(t) {
		text := read(t, page)
		for _, line := range prose.WideLines(text) {
			t.Errorf("%s:%d: the line is wider than %d columns", page, line, prose.MaxColumns)
		}
		for _, s := range prose.Sentences(text) {
			if sentences++; s.Words > prose.MaxWords {
				t.Errorf("%s:%d: a sentence of %d words: %s", page, s.Line, s.Words, s.Text)
			}
		}
		for line, word := range prose.Vague(text) {
			t.Errorf("%s:%d: the page says %q: CONTRIBUTING.md has the word to say", page, line, word)
		}
	}
	if sentences < 4000 {
		t.Errorf("only %d sentences were read", sentences)
	}
}
