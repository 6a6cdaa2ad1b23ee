package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
)

// maxSocketPath is the longest path that the address of a unix socket can hold.
const maxSocketPath = 103

// listenUnix makes the socket, mode 0600 whatever the umask. Preconditions: the
// lock is held, so that an existing socket has no owner; the directory is
// closed to other users, so that none connects before the mode is set.
func listenUnix(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("%w: %s is longer than the %d bytes that the path of a socket may have", ErrState, path,
			maxSocketPath)
	}
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case fi.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%w: %s is in the way and no socket", ErrState, path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // Server.release removes it, in its own order
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// loopback returns the address if it is one of this machine's loopback addresses,
// written as a number: a name could come to mean another address.
func loopback(s string) (string, error) {
	a, err := netip.ParseAddrPort(s)
	if err != nil || !a.Addr().IsLoopback() || a.Addr().Zone() != "" || a.Addr().Is4In6() {
		return "", fmt.Errorf("%w: %q; give 127.0.0.1:PORT or [::1]:PORT", ErrAddress, s)
	}
	return a.String(), nil
}

// hostsOf lists what a Host header may say at the address. Anything else is a
// name that some web page has made to point here.
func hostsOf(addr string) []string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil
	}
	return []string{addr, net.JoinHostPort("localhost", port)}
}

type peerKey struct{}

// peer is what the system says about a connection.
type peer struct {
	unix bool
	uid  int // of the other end of a unix socket; -1 when it cannot be told
	tcp  *eitherConn
}

// plain reports whether requests come over TCP without TLS.
func (p peer) plain() bool { return !p.unix && (p.tcp == nil || !p.tcp.secure.Load()) }

func (s *Server) connContext(ctx context.Context, c net.Conn) context.Context {
	if l, ok := c.(*limitedConn); ok {
		c = l.inner()
	}
	p := peer{uid: -1}
	p.tcp, _ = c.(*eitherConn)
	if u, ok := c.(*net.UnixConn); ok {
		p.unix = true
		if uid, err := s.o.Peer(u); err == nil {
			p.uid = uid
		}
	}
	return context.WithValue(ctx, peerKey{}, p)
}

func peerOf(ctx context.Context) peer {
	if p, ok := ctx.Value(peerKey{}).(peer); ok {
		return p
	}
	return peer{uid: -1}
}
