package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID asks the system who is at the other end of a unix socket.
func peerUID(c *net.UnixConn) (uid int, err error) {
	return askSocket(c, func(fd int) (uint32, error) {
		cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return 0, err
		}
		return cred.Uid, nil
	})
}
