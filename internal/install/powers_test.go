package install

import (
	"slices"
	"testing"

	"github.com/belay-hooks/belay/hostcalls"
)

// Each call that is more than a look at the action is known here: a new one is decided about, and not overlooked.
func TestPowersOfEachCall(t *testing.T) {
	reads := []string{"check_lease", "state_get", "time_now", "random"}
	restricts := []string{"block", "request_approval", "clamp_scopes"}
	beyond := []string{"rewrite", "redact", "annotate", "add_context", "retry", "reply", "put_artifact", "grant",
		"request_tool_call", "request_lease", "mint_lease", "revoke_lease", "http_request", "state_put"}
	for _, c := range hostcalls.Table() {
		gotReads, gotBeyond := powers([]string{c.Name})
		looks := c.Group == hostcalls.GroupFree || c.Group == hostcalls.GroupAnalysis || slices.Contains(restricts, c.Name)
		switch {
		case slices.Contains(reads, c.Name):
			if len(gotReads) != 1 || len(gotBeyond) != 0 {
				t.Errorf("%s reads, and is said to do more", c.Name)
			}
		case slices.Contains(beyond, c.Name):
			if len(gotReads) != 0 || len(gotBeyond) != 1 {
				t.Errorf("%s does more than restrict, and is not said to", c.Name)
			}
		case !looks:
			t.Errorf("%s: decide whether it changes anything", c.Name)
		case len(gotReads)+len(gotBeyond) != 0:
			t.Errorf("%s restricts, and is said to do more", c.Name)
		}
		if got := acceptable([]string{c.Name}); got != looks {
			t.Errorf("%s: bound without a person's decision: %v", c.Name, got)
		}
	}
	if _, beyond := powers([]string{"something_new"}); len(beyond) != 1 || acceptable([]string{"something_new"}) {
		t.Error("a call that is not known is harmless")
	}
}
