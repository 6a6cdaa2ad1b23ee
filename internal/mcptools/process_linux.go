package mcptools

import "syscall"

// ownGroup puts a server into a group of its own, and has it killed when we die.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
