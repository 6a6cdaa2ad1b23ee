package main

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func stop(a []string) error { return syscall.Kill(number(a[0]), syscall.SIGSTOP) }

// trace attaches to a process as a debugger does.
func trace(a []string) error {
	runtime.LockOSThread()
	return syscall.PtraceAttach(number(a[0]))
}

// peek reads the memory of a process.
func peek(a []string) error {
	buf := make([]byte, 8)
	_, err := unix.ProcessVMReadv(number(a[0]), []unix.Iovec{{Base: &buf[0], Len: 8}},
		[]unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	return err
}

// limit takes the file descriptors of a process away.
func limit(a []string) error {
	return unix.Prlimit(number(a[0]), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1}, nil)
}

// enter goes into the mount namespace of a process.
func enter(a []string) error {
	f, err := os.Open("/proc/" + a[0] + "/ns/mnt")
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Setns(int(f.Fd()), unix.CLONE_NEWNS)
}

func setuid(a []string) error { return syscall.Setuid(number(a[0])) }

// settime sets the clock of the machine a day back.
func settime([]string) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return err
	}
	now.Sec -= 24 * 60 * 60
	if os.Getuid() == 0 {
		panic("this would set the clock of the machine")
	}
	return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
}

// few becomes a program that may open no more than so many files, and use so many bytes of memory; 0: any.
func few(a []string) error {
	if n := uint64(number(a[0])); n > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return err
		}
	}
	if n := uint64(number(a[1])); n > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return err
		}
	}
	return syscall.Exec(a[2], a[2:], os.Environ())
}
