//go:build !unix

package mcptools

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func terminateGroup(pid int) { killGroup(pid) }

// killGroup ends the process; those that it has started see the end of their input.
func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
