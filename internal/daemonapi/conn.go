package daemonapi

import (
	"io"
	"time"
)

// Conn is a connection to a daemon, as much of net.Conn as asking takes. A hook command starts for each
// event of an agent, and does not link package net for a unix socket.
type Conn interface {
	io.ReadWriteCloser
	SetDeadline(t time.Time) error
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}
