package peercred

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// UID asks the system who is at the other end of a unix socket: of one that was accepted
// the user who connected, of one that was dialed the user who listens, each at that time.
func UID(c syscall.Conn) (uid int, err error) {
	return askSocket(c, func(fd int) (uint32, error) {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return 0, err
		}
		return cred.Uid, nil
	})
}
