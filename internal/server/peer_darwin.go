package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID asks the system who is at the other end of a unix socket.
func peerUID(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Xucred
	var sysErr error
	if err := raw.Control(func(fd uintptr) { cred, sysErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) }); err != nil {
		return -1, err
	}
	if sysErr != nil {
		return -1, sysErr
	}
	return int(cred.Uid), nil
}
