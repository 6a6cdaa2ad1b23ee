//go:build !linux

package sandbox

import "syscall"

// compilerAttributes has nothing to add: the process ends with its standard input.
func compilerAttributes() *syscall.SysProcAttr { return nil }

func holdThread() (unlock func()) { return func() {} }

func ownProgram() string { return "" }
