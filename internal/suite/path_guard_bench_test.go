package suite_test

import (
	"os"
	"slices"
	"testing"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// BenchmarkPathGuard reports what the guard's own turn takes for a command, parser and path_resolve included:
// the median and the 99th of a hundred, in microseconds by the clock. Each command counts by the quickest of
// five turns.
func BenchmarkPathGuard(b *testing.B) {
	module, err := os.ReadFile("../../examples-wasm/path-guard/path-guard.wasm")
	if err != nil {
		b.Fatal(err)
	}
	engine, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	hook := engine.Hook("path-guard", module)
	commands := readLabelled(b, "testdata/path-guard/commands_tuned.jsonl")
	for b.Loop() {
		var turns []int64
		for _, l := range commands {
			quickest := int64(-1)
			for range 5 {
				res, err := hook.Run(b.Context(), &suite.Case{Name: "one", Input: suite.Input{
					Phase: phases.PreTool, Action: l.action(), CWD: "/home/dev/project"}})
				if err != nil {
					b.Fatal(err)
				}
				if us := res.Verdict.Hooks[0].DurationUS; quickest < 0 || us < quickest {
					quickest = us
				}
			}
			turns = append(turns, quickest)
		}
		slices.Sort(turns)
		b.ReportMetric(float64(turns[len(turns)/2]), "median-us/turn")
		b.ReportMetric(float64(turns[len(turns)*99/100]), "p99-us/turn")
	}
}
