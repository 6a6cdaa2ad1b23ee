package client

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// ErrPeer says that what listens is not the daemon of this user, or that others could have
// put it there. Nothing was sent to it. It is ErrSick as well.
var ErrPeer = daemonapi.ErrPeer

// dialSocket connects to a daemon's socket in the form that a transport takes.
func dialSocket(s *daemonapi.Socket) func(ctx context.Context, _, _ string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := s.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return transported{conn, s.Path}, nil
	}
}

// transported is a connection to a daemon's socket with what a transport asks for in addition.
type transported struct {
	daemonapi.Conn
	path string
}

// LocalAddr implements net.Conn: who asks has no name.
func (t transported) LocalAddr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// RemoteAddr implements net.Conn.
func (t transported) RemoteAddr() net.Addr { return &net.UnixAddr{Name: t.path, Net: "unix"} }

// asPeer keeps the class of an error that came out of the HTTP client.
func asPeer(err error) error {
	switch {
	case errors.Is(err, ErrPeer):
		return err
	case notKnown(err):
		return fmt.Errorf("%w: %w", ErrPeer, err)
	}
	return fmt.Errorf("%w: %w", ErrSick, err)
}
