package harnesstest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/belay-hooks/belay/harness/harnesstest"
)

// TestHook in your own package is one line: the folder holds the module and its cases.
func ExampleRun() {
	TestHook := func(t *testing.T) { harnesstest.Run(t, "../../examples-wasm/command-guard") }
	fmt.Println("passed:", passes(TestHook))
	// Output: passed: true
}

// passes runs a test as `go test` does, without its output.
func passes(test func(*testing.T)) bool {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer null.Close()
	stdout := os.Stdout
	os.Stdout = null
	defer func() { os.Stdout = stdout }()
	all := func(_, _ string) (bool, error) { return true, nil }
	return testing.RunTests(all, []testing.InternalTest{{Name: "TestHook", F: test}})
}
