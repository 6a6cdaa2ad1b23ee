package hookrunner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/adapters/internal/hookrunner"
)

type values = []hookrunner.Value

// TestMerge: the rules of the runner, one by one. make test-agents runs the same cases with OpenClaw's own runner.
func TestMerge(t *testing.T) {
	for _, c := range hookrunner.Cases() {
		got, ran := hookrunner.Merge(c.Hook, c.Values)
		if diff := cmp.Diff(c.Want, got); diff != "" || ran != c.Ran {
			t.Errorf("%s: %s: %d handlers ran, want %d: %s", c.Hook, c.Name, ran, c.Ran, diff)
		}
	}
}

// TestEveryRuleHasACase: no rule of the profile stands without a case.
func TestEveryRuleHasACase(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range hookrunner.Cases() {
		seen[c.Hook] = true
	}
	for name, h := range hookrunner.Hooks() {
		if h.Kind != hookrunner.Observe && !seen[name] {
			t.Errorf("%s has no case", name)
		}
	}
	if got, _ := hookrunner.Merge("agent_end", values{{"block": true}}); got != nil {
		t.Errorf("the value of a hook that only observes counts: %v", got)
	}
	if n := len(hookrunner.Hooks()); n != 42 {
		t.Errorf("%d hooks, the client has 42", n)
	}
}
