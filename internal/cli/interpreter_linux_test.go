package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const withoutExecutableMemory = "BELAY_TEST_NO_EXECUTABLE_MEMORY"

// Where memory may not be made executable hooks run on the interpreter: status and
// doctor say so, and what forbids it.
func TestInterpreterIsShown(t *testing.T) {
	if os.Getenv(withoutExecutableMemory) == "" {
		self := exec.Command(os.Args[0], "-test.run=^TestInterpreterIsShown$", "-test.v")
		self.Env = append(os.Environ(), withoutExecutableMemory+"=1")
		if out, err := self.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const setMDWE, refuseExecGain = 65, 1 // PR_SET_MDWE, as systemd's MemoryDenyWriteExecute sets it
	if err := unix.Prctl(setMDWE, refuseExecGain, 0, 0, 0); errors.Is(err, unix.EINVAL) {
		t.Skip("this kernel cannot refuse executable memory (it came with Linux 6.3)")
	} else if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte("version: belay/v1\nhooks: []\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string][]string{
		"status": {"interpreter", "ready, degraded", "memory may not be made executable here"},
		"doctor": {"interpreter: about 40 times slower", "MemoryDenyWriteExecute="},
	} {
		_, out, log := belayOn(t.Context(), dir, nil, "", command)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s says nothing of %q:\n%s%s", command, w, out, log)
			}
		}
	}
}
