package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID asks the system who is at the other end of a unix socket: whoever
// connected, at the time of connecting.
func peerUID(c *net.UnixConn) (uid int, err error) {
	return askSocket(c, func(fd int) (uint32, error) {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return 0, err
		}
		return cred.Uid, nil
	})
}
