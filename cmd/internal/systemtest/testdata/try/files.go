package main

import (
	"net"
	"os"
	"syscall"
)

func read(a []string) error {
	f, err := os.Open(a[0])
	if err == nil {
		_ = f.Close()
	}
	return err
}

func write(a []string) error {
	f, err := os.OpenFile(a[0], os.O_WRONLY|os.O_CREATE, 0o644)
	if err == nil {
		_ = f.Close()
	}
	return err
}

func mkdir(a []string) error   { return os.Mkdir(a[0], 0o700) }
func fifo(a []string) error    { return syscall.Mkfifo(a[0], 0o600) }
func symlink(a []string) error { return os.Symlink(a[0], a[1]) }
func hard(a []string) error    { return os.Link(a[0], a[1]) }
func remove(a []string) error  { return os.Remove(a[0]) }
func rename(a []string) error  { return os.Rename(a[0], a[1]) }
func chmod(a []string) error   { return os.Chmod(a[0], 0o777) }
func chown(a []string) error   { return os.Chown(a[0], os.Getuid(), -1) }

func list(a []string) error {
	_, err := os.ReadDir(a[0])
	return err
}

// bind leaves a socket at a path.
func bind(a []string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: a[0], Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

func connect(a []string) error {
	c, err := net.Dial("unix", a[0])
	if err == nil {
		_ = c.Close()
	}
	return err
}
