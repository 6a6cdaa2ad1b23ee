//go:build unix

package mcptools

import "syscall"

func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) } // it may be gone already
func killGroup(pid int)      { _ = syscall.Kill(-pid, syscall.SIGKILL) }
