package belay_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
)

// BenchmarkOpening opens a state directory whose belay.yaml binds one module many times.
func BenchmarkOpening(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var config strings.Builder
			config.WriteString("version: belay/v1\nhooks:\n")
			for i := range n {
				fmt.Fprintf(&config, "  - {name: guard-%d, module: 'builtin:command-guard', priority: %d, "+
					"capabilities: [block, request_approval, shell_parse, pattern_match], config: {rules: {push: block}}}\n", i, i%90)
			}
			dir := b.TempDir()
			write(b, filepath.Join(dir, "belay.yaml"), config.String())
			for b.Loop() {
				host, err := belay.Open(b.Context(), dir, belay.Options{InMemory: true})
				if err != nil {
					b.Fatal(err)
				}
				if err := host.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
