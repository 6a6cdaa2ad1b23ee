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
	// Held says why a user is not served although they may ask, such as for want of space; nil: none is held.
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
type Front struct {
	o        Options
	log      *slog.Logger
	overflow int
	refusals *refusals

	mu      sync.Mutex
	may     map[int]error // by uid: what MayAsk says under config
	config  *system.Config
	tenants map[int]*tenant
	ending  bool
	work    sync.WaitGroup
}

// tenant is a user whose server is open, or being opened.
type tenant struct {
	http, frames *conduit
	drop         context.CancelFunc
	until        time.Time // set: the server could not be opened; connections are refused until then
	why          error
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
		tenants: map[int]*tenant{}}
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
		err = f.give(ctx, uid, conn, framed)
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

func (f *Front) give(ctx context.Context, uid int, conn net.Conn, framed bool) error {
	config, err := f.o.Config()
	if err != nil {
		return because(CodeUnsound, "the machine's belay is not configured as it should be: root finds the reason with `belay system status`")
	}
	if err := f.mayAsk(uid, config); err != nil {
		return because(CodeNotAllowed, err.Error())
	}
	if f.o.Held != nil {
		if err := f.o.Held(uid, config); err != nil {
			return because(CodeSpace, err.Error())
		}
	}
	t, err := f.tenant(ctx, uid, config)
	if err != nil {
		return err
	}
	to := t.http
	if framed {
		to = t.frames
	}
	if !to.give(conn) {
		return because(CodeConnections, "all connections of this user are taken, or their server is being stopped: "+
			"limits.connections of "+system.ConfigFile)
	}
	return nil
}

// mayAsk is MayAsk, looked up once for each user and configuration: an agent connects for each of its events, and users
// and groups stand in files. A configuration is read anew each second, so that a change of a group counts after that.
func (f *Front) mayAsk(uid int, config *system.Config) error {
	f.mu.Lock()
	if f.config != config {
		f.config, f.may = config, map[int]error{}
	}
	err, known := f.may[uid]
	f.mu.Unlock()
	if known {
		return err
	}
	err = config.MayAsk(uid, f.o.Directory)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.config == config {
		f.may[uid] = err
	}
	return err
}

// tenant returns the user's, and opens it where it is the first connection.
func (f *Front) tenant(ctx context.Context, uid int, config *system.Config) (*tenant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return nil, because(CodeStopping, "belay is being stopped")
	}
	if t := f.tenants[uid]; t != nil {
		if t.why == nil {
			return t, nil
		}
		if time.Now().Before(t.until) {
			return nil, t.why
		}
	}
	if !f.o.Has(uid) {
		if n, err := f.o.Known(); err != nil || n+f.begun() >= config.Users.Max {
			return nil, because(CodeUsers, "as many users as may ask have a state directory: users.max of "+system.ConfigFile)
		}
	}
	t := &tenant{http: newConduit(f.o.HTTP.Addr(), config.Limits.Connections),
		frames: newConduit(f.o.Frames.Addr(), config.Limits.Connections)}
	serving, drop := context.WithCancel(ctx)
	t.drop = drop
	f.tenants[uid] = t
	f.work.Go(func() {
		defer drop()
		f.run(serving, uid, config, t)
		if serving.Err() == nil || ctx.Err() != nil {
			return
		}
		f.mu.Lock() // dropped: the next connection opens the server again, unless the user is held
		defer f.mu.Unlock()
		if f.tenants[uid] == t {
			delete(f.tenants, uid)
		}
	})
	return t, nil
}

// begun counts the users whose first server is being opened, and who have no state directory yet. Preconditions: f.mu is
// held.
func (f *Front) begun() (n int) {
	for uid, t := range f.tenants {
		if t.why == nil && !f.o.Has(uid) {
			n++
		}
	}
	return n
}

// run serves a user until the end. A server that cannot be opened, or ends, refuses the user's connections for a while:
// opening it costs more than asking.
func (f *Front) run(ctx context.Context, uid int, config *system.Config, t *tenant) {
	defer t.http.Close()
	defer t.frames.Close()
	server, err := f.o.Open(ctx, uid, config, t.http, t.frames)
	if err == nil {
		err = errors.Join(server.Serve(ctx), server.Close())
	}
	if ctx.Err() != nil {
		return
	}
	f.log.LogAttrs(ctx, slog.LevelError, "the server of a user cannot go on", slog.Int("uid", uid), slog.Any("error", err))
	f.mu.Lock()
	defer f.mu.Unlock()
	t.why = because(CodeServer, "the server of this user cannot be opened: root finds the reason with `belay system status`")
	t.until = time.Now().Add(f.o.Retry)
}

// Drop ends the server of a user, if it is open. What has begun is decided first.
func (f *Front) Drop(uid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.tenants[uid]; t != nil && t.drop != nil {
		t.drop()
	}
}

// Users returns the uids whose servers are open, in no order.
func (f *Front) Users() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []int
	for uid, t := range f.tenants {
		if t.why == nil {
			out = append(out, uid)
		}
	}
	return out
}
