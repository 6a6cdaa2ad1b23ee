package shell

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkCommands parses each command of testdata/commands.txt and testdata/wrappers.txt. It reports the median and
// the 99th percentile of the time for one, of the quickest of several rounds.
func BenchmarkCommands(b *testing.B) {
	var commands []string
	for _, file := range []string{"testdata/commands.txt", "testdata/wrappers.txt"} {
		src, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(src)) {
			line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ⇒ ")
			if line != "" && !strings.HasPrefix(line, "#") {
				commands = append(commands, strings.ReplaceAll(line, `\n`, "\n"))
			}
		}
	}
	quickest := make([]time.Duration, len(commands))
	for b.Loop() {
		for i, command := range commands {
			start := time.Now()
			Parse(command)
			if d := time.Since(start); quickest[i] == 0 || d < quickest[i] {
				quickest[i] = d
			}
		}
	}
	slices.Sort(quickest)
	b.ReportMetric(float64(quickest[len(quickest)/2].Nanoseconds()), "ns-median")
	b.ReportMetric(float64(quickest[len(quickest)*99/100].Nanoseconds()), "ns-p99")
	b.ReportMetric(float64(quickest[len(quickest)-1].Nanoseconds()), "ns-most")
}
