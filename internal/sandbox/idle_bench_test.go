package sandbox

import (
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// BenchmarkIdleInstance tells how much memory an instance holds that waits for a run: pages that it alone has. The
// image, which all instances of a module share, is told beside it.
func BenchmarkIdleInstance(b *testing.B) {
	cases := benchCases(b)[3:]
	cases = append(cases, benchCase{"standard-go", withManifest(b, goGuest(b)), phases.PreTool, lsAction})
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			opts := LoadOptions{MemoryCap: 32 << 20}
			if c.name == "standard-go" { // too large to be tried out just so
				opts.Class, opts.Declared = Installed, &Declared{Phases: []phases.Phase{phases.PreTool, phases.PrePlan,
					phases.PreSend, phases.PostTool, phases.Audit}}
			}
			m, err := open(b, Options{}).Load(b.Context(), c.file, opts)
			if err != nil {
				b.Fatal(err)
			}
			p, ok := m.instances.(*pooledInstances)
			if !ok {
				b.Fatal("its instances are not used again")
			}
			for range b.N + 3 {
				if _, err := m.Run(b.Context(), RunRequest{Phase: c.phase, Timeout: -1,
					Session: session(b, c.phase, c.action)}); err != nil {
					b.Fatal(err)
				}
			}
			if len(p.idle) != 1 {
				b.Fatalf("%d instances wait", len(p.idle))
			}
			b.ReportMetric(float64(p.idle[0].private)/1024, "KiB/instance")
			b.ReportMetric(float64(p.state.image.bytes)/1024, "KiB/image")
		})
	}
}
