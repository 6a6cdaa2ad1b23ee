package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// BenchmarkInvoke is one whole decision in memory with one hook in C, for profiles; proc-µs/op is processor time, of
// the runtime's own threads too.
func BenchmarkInvoke(b *testing.B) {
	root, err := filepath.Abs("..")
	if err != nil {
		b.Fatal(err)
	}
	y := &yard{settings: settings{root: root}, work: b.TempDir(), built: map[string]string{}}
	b.Cleanup(y.close)
	inv, module, err := y.parts(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	host, err := y.host(b.Context(), "profile", true, hooks(module, 1)...)
	if err != nil {
		b.Fatal(err)
	}
	sizes := map[string]phases.Invocation{"1KiB": inv}
	for _, kib := range []int{32, 960} {
		const line = "echo built the service and ran its tests on this machine\n"
		if sizes[fmt.Sprintf("%dKiB", kib)], err = withCommand(inv, strings.Repeat(line, kib<<10/len(line))); err != nil {
			b.Fatal(err)
		}
	}
	for _, size := range []string{"1KiB", "32KiB", "960KiB"} {
		one := invokes(host, sizes[size])
		b.Run(size, func(b *testing.B) {
			for range 20 {
				if err := one(b.Context()); err != nil { // the module and what it learns of harmless texts is warm
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			s := subject{}
			before := s.processor()
			for b.Loop() {
				if err := one(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((s.processor()-before).Nanoseconds())/1000/float64(b.N), "proc-µs/op")
		})
	}
}
