package suite_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// BenchmarkCommandGuard reports what the guard's own turn takes for a command of a developer's day.
func BenchmarkCommandGuard(b *testing.B) { benchGuard(b, "command-guard", "day_tuned.jsonl") }

// BenchmarkPathGuard reports what the guard's own turn takes for a command, path_resolve included.
func BenchmarkPathGuard(b *testing.B) { benchGuard(b, "path-guard", "commands_tuned.jsonl") }

// benchGuard reports a guard's turns over a corpus, parser included: the median and the 99th of a hundred, in
// microseconds by the clock and in fuel. Each command counts by the quickest of five turns.
func benchGuard(b *testing.B, name, corpus string) {
	b.Helper()
	module, err := os.ReadFile(filepath.Join("../../examples-wasm", name, name+".wasm"))
	if err != nil {
		b.Fatal(err)
	}
	engine, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	hook := engine.Hook(name, module)
	commands := readLabelled(b, filepath.Join("testdata", name, corpus))
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
		b.ReportMetric(float64(fuel[len(fuel)*99/100]), "p99-fuel/turn")
	}
}
