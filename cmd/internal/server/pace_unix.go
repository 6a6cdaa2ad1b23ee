//go:build unix

package server

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// readPaced reads what has come, in a turn. Until something has come it waits without one.
func readPaced(c net.Conn, b []byte, pace chan struct{}) (n int, err error) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return c.Read(b)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Read(func(fd uintptr) (done bool) {
		pace <- struct{}{}
		defer func() { <-pace }()
		for {
			n, err = syscall.Read(int(fd), b)
			if !errors.Is(err, syscall.EINTR) {
				return !errors.Is(err, syscall.EAGAIN)
			}
		}
	})
	switch {
	case failed != nil:
		return 0, failed // such as a deadline
	case err != nil:
		return 0, &net.OpError{Op: "read", Net: "unix", Err: os.NewSyscallError("read", err)}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
