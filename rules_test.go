package belay_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// A rules file that has become faulty leaves the rules before in force: a reload says where the fault is, and nothing
// that comes after takes the file up.
func TestFaultyRulesLeaveTheOldOnesInForce(t *testing.T) {
	dir := state(t, "version: belay/v1\nhooks:\n  - {name: team, module: \"rules:rules.yaml\"}\n")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("version: rules/v1\nrules:\n  - {name: a, when: {tool: read}, block: the first}\n")
	b, err := belay.Open(t.Context(), dir, belay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	says := func(want string) {
		t.Helper()
		v, err := b.Invoke(t.Context(), phases.Invocation{Phase: phases.PreTool,
			Action: []byte(`{"tool":"read","args":{"path":"a"}}`)})
		if v.Decision != phases.Block || !strings.Contains(v.Reason, want) {
			t.Errorf("%s %q %v, want %q", v.Decision, v.Reason, err, want)
		}
	}
	says("the first")
	for _, c := range []struct{ text, want string }{
		{"version: rules/v1\nrules:\n  - {name: a, when: {tool: Read}, block: the second}\n", "rules.yaml:3:22: /rules/0/when/tool"},
		{"version: [", "rules.yaml:"},
		{"version: rules/v1\nrules:\n  - {name: a, when: {tool: read}, default: {/args/x: 1}}\n", "rules.yaml"},
	} {
		write(c.text)
		if err := b.Reload(t.Context()); !errors.Is(err, belay.ErrConfig) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		says("the first")
	}
	if err := os.Remove(filepath.Join(dir, "rules.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := b.Reload(t.Context()); !errors.Is(err, belay.ErrConfig) {
		t.Error(err)
	}
	says("the first")
	write("version: rules/v1\nrules:\n  - {name: a, when: {tool: read}, block: the third}\n")
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	says("the third")
}
