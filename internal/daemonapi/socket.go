package daemonapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/belay-hooks/belay/internal/peercred"
)

// Classes of errors, for errors.Is. Package client gives them to its callers.
var (
	// ErrNotRunning: no daemon serves the state directory. It is never returned
	// when one is there and does not answer as it should.
	ErrNotRunning = errors.New("client: no daemon serves this state directory")
	// ErrSick: there is a daemon, and it does not answer, or not as it should.
	ErrSick = errors.New("client: the daemon does not answer as it should")
	// ErrPeer says that what listens is not the daemon of this user, or that others could have
	// put it there. Nothing was sent to it. It is ErrSick as well.
	ErrPeer error = &subclass{ErrSick, "it is not the daemon of this user"}
)

// subclass is a class of errors within another one. Its text is put together when it is read: a program
// that starts for each event of an agent mostly needs none.
type subclass struct {
	class error
	text  string
}

// Error implements error.
func (s *subclass) Error() string { return s.class.Error() + ": " + s.text }

// Unwrap returns the class that it is in.
func (s *subclass) Unwrap() error { return s.class }

// PeerError returns an error of class ErrPeer.
func PeerError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrPeer, fmt.Errorf(format, args...))
}

// DialTime bounds how long connecting takes.
const DialTime = 5 * time.Second

// placeTime is how long a caller of the machine's daemon waits while another user's connections take all places of
// those who wait to be accepted. The daemon makes some free within milliseconds.
const placeTime = 2 * time.Second

// Socket connects to the daemon's socket, and to nothing else: the socket and its directory
// belong to this process's user, others cannot write to the directory, and the process that
// listens runs as that user. For the machine's sockets that user is root, for whom systemd listens.
// It is safe for concurrent use.
type Socket struct {
	Path string

	UID int // the user; a test puts another one
	// for a place, where all that wait to be accepted are taken; at least 1 ms, or none
	Wait time.Duration
	Peer func(syscall.Conn) (int, error) // who listens at the other end
}

// SocketAt returns the socket at a path, without looking at it.
func SocketAt(path string) *Socket {
	if machineSocket(path) {
		return &Socket{Path: path, UID: 0, Peer: peercred.UID, Wait: placeTime}
	}
	return &Socket{Path: path, UID: os.Geteuid(), Peer: peercred.UID}
}

// Dial returns a connection on which nothing was sent yet. The error is ErrPeer, or that of
// connecting.
func (s *Socket) Dial(ctx context.Context) (Conn, error) {
	conn, err := dial(ctx, s.Path, s.Wait)
	if err != nil {
		return nil, err
	}
	if err := s.check(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// DialDir is Dial for the daemon that serves a state directory. The error is ErrNotRunning
// when there is certainly none: no socket, or one that a daemon has left behind; otherwise
// ErrSick or ErrPeer. For SystemDir it is never ErrNotRunning: nothing stands in for the machine's daemon.
func DialDir(ctx context.Context, dir string) (Conn, error) {
	s := SocketAt(filepath.Join(dir, SocketName))
	conn, err := s.Dial(ctx)
	switch {
	case err == nil:
		return conn, nil
	case machineSocket(s.Path):
		return nil, asSick(err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s", ErrNotRunning, dir)
	case errors.Is(err, syscall.ECONNREFUSED) && !held(filepath.Join(dir, LockName)):
		return nil, fmt.Errorf("%w: %s", ErrNotRunning, dir)
	case errors.Is(err, syscall.EINVAL) && len(s.Path) > 100: // no socket can have such a path
		if _, serr := os.Lstat(s.Path); errors.Is(serr, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s", ErrNotRunning, dir)
		}
	}
	return nil, asSick(err)
}

func asSick(err error) error {
	if errors.Is(err, ErrSick) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrSick, err)
}

// check looks at the process first: what stands in the directory may change meanwhile, and
// who listens on this connection does not.
func (s *Socket) check(conn Conn) error {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return PeerError("the connection is no unix socket")
	}
	uid, err := s.Peer(socket)
	if err != nil {
		return PeerError("the system does not say who listens on %s: %w", s.Path, err)
	}
	if uid != s.UID {
		return PeerError("the user with uid %d listens on %s, not uid %d", uid, s.Path, s.UID)
	}
	fi, err := os.Lstat(s.Path)
	if err != nil {
		return PeerError("%w", err)
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return PeerError("%s is no socket but leads elsewhere", s.Path)
	}
	if owner, ok := peercred.Owner(fi); !ok || owner != s.UID {
		return PeerError("%s belongs to another user", s.Path)
	}
	dir := filepath.Dir(s.Path)
	if fi, err = os.Stat(dir); err != nil {
		return PeerError("%w", err)
	}
	if owner, ok := peercred.Owner(fi); !ok || owner != s.UID {
		return PeerError("%s belongs to another user", dir)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return PeerError("others can write to %s: chmod 700 it", dir)
	}
	return nil
}
