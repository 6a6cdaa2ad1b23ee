package redact

import (
	"slices"
	"strings"
	"testing"
)

// Each literal is seen wherever it stands, and only where it stands.
func TestLiterals(t *testing.T) {
	check := func(s string) {
		t.Helper()
		have := literalsIn(s)
		for _, text := range literalList {
			if got := have&literalOf(text) != 0; got != strings.Contains(s, text) {
				t.Errorf("%q in %.200q: %v", text, s, got)
			}
		}
	}
	if len(literalList) > 64 || len(literalSpots.spots) > 256 {
		t.Fatalf("%d literals with %d heads", len(literalList), len(literalSpots.spots))
	}
	for n, text := range literalList {
		if slices.Index(literalList, text) == n && len(text) < literalWindow {
			t.Errorf("%q is shorter than what is looked for", text)
		}
		for before := range 8 {
			for after := range 4 {
				check(strings.Repeat("x", before) + text + strings.Repeat("y", after))
			}
		}
		for end := range len(text) {
			check(text[:end])
			check(text[:end] + "-" + text[end+1:])
			check(text[end:])
		}
		check(text + literalList[(n*7+3)%len(literalList)])
	}
	for _, s := range corpusTexts(t) {
		check(s)
	}
}
