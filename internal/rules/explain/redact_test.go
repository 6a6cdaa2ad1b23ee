package explain_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/phases"
)

// A rule that redacts replaces what its phase may replace, all of it or nothing: where there is more than
// one call may change, the action is blocked with a reason.
func TestWhatIsRedacted(t *testing.T) {
	const rule = `version: rules/v1
rules:
  - {name: hide, phase: [pre_tool, post_tool, pre_send], when: {}, redact: {match: 'secret[0-9]', label: x}}
`
	w := open(t)
	bench, err := loader.OpenBench(loader.BenchOptions{Interpreter: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bench.Close() })
	module, err := rules.Compile("rules.yaml", []byte(rule), w.engine, rules.Changes)
	if err != nil {
		t.Fatal(err)
	}
	r := rigOf(t, bench, module)
	texts := func(n int) string { return strings.Repeat(`"a secret1",`, n-1) + `"b secret2"` }
	for _, c := range []struct {
		name, phase, action string
		changed             int // texts
		reason              string
	}{
		{"one among others", "pre_tool", `{"tool":"x","args":{"a":"no","b":["secret1 secret2"]}}`, 1, ""},
		{"arguments after the call", "post_tool", `{"tool":"x","args":{"a":"secret1"},"result":{"b":"secret2"}}`, 1, ""},
		{"sixty", "pre_tool", `{"tool":"x","args":{"a":[` + texts(60) + `]}}`, 60, ""},
		{"seventy", "pre_tool", `{"tool":"x","args":{"a":[` + texts(70) + `]}}`, 0,
			"there is more text than the rule hide can replace"},
		{"a long line", "pre_tool", `{"tool":"x","args":{"a":"` + strings.Repeat("secret1 ", 3000) + `"}}`, 0,
			"there is more text than the rule hide can search"},
		{"many lines", "pre_tool", `{"tool":"x","args":{"a":"` + strings.Repeat(`line\n`, 3000) +
			strings.Repeat(`secret1\n`, 300) +
			`"}}`, 1, ""},
	} {
		inv, err := phases.DecodeInvocation(fmt.Appendf(nil,
			`{"phase":%q,"runtime":"x","session":"s","agent":"main","cwd":"/repo","action":%s}`, c.phase, c.action))
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.Decide(context.Background(), rig.Case{Invocation: inv})
		if err != nil {
			t.Errorf("%s: %s (%s) %v", c.name, v.Decision, v.Reason, err)
			continue
		}
		if c.reason != "" && (v.Decision != phases.Block || !strings.Contains(v.Reason, c.reason)) {
			t.Errorf("%s: %s (%s), want %s", c.name, v.Decision, v.Reason, c.reason)
		}
		changed := map[string]bool{} // a hook that changes an action is asked twice
		for _, h := range v.Hooks {
			for _, e := range h.Effects {
				changed[e.Path] = changed[e.Path] || e.Kind == phases.EffectRewrite
				if strings.Contains(string(e.Value), "secret") {
					t.Errorf("%s: %s becomes %.80s", c.name, e.Path, e.Value)
				}
			}
		}
		delete(changed, "")
		if len(changed) != c.changed {
			t.Errorf("%s: %d texts are changed, want %d", c.name, len(changed), c.changed)
		}
	}
}
