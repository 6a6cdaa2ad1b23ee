package explain_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// kinds are rules that do not match, found in different ways. The number is of the rule.
func kinds() map[string]string {
	return map[string]string{
		"program": "command: tool%d run --force",
		"flag":    "command: git sub%d --flag",
		"path":    "path: '**/secret-%d/**'",
		"host":    "host: host-%d.example",
		"text":    "text: {match: 'needle-%d[a-z]'}",
		"tool":    "own_tool: tool-%d",
	}
}

func noMatch(kind string, n int) string {
	var b strings.Builder
	b.WriteString("version: rules/v1\nrules:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: r%d, when: {%s}, block: no}\n", i, fmt.Sprintf(kinds()[kind], i))
	}
	return b.String()
}

// rigOf runs a module in the compiled sandbox.
func rigOf(t testing.TB, bench *loader.Bench, module []byte) *rig.Rig {
	t.Helper()
	h, err := bench.Load(context.Background(), loader.BenchHook{Name: "rules", Module: module, Tier: phases.Sandboxed})
	if err != nil {
		t.Fatal(err)
	}
	r, err := rig.Open(context.Background(), rig.Options{Config: &kernel.Config{Revision: "x",
		Bindings: []kernel.BindingSpec{{Name: "rules"}}},
		Wrap:   func(_ kernel.BindingSpec, l *kernel.Loaded) kernel.Hook { return l.Hook },
		Loader: rig.LoaderFunc(func(context.Context, kernel.BindingSpec) (*kernel.Loaded, error) { return h, nil })})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

const ordinary = "cd web && git -C sub commit -m 'a longer message, as people write them' && npm test -- --grep users | tail -n 20"

// BenchmarkRulesThatDoNotMatch measures a whole invocation, the start of the instance included.
func BenchmarkRulesThatDoNotMatch(b *testing.B) {
	w := open(b)
	bench, err := loader.OpenBench(loader.BenchOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { bench.Close() })
	for _, kind := range []string{"program", "flag", "path", "host", "text", "tool"} {
		for _, n := range []int{10, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				module, err := rules.Compile("x", []byte(noMatch(kind, n)), w.engine, rules.Judges)
				if err != nil {
					b.Fatal(err)
				}
				r := rigOf(b, bench, module)
				inv := command(ordinary)
				b.ResetTimer()
				for range b.N {
					v, err := r.Decide(context.Background(), rig.Case{Invocation: inv})
					if err != nil || v.Decision != phases.Allow {
						b.Fatal(v.Decision, v.Reason, err)
					}
					b.ReportMetric(float64(v.Hooks[0].Fuel), "fuel/op")
				}
			})
		}
	}
}
