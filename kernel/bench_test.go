package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// BenchmarkHooksThatDoNotMatch compares a decision that none of 1,000 hooks is asked about with one
// of 10: x-1000 is the ratio of the two times.
func BenchmarkHooksThatDoNotMatch(b *testing.B) {
	var hosts []*host
	for _, n := range []int{10, 1000} {
		var hooks []hook
		for i := range n {
			hooks = append(hooks, hook{name: fmt.Sprint("h", i), spec: func(s *kernel.BindingSpec) {
				s.Match = &tiers.Match{Tools: "^(read|write|edit)$"}
			}})
		}
		h, err := tryHost(b, hooks)
		if err != nil {
			b.Fatal(err)
		}
		hosts = append(hosts, h)
	}
	var spent [2]time.Duration
	n := 0
	for b.Loop() {
		for i := range hosts { // they take turns
			at := (i + n) % len(hosts)
			start := time.Now()
			for range 5 {
				if v, err := hosts[at].Invoke(b.Context(), invocation(phases.PreTool)); err != nil || len(v.Hooks) != 0 {
					b.Fatal(v, err)
				}
			}
			spent[at] += time.Since(start)
		}
		n++
	}
	b.ReportMetric(float64(spent[0].Nanoseconds())/float64(5*n), "ns/10")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-1000")
}
