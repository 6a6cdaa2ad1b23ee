package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/phases"
)

const withoutExecutableMemory = "BELAY_TEST_NO_EXECUTABLE_MEMORY"

// Where memory may not be made executable hooks run on the interpreter, and belay knows.
func TestEngineIsKnown(t *testing.T) {
	if os.Getenv(withoutExecutableMemory) == "" {
		if !Compiles() || !HasCompiler() {
			t.Error("no compiler where there is one")
		}
		self := exec.Command(os.Args[0], "-test.run=^TestEngineIsKnown$", "-test.v")
		self.Env = append(os.Environ(), withoutExecutableMemory+"=1")
		if out, err := self.CombinedOutput(); err != nil {
			t.Errorf("without executable memory: %v\n%s", err, out)
		}
		return
	}
	const setMDWE, refuseExecGain = 65, 1 // PR_SET_MDWE, as systemd's MemoryDenyWriteExecute sets it
	if err := unix.Prctl(setMDWE, refuseExecGain, 0, 0, 0); errors.Is(err, unix.EINVAL) {
		t.Skip("this kernel cannot refuse executable memory (it came with Linux 6.3)")
	} else if err != nil {
		t.Fatal(err)
	}
	if Compiles() || !HasCompiler() {
		t.Error("the compiler is said to work")
	}
	m := load(t, open(t, Options{}), guest(t, "loops"))
	if o := run(t, m, RunRequest{Phase: phases.PreSend, Timeout: -1}, lsAction); o.Kind != "" {
		t.Errorf("%q %s", o.Kind, o.Cause)
	}
}
