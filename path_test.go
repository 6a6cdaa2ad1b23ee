package belay_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// opened is a host for a benchmark, without configuration files.
func opened(b *testing.B, inMemory bool, hooks ...belay.AdHocHook) *belay.Belay {
	b.Helper()
	dir := b.TempDir()
	write(b, filepath.Join(dir, "belay.yaml"), "version: belay/v1\n")
	host, err := belay.Open(b.Context(), dir, belay.Options{Hooks: hooks, InMemory: inMemory})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { host.Close() })
	return host
}

// decide makes one decision; it must be to go on.
func decide(b *testing.B, host *belay.Belay, inv phases.Invocation) {
	if v, err := host.Invoke(b.Context(), inv); err != nil || v.Decision != phases.Allow {
		b.Fatal(v.Decision, v.Reason, err)
	}
}

// BenchmarkPath is the whole way of one pre_tool call by one caller, with records
// in memory and on disk, and with no hook, one that parses the command, and five.
func BenchmarkPath(b *testing.B) {
	guard := belay.AdHocHook{Path: example("command-guard")}
	five := []belay.AdHocHook{guard, {Path: example("ask-push")}, {Path: example("kill-switch")}}
	for i := range 2 { // the same again, as another binding
		five = append(five, belay.AdHocHook{Name: fmt.Sprintf("again-%d", i), Path: guard.Path})
	}
	for _, store := range []string{"memory", "sqlite"} {
		for _, hooks := range [][]belay.AdHocHook{nil, {guard}, five} {
			b.Run(fmt.Sprintf("%s/%d", store, len(hooks)), func(b *testing.B) {
				host := opened(b, store == "memory", hooks...)
				inv := exec("cd src && grep -rn 'next(' . | head -20")
				decide(b, host, inv)
				b.ReportAllocs()
				for b.Loop() {
					decide(b, host, inv)
				}
			})
		}
	}
}

// BenchmarkWriting compares a decision about an action of 64 KB while its hook
// writes metadata and state with the same while it says nothing: x-writing is the ratio
// of the two times. The secrets known of the action are redacted in the text that hooks
// write, so that the action is redacted before them, and not again.
func BenchmarkWriting(b *testing.B) {
	text := strings.Repeat(
		"The quick brown fox jumps over the lazy dog and then walks home through the wide green fields. ", 680)
	inv := exec("echo " + text)
	inv.Session = "" // or the metadata would be there already
	hosts := []*belay.Belay{
		opened(b, true, belay.AdHocHook{Name: "quiet", Module: babbler(0, spoken{"log", []string{"\x00", "-"}})}),
		opened(b, true,
			belay.AdHocHook{Name: "writes",
				Module: babbler(0, spoken{"annotate", []string{"k", `"v"`}}, spoken{"state_put", []string{"k", "v"}})}),
	}
	var spent [2]time.Duration
	n := 0
	for b.Loop() {
		for i := range hosts { // they take turns
			at := (i + n) % len(hosts)
			start := time.Now()
			for range 5 {
				decide(b, hosts[at], inv)
			}
			spent[at] += time.Since(start)
		}
		n++
	}
	b.ReportMetric(float64(spent[0].Nanoseconds())/float64(5*n), "ns/quiet")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-writing")
}
