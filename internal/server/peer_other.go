//go:build !linux && !darwin

package server

import (
	"errors"
	"net"
)

// peerUID cannot tell here, so that nobody gets in by the socket.
func peerUID(*net.UnixConn) (int, error) {
	return -1, errors.New("this system does not say who is at the other end of a socket")
}
