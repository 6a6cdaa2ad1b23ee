package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Classes of errors, for errors.Is.
var (
	// ErrRunning: another daemon serves the state directory.
	ErrRunning = errors.New("a daemon serves this state directory already")
	// ErrAddress: the address to listen on is not a loopback address with a port.
	ErrAddress = errors.New("not a loopback address")
	// ErrState: the state directory is not fit for a socket.
	ErrState = errors.New("the state directory cannot be served")
)

// Host is the served host, such as *belay.Belay. Safe for concurrent use.
type Host interface {
	dispatch.Host
	Reload(ctx context.Context) error
	Status(ctx context.Context) (wire.Status, error)
	Bindings() []wire.Hook
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
	Latches(ctx context.Context) ([]kernel.Latch, error)
	BeginRecording(ctx context.Context, r kernel.RecordOrder, o *approvals.Order, text string) error
	ClearLatch(ctx context.Context, key wire.Session, o *approvals.Order) error
	OverloadEnded(ctx context.Context) error
	AcceptConfig(ctx context.Context, revision string, o *approvals.Order) error
	Reconciled(ctx context.Context, r *wire.Reconciliation) error
	NoteAccess(ctx context.Context, a kernel.Access) error
	Approval(ctx context.Context, id string) (approvals.Item, error)
	Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error)
	SweepApprovals(ctx context.Context) error
	Propose(ctx context.Context, p approvals.Proposal, credential string) (it approvals.Item, changed bool, err error)
	// Decide may have changed belay.yaml when it says so: it is to be taken into use.
	Decide(ctx context.Context, id string, d approvals.Decision) (it approvals.Item, changed bool, err error)
	Leases(ctx context.Context, q leases.Query) ([]leases.View, error)
	MintLease(ctx context.Context, r leases.Request, h leases.Holder, person string) (*leases.View, error)
	MintApproved(ctx context.Context, id string) (*leases.View, error)
	RevokeLease(ctx context.Context, id string, prefix bool, person string) error
	CheckLease(ctx context.Context, q kernel.LeaseCheck) (*leases.View, error)
	Log() statelog.Public
}

// Options are the ways to serve. Dir is needed; zero members take the defaults.
type Options struct {
	Dir string // the state directory that Host has open
	// IP:PORT of a loopback address besides the socket; "" means none; port 0 picks one
	Listen    string
	TLSOnly   bool                        // refuse requests on Listen that come without TLS
	Runtimes  map[string]adapters.Adapter // by the name in /adapters/NAME
	Version   string                      // of the program
	User      string                      // whose agents these are; goes into the invocations of runtimes
	Tenant    *Tenant                     // of system mode, beside the user who runs the daemon; nil: none
	Logger    *slog.Logger                // nil discards
	Recorders *Recorders                  // the host's Recorder; nil: nothing can be recorded
	// LogDir returns the directory of a runtime whose sessions' logs are compared with belay's, "" for one whose
	// logs are not. Nil: none are.
	LogDir func(runtime string) string
	// LogDelay is how long the end of a session is past before its log is compared; default 6 s.
	LogDelay time.Duration

	// Peer says who is at the other end of a unix socket; nil: the system does. A test puts another one.
	Peer func(syscall.Conn) (uid int, err error)

	Running  int           // invocations decided at once; default 4 for each CPU, at least 8
	Queue    int           // invocations that may wait for their turn; default 128
	Patience time.Duration // how long they may; default 5 s
	Body     time.Duration // how long the body of a request may take to come; default 15 s
	Conns    int           // connections on each listener; default 512
	Streams  int           // clients that follow the events; default 32
	Drain    time.Duration // how long a stop waits for what has begun; default 20 s
	Watch    time.Duration // how often belay.yaml is looked at; default 1 s, negative never
}

// Drain is how long a stop waits for what has begun, unless Options say otherwise.
const Drain = 20 * time.Second

func (o Options) withDefaults() Options {
	o.Running = cmp.Or(o.Running, max(8, 4*runtime.GOMAXPROCS(0)))
	o.Queue = cmp.Or(o.Queue, 128)
	o.Patience = cmp.Or(o.Patience, 5*time.Second)
	o.Body = cmp.Or(o.Body, 15*time.Second)
	o.Conns = cmp.Or(o.Conns, 512)
	o.Streams = cmp.Or(o.Streams, 32)
	o.LogDelay = cmp.Or(o.LogDelay, reconcileDelay)
	o.Drain = cmp.Or(o.Drain, Drain)
	o.Watch = cmp.Or(o.Watch, time.Second)
	if o.Peer == nil {
		o.Peer = peercred.UID
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// How long one part of a request may take.
const (
	headerTime = 5 * time.Second
	refuseTime = time.Second      // for the body of a request that is refused without it
	decideTime = 60 * time.Second // above the chain's own deadlines, which are the ones that count
	writeTime  = 10 * time.Second
	idleTime   = 2 * time.Minute

	maxHeader = 16 << 10 // bytes
)

// Server serves one state directory. Safe for concurrent use.
type Server struct {
	host          Host
	o             Options
	log           *slog.Logger
	locked        *dirLock
	lost          bool   // another process has the directory, and perhaps a socket of its own; of Serve
	socket        string // path
	unix          net.Listener
	frames        *frameServer // nil before open
	tcp           net.Listener // nil without Options.Listen
	tenant        net.Listener // nil without Options.Tenant
	hosts         []string     // what a Host header may say on tcp
	http          *http.Server
	gate          *gate
	errands       chan struct{} // places of requests of the tenant that are no question; nil without one
	unread        chan struct{} // places of the tenant's large answers until they are read; nil without one
	pace          chan struct{} // of reads of the tenant's bodies
	inflight      *inflight     // nil without a tenant
	notifications *notifications
	logs          *reconciler
	tries         *tries // nil without Options.Tenant
	health        *shared[found]
	ending        *ending
	beliefs       beliefs
	since         time.Time

	limits []*limitedListener
	warned atomic.Int64 // when the log last said that there are too many connections; ns

	tokens  atomic.Pointer[tokens]
	streams atomic.Int64
	plain   atomic.Int64 // requests on tcp that came without TLS
	routes  []route

	calming    sync.Mutex     // one end of an overload at a time
	background sync.WaitGroup // what goes on behind answers; Serve waits for it

	// reloading keeps one reload at a time.
	reloading sync.Mutex
	// layering keeps one change of a user's layer at a time.
	layering  sync.Mutex
	badConfig atomic.Pointer[string] // why belay.yaml is not the one in use; nil when it is
}

// Open takes the state directory and its addresses. Nothing is answered before
// Serve. Errors are ErrRunning, ErrAddress, ErrState or those of the system.
// The caller closes the host after Serve has returned.
func Open(host Host, o Options) (*Server, error) {
	server := &Server{host: host, o: o.withDefaults(), since: time.Now(), notifications: newNotifications(),
		ending: newEnding(),
		health: newHealth(host, o.Tenant != nil), logs: newReconciler(o.LogDir)}
	server.log = server.o.Logger
	server.gate = newGate(server.o.Running, server.o.Queue, server.o.Patience)
	if h, ok := host.(awaying); ok {
		server.gate.away = h.StoreAway
	}
	if o.Tenant != nil {
		server.errands, server.inflight = make(chan struct{}, mostErrands), newInflight()
		server.unread, server.pace = make(chan struct{}, mostUnread), make(chan struct{}, 1)
		if o.Tenant.Share != nil {
			server.gate.among(o.Tenant.Share)
		}
	}
	server.tries = newTries(server)
	server.routes = server.table()
	if err := server.open(); err != nil {
		server.release()
		return nil, err
	}
	server.http = &http.Server{
		Handler:           server.handler(),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       server.connContext,
		ConnState:         connState,
		ErrorLog:          slog.NewLogLogger(server.log.Handler(), slog.LevelDebug),
	}
	server.http.RegisterOnShutdown(server.notifications.end)
	return server, nil
}

func (s *Server) open() error {
	dir, err := filepath.Abs(s.o.Dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	switch {
	case !fi.IsDir() || !ownedByUs(fi):
		return fmt.Errorf("%w: %s must be a directory of the user who serves it", ErrState, dir)
	case fi.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: others can look into %s: chmod 700 it", ErrState, dir)
	}
	listen := s.o.Listen
	if listen != "" {
		if listen, err = loopback(listen); err != nil {
			return err
		}
	}
	if s.locked, err = lock(dir); err != nil {
		return err
	}
	t, err := openTokens(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	s.tokens.Store(&t)
	s.socket = filepath.Join(dir, daemonapi.SocketName)
	if s.unix, err = listenUnix(s.socket); err != nil {
		return err
	}
	s.unix = s.limit(s.unix)
	if err := s.openFrames(dir); err != nil {
		return err
	}
	if s.o.Tenant != nil {
		s.tenant = s.limitTenant(s.o.Tenant.HTTP)
	}
	if listen != "" {
		identity, err := openIdentity(dir)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrState, err)
		}
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", listen, err)
		}
		either := &eitherListener{l,
			&tls.Config{Certificates: []tls.Certificate{identity}, MinVersion: tls.VersionTLS13,
				NextProtos: []string{"http/1.1"}}}
		s.tcp = s.limit(either)
		s.hosts = hostsOf(l.Addr().String())
	}
	return nil
}

// release gives back what open took. The socket goes first: who finds none works
// on the state directly, which is safe, since the log can be shared.
func (s *Server) release() {
	if s.unix != nil {
		if !s.lost {
			_ = os.Remove(s.socket)
		}
		_ = s.unix.Close()
	}
	if s.frames != nil {
		if !s.lost {
			_ = os.Remove(s.frames.path)
		}
		s.frames.stopListening()
	}
	if s.tcp != nil {
		_ = s.tcp.Close()
	}
	if s.tenant != nil {
		_ = s.tenant.Close()
	}
	if s.locked != nil {
		_ = s.locked.Close() // the file stays: removing it would let two hold a lock each
	}
}

// Socket returns the path of the unix socket.
func (s *Server) Socket() string { return s.socket }

// Addr returns the address of the loopback listener, or "".
func (s *Server) Addr() string {
	if s.tcp == nil {
		return ""
	}
	return s.tcp.Addr().String()
}

// Serve answers until ctx ends. Then it refuses new connections, lets what has
// begun finish within Options.Drain, blocks what has not, and returns nil. When another process
// has taken the directory it ends in the same way with ErrRunning; any other error is a
// listener that failed. It can be called once.
func (s *Server) Serve(ctx context.Context) error {
	defer s.release()
	defer s.background.Wait()
	if s.tries != nil { // until nothing is answered any more
		counting, stopCounting := context.WithCancel(context.WithoutCancel(ctx))
		defer stopCounting()
		s.background.Go(func() { s.tries.Run(counting) })
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	go s.watch(watching)
	s.background.Go(func() { s.reconcileLogs(watching) })
	s.begin(ctx)
	lost := make(chan error, 1)
	go func() { lost <- s.guardLock(watching) }()
	failed := make(chan error, 5)
	for _, l := range s.frames.listeners {
		go func() { failed <- s.frames.serve(l, s.framed) }()
	}
	for _, l := range []net.Listener{s.unix, s.tcp, s.tenant} {
		if l == nil {
			continue
		}
		go func() { failed <- s.http.Serve(l) }()
	}
	select {
	case err := <-failed:
		_ = s.http.Close()
		s.frames.close()
		return fmt.Errorf("server: %w", err)
	case err := <-lost:
		if err != nil {
			s.lost = true
			s.log.LogAttrs(ctx, slog.LevelError, "stopping", slog.Any("error", err))
			s.drain(ctx)
			return err
		}
	case <-ctx.Done():
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "stopping", slog.Int("running", len(s.gate.slots)))
	s.drain(ctx)
	return nil
}

// Reload takes belay.yaml and the tokens into use as they are now. With an
// error everything stays as it was, and the status says so. Requests that have
// begun finish under the old ones.
func (s *Server) Reload(ctx context.Context) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	defer s.health.changed()
	t, err := openTokens(s.o.Dir)
	if err == nil {
		err = s.host.Reload(ctx)
	}
	if err != nil {
		text := err.Error()
		if was := s.badConfig.Swap(&text); was == nil || *was != text { // the watch tries again each second
			s.log.LogAttrs(ctx, slog.LevelError, "not reloaded: the configuration before stays in use", slog.Any("error", err))
		}
		return err
	}
	s.tokens.Store(&t)
	s.badConfig.Store(nil)
	s.log.LogAttrs(ctx, slog.LevelInfo, "reloaded")
	return nil
}
