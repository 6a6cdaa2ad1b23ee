package phases_test

import (
	"slices"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// Only lines that begin so, on the level of information, name rules.
func TestRulesTold(t *testing.T) {
	for _, c := range []struct{ logs, want []string }{
		{nil, nil},
		{[]string{"info: rules: a, b-c", "info: rules: d, a"}, []string{"a", "b-c", "d"}},
		{[]string{"info: x rules: a", "warn: rules: b", "rules: c", "info: x\ninfo: rules: d"}, nil},
		{[]string{"info: rules: A, , a b, x)", "info: rules: e\nf"}, nil},
	} {
		if got := phases.RulesTold(c.logs); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.logs, got, c.want)
		}
	}
}
