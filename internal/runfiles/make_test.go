package runfiles

import (
	"fmt"
	"strings"
	"testing"
)

// What a make would run is told with its values put in, as the file gives them.
func TestRecipesHaveTheirValues(t *testing.T) {
	const text = "R = rm\nR += -f\nD ?= out\nD ?= other\nNOW = first\nall: $(NOW)\n\t$(R) ${D} $$HOME\nNOW = second\n" +
		"first:\n\techo first\nsecond:\n\techo second\n%.x: dep\n\techo x\nd%:\n\techo d\ndep: ; @inline\n"
	for _, c := range []struct {
		goals []string
		want  string
	}{
		{nil, "rm -f out $HOME\necho first\n"},
		{[]string{"second"}, "echo second\n"},
		{[]string{"d.x"}, "echo x\necho d\n@inline\n"}, // make takes one of the two: both are told
		{[]string{"none"}, ""},
	} {
		if got, ok := recipes(text, c.goals); !ok || got != c.want {
			t.Errorf("%v: %q %v, want %q", c.goals, got, ok, c.want)
		}
	}
}

// A file of rules that stands for more than is told, or for much work, is told as too long.
func TestRecipesAreBounded(t *testing.T) {
	var values, patterns, doubling, deep strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&values, "V%d = x\nt%d: $(Q)\n", i, i)
		fmt.Fprintf(&patterns, "t%d%%: t%dx\n\techo\n", i, i+1)
	}
	doubling.WriteString("A0 = " + strings.Repeat("x", 4000) + "\n")
	for i := range 4 {
		fmt.Fprintf(&doubling, "A%d = %s\n", i+1, strings.Repeat(fmt.Sprintf("$(A%d)", i), 60))
	}
	doubling.WriteString("all:\n\techo $(A4)\n")
	deep.WriteString("A = x\n" + strings.Repeat("A += x\n", 100_000) + "all:\n\techo\n")
	for name, c := range map[string]struct {
		text, goal string
		ok         bool
	}{
		"many values":         {values.String(), "t1", true},
		"many patterns":       {patterns.String(), "t0x", false},
		"values of values":    {doubling.String(), "all", false},
		"a value that grows":  {deep.String(), "all", false},
		"an open reference":   {"all:\n\techo " + strings.Repeat("$(", 1<<20) + "\n", "all", false},
		"many recipes":        {"all:\n" + strings.Repeat("\techo one\n", 10_000), "all", false},
		"many scripts' lines": {"all: " + strings.Repeat("t ", 1<<20) + "\nt:\n\techo\n", "all", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := recipes(c.text, []string{c.goal})
			if ok != c.ok || len(got) > maxRunText || !ok && got != "" {
				t.Errorf("%v, %d bytes", ok, len(got))
			}
		})
	}
}

// No number of scripts, names or letters hides what stands behind them.
func TestNothingHidesBehindMuch(t *testing.T) {
	var many strings.Builder
	many.WriteString(`{"scripts":{"s0":"npm run s1"`)
	for i := 1; i < 200; i++ {
		fmt.Fprintf(&many, `,"s%d":"npm run s%d"`, i, i+1)
	}
	many.WriteString(`}}`)
	if out, ok := scripts(many.String(), []string{"s0"}); ok || out != "" {
		t.Errorf("a long row of scripts: %v %q", ok, out)
	}
	line := strings.Repeat("codex "+strings.Repeat("x", 900), 12) + "\u0130 .CLAUDE/settings.json"
	if out := around(line); !strings.Contains(out, ".CLAUDE/settings.json") {
		t.Errorf("the end of a long line is not told: %q", out)
	}
}
