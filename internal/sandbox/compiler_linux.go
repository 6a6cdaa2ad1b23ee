package sandbox

import (
	"os"
	"runtime"
	"syscall"
)

// compilerAttributes has the process killed when the thread that started it ends, and
// puts it into a group of its own, so that a signal from a terminal is its parent's to
// handle.
func compilerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// holdThread keeps the calling goroutine on its thread.
func holdThread() (unlock func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// ownProgram is this program's file, also when another file has its name by now; "" when
// the system does not say.
func ownProgram() string {
	const path = "/proc/self/exe"
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
