package sandboxtest

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

const withoutExecutableMemory = "BELAY_TEST_NO_EXECUTABLE_MEMORY"

// setMDWE is PR_SET_MDWE with PR_MDWE_REFUSE_EXEC_GAIN, as systemd's
// MemoryDenyWriteExecute= sets it.
const setMDWE, refuseExecGain = 65, 1

// InProcessOfItsOwn runs the calling test again in a process whose memory may not be made
// executable. In that process it returns true, and the test goes on; in the first one it
// returns false when the other has ended, and has reported what failed there. Where the
// kernel knows no such processes (before Linux 6.3) it skips the test.
func InProcessOfItsOwn(t *testing.T) bool {
	t.Helper()
	if os.Getenv(withoutExecutableMemory) == "" {
		self := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		self.Env = append(os.Environ(), withoutExecutableMemory+"=1")
		if out, err := self.CombinedOutput(); err != nil {
			t.Errorf("without executable memory: %v\n%s", err, out)
		}
		return false
	}
	if err := unix.Prctl(setMDWE, refuseExecGain, 0, 0, 0); errors.Is(err, unix.EINVAL) {
		t.Skip("this kernel cannot refuse executable memory (it came with Linux 6.3)")
	} else if err != nil {
		t.Fatal(err)
	}
	return true
}
