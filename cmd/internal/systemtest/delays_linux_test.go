package systemtest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
)

// delays are how long each of several questions took, in µs.
type delays []int

func (w delays) at(percent int) int {
	if len(w) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(w))
	return sorted[len(sorted)*percent/100]
}

func (w delays) median() int { return w.at(50) }
func (w delays) p99() int    { return w.at(99) }

// Of each flood and each way to ask: how much longer bob waits while alice floods. Figures, and no test; they are the
// table of docs/BENCHMARKS.md. In each of the rounds that BELAY_FLOOD_ROUNDS says, bob asks alone and beside the flood.
func TestFloodFigures(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("BELAY_FLOOD_ROUNDS"))
	if err != nil || rounds < 1 {
		t.Skip("make bench-system measures this, with BELAY_FLOOD_ROUNDS")
	}
	if !inNamespace(t) {
		return
	}
	fmt.Println("| control groups | alice floods with | bob asks by | alone: median, 99th, µs | beside: median, 99th, µs | 99th, ratio | in rounds |\n" +
		"|---|---|---|---:|---:|---:|---|")
	for _, flat := range []bool{false, true} {
		groups := map[bool]string{false: "as systemd's", true: "one for all"}[flat]
		t.Run(groups, func(t *testing.T) {
			m := floodedMachine(t, flat)
			for _, c := range []struct{ kind, way string }{
				{"all", "frames"}, {"all", "http"}, {"all", "hook"}, {"questions", "frames"}, {"sessions", "frames"}, {"large", "frames"},
				{"connections", "hook"}, {"bodies", "frames"}, {"unread", "frames"}, {"drops", "frames"},
			} {
				m.figures(groups, c.kind, c.way, rounds)
			}
		})
	}
}

// figures prints one row: the medians of the rounds, and the ratio of each.
func (m *machine) figures(groups, kind, way string, rounds int) {
	m.t.Helper()
	n := map[string]int{"hook": 100}[way]
	if n == 0 {
		n = 400
	}
	var alone, beside [2]delays // medians, 99th
	var ratios delays           // in tenths
	for range rounds {
		before := m.asks(bob, way, n)
		end := m.flood(kind, 3)
		during := m.asks(bob, way, n)
		end()
		alone[0], alone[1] = append(alone[0], before.median()), append(alone[1], before.p99())
		beside[0], beside[1] = append(beside[0], during.median()), append(beside[1], during.p99())
		ratios = append(ratios, 10*during.p99()/max(1, before.p99()))
	}
	slices.Sort(ratios)
	all := ""
	for _, r := range ratios {
		all += fmt.Sprintf("%d.%d ", r/10, r%10)
	}
	r := ratios.median()
	fmt.Printf("| %s | %s | %s | %d, %d | %d, %d | %d.%d× | %s|\n", groups, kind, way, alone[0].median(), alone[1].median(),
		beside[0].median(), beside[1].median(), r/10, r%10, all)
}
