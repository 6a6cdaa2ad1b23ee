//go:build unix

package daemonapi

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// dial connects to a unix socket. The system answers at once whether a process listens, so that no time
// bounds it. The error is that of the system, or of ctx.
func dial(ctx context.Context, path string) (Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fd, err := socket()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	for {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil && !errors.Is(err, syscall.EISCONN) { // connected by the call that was interrupted
		_ = syscall.Close(fd)
		return nil, &fs.PathError{Op: "connect", Path: path, Err: err}
	}
	// The runtime waits for a descriptor that does not block, and keeps its deadlines.
	return os.NewFile(uintptr(fd), path), nil
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
