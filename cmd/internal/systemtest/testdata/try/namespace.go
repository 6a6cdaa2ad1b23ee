package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// pivot becomes a program that runs as a user, in a mount namespace whose root is a directory: `pivot ROOT UID PROGRAM …`.
// A user whose root was changed by chroot could make no namespaces.
func pivot(a []string) error {
	runtime.LockOSThread()
	uid := number(a[1])
	for _, step := range []func() error{
		func() error { return unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS) },
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return os.Chdir(a[0]) },
		func() error { return unix.PivotRoot(".", ".") },
		func() error { return unix.Unmount(".", unix.MNT_DETACH) },
		func() error { return os.Chdir("/") },
		func() error { return syscall.Setgroups(nil) },
		func() error { return syscall.Setgid(uid) },
		func() error { return syscall.Setuid(uid) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return syscall.Exec(a[2], a[2:], os.Environ())
}

// namespace runs a program in a user namespace of this user's own: `namespace none|root [FROM:TO …] -- PROGRAM …`. With
// root it is root there, and each TO shows FROM.
func namespace(a []string) error {
	self := exec.Command("/proc/self/exe", append([]string{"mounted"}, a[1:]...)...)
	self.Stdin, self.Stdout, self.Stderr = os.Stdin, os.Stdout, os.Stderr
	self.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
	if a[0] == "root" {
		self.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		self.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	err := self.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		return err
	}
	return errSaid
}

func mounted(a []string) error {
	for i, m := range a {
		if m == "--" {
			return syscall.Exec(a[i+1], a[i+1:], os.Environ())
		}
		from, to, _ := strings.Cut(m, ":")
		if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return errors.New("no program")
}
