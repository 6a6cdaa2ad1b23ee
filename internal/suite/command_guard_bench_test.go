package suite_test

import (
	"os"
	"slices"
	"testing"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// BenchmarkCommandGuard reports what the guard's own turn takes for a command of a developer's day, parser included:
// the median and the 99th of a hundred, in microseconds by the clock, and the fuel of the median. Each command counts
// by the quickest of five turns.
func BenchmarkCommandGuard(b *testing.B) {
	module, err := os.ReadFile("../../examples-wasm/command-guard/command-guard.wasm")
	if err != nil {
		b.Fatal(err)
	}
	engine, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	hook := engine.Hook("command-guard", module)
	commands := readLabelled(b, "testdata/command-guard/day_tuned.jsonl")
	for b.Loop() {
		var turns, fuel []int64
		for _, l := range commands {
			quickest, used := int64(-1), int64(0)
			for range 5 {
				res, err := hook.Run(b.Context(), &suite.Case{Name: "one", Input: suite.Input{
					Phase: phases.PreTool, Action: l.action(), CWD: "/home/dev/project"}})
				if err != nil {
					b.Fatal(err)
				}
				turn := res.Verdict.Hooks[0]
				if us := turn.DurationUS; quickest < 0 || us < quickest {
					quickest, used = us, turn.Fuel
				}
			}
			turns, fuel = append(turns, quickest), append(fuel, used)
		}
		slices.Sort(turns)
		slices.Sort(fuel)
		b.ReportMetric(float64(turns[len(turns)/2]), "median-us/turn")
		b.ReportMetric(float64(turns[len(turns)*99/100]), "p99-us/turn")
		b.ReportMetric(float64(fuel[len(fuel)/2]), "median-fuel/turn")
	}
}
