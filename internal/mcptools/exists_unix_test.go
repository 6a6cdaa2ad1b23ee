//go:build unix

package mcptools_test

import "syscall"

// exists reports whether there is a process of that number, which may have ended already.
func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }
