//go:build unix

package daemonapi

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// dial connects to a unix socket. The system answers at once whether a process listens. Where that takes in no more
// connections, it waits for a place at most as long as wait. The error is that of the system, or of ctx.
func dial(ctx context.Context, path string, wait time.Duration) (Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fd, err := socket()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	err = connect(fd, path)
	if errors.Is(err, syscall.EAGAIN) && wait >= time.Millisecond {
		err = connectLater(ctx, fd, path, wait)
	}
	if err != nil && !errors.Is(err, syscall.EISCONN) { // connected by the call that was interrupted
		_ = syscall.Close(fd)
		return nil, &fs.PathError{Op: "connect", Path: path, Err: err}
	}
	// The runtime waits for a descriptor that does not block, and keeps its deadlines.
	return os.NewFile(uintptr(fd), path), nil
}

func connect(fd int, path string) error {
	for {
		err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// connectLater waits for a place. The system gives one to those who wait in their order, and to those who only try
// again by luck: who floods tries the most.
func connectLater(ctx context.Context, fd int, path string, wait time.Duration) error {
	if end, ok := ctx.Deadline(); ok {
		wait = max(time.Millisecond, min(wait, time.Until(end)))
	}
	timeout := syscall.NsecToTimeval(int64(wait))
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &timeout); err != nil {
		return err
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		return err
	}
	err := connect(fd, path)
	return errors.Join(err, syscall.SetNonblock(fd, true))
}

// socket makes a stream socket that does not block, and that no program gets which this one starts.
func socket() (fd int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err != nil {
		return -1, err
	}
	syscall.CloseOnExec(fd)
	if err = syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}
