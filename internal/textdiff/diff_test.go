package textdiff_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/textdiff"
)

func TestLines(t *testing.T) {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := lines.Draw(t, "a"), lines.Draw(t, "b")
		var gotA, gotB []string
		for _, l := range textdiff.Lines(a, b) {
			if l.Op != '+' {
				gotA = append(gotA, l.Text)
			}
			if l.Op != '-' {
				gotB = append(gotB, l.Text)
			}
		}
		if strings.Join(gotA, "") != strings.Join(a, "") || strings.Join(gotB, "") != strings.Join(b, "") {
			t.Fatalf("%q and %q came back as %q and %q", a, b, gotA, gotB)
		}
	})
	same, long := strings.Split(strings.Repeat("x", 3000), ""), strings.Split(strings.Repeat("y", 3000), "")
	if n := len(textdiff.Lines(same, long)); n != 6000 {
		t.Errorf("two long texts differ in %d lines", n)
	}
	got := textdiff.Near(textdiff.Lines(strings.Split("1 2 3 4 5 6 7 8 9", " "), strings.Split("1 2 3 4 X 6 7 8 9", " ")),
		1)
	want := []textdiff.Line{{' ', "…"}, {' ', "4"}, {'-', "5"}, {'+', "X"}, {' ', "6"}, {' ', "…"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
