package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/peercred"
)

// ErrPeer says that what listens is not the daemon of this user, or that others could have
// put it there. Nothing was sent to it. It is ErrSick as well.
var ErrPeer = fmt.Errorf("%w: it is not the daemon of this user", ErrSick)

// errPeer returns an error of class ErrPeer.
func errPeer(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrPeer, fmt.Errorf(format, args...))
}

// socketDialer connects to the daemon's socket, and to nothing else: the socket and its
// directory belong to uid, others cannot write to the directory, and the process that
// listens runs as uid.
type socketDialer struct {
	path   string
	uid    int
	peer   func(*net.UnixConn) (int, error)
	dialer net.Dialer
}

func newSocketDialer(path string) *socketDialer {
	return &socketDialer{path: path, uid: os.Geteuid(), peer: peercred.UID, dialer: net.Dialer{Timeout: dialTime}}
}

// dialContext is dial in the form that a transport takes.
func (d *socketDialer) dialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return d.dial(ctx)
}

// dial returns a connection on which nothing was sent yet. The error is ErrPeer, or that of
// connecting.
func (d *socketDialer) dial(ctx context.Context) (net.Conn, error) {
	conn, err := d.dialer.DialContext(ctx, "unix", d.path)
	if err != nil {
		return nil, err
	}
	if err := d.check(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// check looks at the process first: what stands in the directory may change meanwhile, and
// who listens on this connection does not.
func (d *socketDialer) check(conn net.Conn) error {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return errPeer("the connection is no unix socket")
	}
	uid, err := d.peer(u)
	if err != nil {
		return errPeer("the system does not say who listens on %s: %w", d.path, err)
	}
	if uid != d.uid {
		return errPeer("the user with uid %d listens on %s, not uid %d", uid, d.path, d.uid)
	}
	fi, err := os.Lstat(d.path)
	if err != nil {
		return errPeer("%w", err)
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return errPeer("%s is no socket but leads elsewhere", d.path)
	}
	if owner, ok := peercred.Owner(fi); !ok || owner != d.uid {
		return errPeer("%s belongs to another user", d.path)
	}
	dir := filepath.Dir(d.path)
	if fi, err = os.Stat(dir); err != nil {
		return errPeer("%w", err)
	}
	if owner, ok := peercred.Owner(fi); !ok || owner != d.uid {
		return errPeer("%s belongs to another user", dir)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return errPeer("others can write to %s: chmod 700 it", dir)
	}
	return nil
}

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
