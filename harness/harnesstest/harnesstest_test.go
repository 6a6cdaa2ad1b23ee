package harnesstest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/harness/harnesstest"
)

func TestRun(t *testing.T) { harnesstest.Run(t, "testdata/same") }

// A test that is to fail runs in a process of its own.
func TestInner(t *testing.T) {
	dir := os.Getenv("BELAY_INNER")
	if dir == "" {
		dir = "testdata/same"
	}
	harnesstest.Run(t, dir)
}

func TestRunFails(t *testing.T) {
	for dir, wants := range map[string][]string{
		"testdata/other":  {"--- FAIL: TestInner/session.rec", "invocation 1 (pre_tool exec): decision decision", "is:  allow"},
		"testdata/broken": {"--- FAIL: TestInner/cases/wishful", "decision: want allow, got block", "--- FAIL: TestInner/session.rec", "session.rec:3: the recording was changed"},
		"testdata":        {"holds neither cases nor recordings"},
		"testdata/none":   {"no such file"},
	} {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestInner$")
		cmd.Env = append(os.Environ(), "BELAY_INNER="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: passed", dir)
		}
		for _, want := range wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", dir, want, out)
			}
		}
	}
}
