package suite_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/suite"
)

// benchmarkSuite runs a suite of 1,000 small cases and its 1,000 invocations in turn,
// so that both see the same machine. The suite is read anew each time; the module is
// compiled before.
func benchmarkSuite(b *testing.B) {
	const cases = 1000
	var src strings.Builder
	src.WriteString("cases:\n")
	for i := range cases {
		fmt.Fprintf(&src,
			"  - name: case %d\n    phase: post_tool\n    action: {tool: exec, args: {}, result: \"line %d \\e[31mred\\e[0m\"}\n    want: {decision: allow, action: {/result: \"line %d red\"}}\n", i, i, i)
	}
	module, err := os.ReadFile("../../examples-wasm/strip-ansi/strip-ansi.wasm")
	if err != nil {
		b.Fatal(err)
	}
	h := engine(b, false).Hook("strip-ansi", module)
	dir := b.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	host, err := belay.Open(b.Context(), dir,
		belay.Options{InMemory: true, Hooks: []belay.AdHocHook{{Name: "strip-ansi", Module: module}}})
	if err != nil {
		b.Fatal(err)
	}
	defer host.Close()
	warm, err := suite.Parse([]byte(src.String()))
	if err != nil {
		b.Fatal(err)
	}
	if r, err := h.Run(b.Context(), &warm.Cases[0]); err != nil || !r.Passed() {
		b.Fatal(r.Differences, err)
	}
	var whole, bare time.Duration
	for b.Loop() {
		from := time.Now()
		s, err := suite.Parse([]byte(src.String()))
		if err != nil {
			b.Fatal(err)
		}
		for i := range s.Cases {
			if r, err := h.Run(b.Context(), &s.Cases[i]); err != nil || !r.Passed() {
				b.Fatal(r.Differences, err)
			}
		}
		whole += time.Since(from)
		from = time.Now()
		for i := range warm.Cases {
			inv, err := warm.Cases[i].Invocation()
			if err != nil {
				b.Fatal(err)
			}
			if _, err := host.Invoke(b.Context(), inv); err != nil {
				b.Fatal(err)
			}
		}
		bare += time.Since(from)
	}
	b.ReportMetric(whole.Seconds()/bare.Seconds(), "x/invocation")
	b.ReportMetric(float64(bare.Nanoseconds())/float64(b.N)/cases, "ns/invocation")
}
