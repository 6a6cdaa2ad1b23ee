//go:build unix

package postgres

import (
	"crypto/tls"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// heard reports whether something can be read from a connection now: its end, too. It reads nothing and does not wait,
// also where the client library still waits for the next byte: it does so after a write that took long.
func heard(c net.Conn) bool {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	of, ok := c.(syscall.Conn)
	if !ok {
		return true // to read shows it
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return true
	}
	something := true
	err = raw.Control(func(fd uintptr) {
		for {
			n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
			if err == unix.EINTR {
				continue
			}
			something = n > 0 || err != unix.EAGAIN && err != unix.EWOULDBLOCK
			return
		}
	})
	return err != nil || something
}
