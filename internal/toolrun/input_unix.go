//go:build unix

package toolrun

import (
	"syscall"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// endInput tells the other end that nothing more is sent. What it still sends can be read.
func endInput(conn daemonapi.Conn) {
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_WR) }) // gone: it has ended
		}
	}
}
