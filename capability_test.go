package belay_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// TestUnknownCapability: a capability that is misspelt in belay.yaml is not one that
// the hook silently does without.
func TestUnknownCapability(t *testing.T) {
	b := open(t,
		state(t, "version: belay/v1\nhooks:\n  - name: guard\n    module: builtin:kill-switch\n    capabilities: [block, shel_parse]\n"), belay.Options{})
	v, _ := b.Invoke(t.Context(), exec("ls"))
	if v.Decision != phases.Block || v.Kind != phases.KindLoad ||
		!strings.Contains(v.Reason, `"shel_parse" is not a capability`) {
		t.Errorf("%s %s %q", v.Decision, v.Kind, v.Reason)
	}
}
