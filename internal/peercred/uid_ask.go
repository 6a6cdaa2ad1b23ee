//go:build linux || darwin

package peercred

import "syscall"

// askSocket has ask look at the descriptor of the socket, which stays open
// meanwhile. Without an answer the uid is -1, which no user has.
func askSocket(c syscall.Conn, ask func(fd int) (uid uint32, err error)) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var uid uint32
	var askErr error
	if err := raw.Control(func(fd uintptr) { uid, askErr = ask(int(fd)) }); err != nil {
		return -1, err
	}
	if askErr != nil {
		return -1, askErr
	}
	return int(uid), nil
}
