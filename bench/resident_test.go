package main

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestReported(t *testing.T) {
	out := fmt.Sprintf("goos: linux\nBenchmarkIdleInstance/guard-c-%d \t 100\t 53296 ns/op\t 12.00 KiB/instance\n",
		runtime.GOMAXPROCS(0))
	of, err := reported([]byte(out + "PASS\n"))
	if err != nil || of["IdleInstance/guard-c"]["KiB/instance"] != 12 {
		t.Errorf("%v, %v", of, err)
	}
	for _, bad := range []string{"PASS\n", "BenchmarkX-2 1 y ns/op\n"} {
		if of, err := reported([]byte(bad)); err == nil {
			t.Errorf("%q: %v", bad, of)
		}
	}
}

func TestFactsOnAPage(t *testing.T) {
	r := result{group: group{name: "idle", about: "memory", facts: idleFacts},
		found: []fact{{"a daemon", "1 MB", 1, "n"}}}
	var b strings.Builder
	r.page(&b)
	const want = "\nMemory.\n\n|  | measured |  |\n|---|---:|---|\n| a daemon | 1 MB | n |\n"
	if b.String() != want {
		t.Error(b.String())
	}
}
