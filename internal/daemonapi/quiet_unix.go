//go:build unix

package daemonapi

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Quiet reports whether a connection is open and nothing has come on it: then a question can be sent.
// It does not wait.
func Quiet(conn Conn) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		quiet = errors.Is(err, unix.EAGAIN) // 0 bytes without an error: it was closed
	})
	return err == nil && quiet
}
