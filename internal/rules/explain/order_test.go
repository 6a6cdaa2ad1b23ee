package explain_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/phases"
)

// A call of more commands, paths or hosts than a rule looks at is blocked for the one that a rule names, wherever the
// member stands that holds it.
func TestTheOrderOfMembersDoesNotChooseTheAnswer(t *testing.T) {
	w := open(t)
	bench, err := loader.OpenBench(loader.BenchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bench.Close() })
	module, err := rules.Compile("order.yaml", []byte(`version: rules/v1
rules:
  - {name: push, when: {command: git push}, block: no}
  - {name: env, when: {path: .env}, block: no}
  - {name: paste, when: {host: p.io}, block: no}
`), w.engine, rules.Judges)
	if err != nil {
		t.Fatal(err)
	}
	r := rigOf(t, bench, module)
	for _, call := range []struct {
		tool, named, others string
		n                   int
	}{
		{"run_it", `"command":"git push"`, `"o%d":{"command":"ls"}`, 70},
		{"run_it", `"file":".env"`, `"o%d":{"file":"a.txt"}`, 70},
		{"web_fetch", `"file":".env"`, `"o%d":{"file":"a%[1]d.txt"}`, 1100},
		{"web_fetch", `"url":"https://p.io/"`, `"o%d":{"url":"https://h%[1]d.example.com/"}`, 5000},
	} {
		members := []string{call.named}
		for i := range call.n {
			members = append(members, fmt.Sprintf(call.others, i))
		}
		for range 2 {
			v, err := r.Decide(context.Background(),
				rig.Case{Invocation: tool(call.tool, "{"+strings.Join(members, ",")+"}")})
			if err != nil || v.Decision != phases.Block || v.Kind != phases.KindPolicy {
				t.Errorf("%d members, first %s: %s (%s) %v", len(members), members[0], v.Decision, v.Reason, err)
			}
			slices.Reverse(members)
		}
	}
}
