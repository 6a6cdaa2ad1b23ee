package belay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

const shortOfOne = `version: belay/v1
hooks:
  - name: guard
    module: builtin:command-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse]
`

// A state directory of today may bind a hook with an import that it does not grant. It
// opens, nothing of it is changed, and what ran without a power blocks its phases and
// says which one, until it is granted.
func TestUngrantedImportBlocks(t *testing.T) {
	dir := state(t, shortOfOne)
	b := open(t, dir, belay.Options{})
	v, err := b.Invoke(t.Context(), exec("ls"))
	if v.Decision != phases.Block || v.Kind != phases.KindLoad || phases.FaultOf(err) == nil ||
		!strings.Contains(v.Reason, "pattern_match") || !strings.Contains(v.Reason, "belay doctor --fix") {
		t.Errorf("%s %s %q, want a block of kind load that names the capability and the command", v.Decision, v.Kind,
			v.Reason)
	}
	if s := b.Bindings()[0]; !strings.Contains(s.Problem, "pattern_match") {
		t.Errorf("status: %+v", s)
	}
	if src, err := os.ReadFile(filepath.Join(dir, "belay.yaml")); err != nil || string(src) != shortOfOne {
		t.Errorf("belay.yaml was changed: %s %v", src, err)
	}
	write(t, filepath.Join(dir, "belay.yaml"), strings.Replace(shortOfOne, "shell_parse", "shell_parse, pattern_match", 1))
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := invoke(t, b, exec("ls")); v.Decision != phases.Allow {
		t.Errorf("granted: %+v", v)
	}
}
