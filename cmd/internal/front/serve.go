package front

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/system"
)

// Tenant serves one user.
type Tenant interface {
	// Serve answers until ctx ends, and then as long as what has begun takes.
	Serve(ctx context.Context) error
	// Quiet says how long no connection has been open: 0 while one is.
	Quiet() time.Duration
	Close() error
}

// Options are what a front needs: all members but Held, Refused, Directory, Retry, Logger and Peer.
type Options struct {
	HTTP, Frames net.Listener // the machine's sockets; closed by Serve
	// Config returns what system.yaml says now. With an error all are refused.
	Config func() (*system.Config, error)
	// Open makes the server of a user, who asks on the two listeners.
	Open  func(ctx context.Context, uid int, config *system.Config, http, frames net.Listener) (Tenant, error)
	Known func() (users int, err error) // how many users have a state directory
	Has   func(uid int) bool            // whether this one has
	// Held says why a user is not served although they may ask, such as for want of space, by what is known: it must not
	// take time. Nil: none is held.
	Held func(uid int, config *system.Config) error
	// Refused is told of each caller that is refused. It must not wait. Nil: none is told.
	Refused   func(Refusal)
	Directory system.Directory
	Retry     time.Duration // until a server is opened again that could not be, or has ended; default 1 s
	Logger    *slog.Logger  // nil discards
	// Peer says who is at the other end of a socket; nil: the system does. A test puts another one.
	Peer func(syscall.Conn) (uid int, err error)
}

// Front accepts connections. Safe for concurrent use.
//
// Its two loops do for a connection only what takes no time: they ask for the peer, and look up what is known of that
// user. Whatever may take time for one user goes on in a goroutine of that user's, see look.
type Front struct {
	o        Options
	log      *slog.Logger
	overflow int
	refusals *refusals

	admitting sync.Mutex // one user at a time gets a server, so that users.max holds

	mu      sync.Mutex
	callers map[int]*caller
	ending  bool
	work    sync.WaitGroup
}

// New returns a front that has not begun.
func New(o Options) *Front {
	o.Retry = cmp.Or(o.Retry, time.Second)
	if o.Peer == nil {
		o.Peer = peercred.UID
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Front{o: o, log: o.Logger, overflow: system.OverflowUID(), refusals: newRefusals(o.Logger, o.Refused),
		callers: map[int]*caller{}}
}

// Serve hands connections on until ctx ends. Then it accepts no more, waits until every user's server has ended, and
// returns nil. Another error is that of a listener.
func (f *Front) Serve(ctx context.Context) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 2)
	go func() { failed <- f.accept(serving, f.o.HTTP, false) }()
	go func() { failed <- f.accept(serving, f.o.Frames, true) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	f.mu.Lock()
	f.ending = true
	f.mu.Unlock()
	_ = f.o.HTTP.Close()
	_ = f.o.Frames.Close()
	stop()
	f.work.Wait()
	return err
}

// firstWait and mostWait bound the pause after a failure to accept, such as for want of descriptors.
const (
	firstWait = 5 * time.Millisecond
	mostWait  = time.Second
)

func (f *Front) accept(ctx context.Context, l net.Listener, framed bool) error {
	wait := firstWait
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			wait = firstWait
			f.hand(ctx, conn, framed)
			continue
		case errors.Is(err, net.ErrClosed):
			return nil
		case !passing(err):
			return err
		}
		f.log.LogAttrs(ctx, slog.LevelWarn, "no connection can be accepted", slog.Any("error", err))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		wait = min(2*wait, mostWait)
	}
}

// hand gives the connection to the server of its peer, or ends it with the reason.
func (f *Front) hand(ctx context.Context, conn net.Conn, framed bool) {
	uid, err := f.peer(conn)
	if err == nil {
		err = f.give(ctx, uid, arrival{conn, framed})
	}
	if err != nil {
		f.refusals.refuse(conn, framed, uid, err)
	}
}

// peer returns the uid at the other end.
func (f *Front) peer(conn net.Conn) (int, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, because(CodePeer, "this is no unix socket")
	}
	uid, err := f.o.Peer(socket)
	if err != nil {
		return -1, because(CodePeer, "the system does not say who asks")
	}
	if uid == f.overflow {
		return uid, because(CodeNoUID, "this user has no uid on this machine, such as one of another user namespace")
	}
	return uid, nil
}
