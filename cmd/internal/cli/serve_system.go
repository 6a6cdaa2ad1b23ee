package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/front"
	"github.com/belay-hooks/belay/cmd/internal/machinelog"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/confine"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/internal/telemetry"
	"github.com/belay-hooks/belay/internal/toolrun"
)

// machine is the daemon of system mode: one server for each user who asks.
type machine struct {
	a       *App
	log     *slog.Logger
	tel     *telemetry.Telemetry
	options serveOptions
	places  system.Places
	configs *systemConfigs
	turns   *server.Turns
	spaces  *spaces
	runners *toolrun.Runners     // start MCP servers of hooks, under a user of their own
	stuck   func(hooks []string) // stops the daemon, to be started again
	events  *machinelog.Log
	loads   loads
	report  confine.Report

	logHost atomic.Pointer[machineHost] // where events writes, once that is open

	mu    sync.Mutex
	users map[int]*userConfig // whose servers are open
}

// serveSystem serves the users of this machine.
func (a *App) serveSystem(ctx context.Context, options serveOptions, log *slog.Logger) error {
	config, err := a.loadSystem()
	if err != nil {
		return failureBy(err, "`belay system install` sets up system mode.")
	}
	if os.Getenv("LISTEN_FDS") == "" {
		return noSockets()
	}
	restrictUmask()
	report, err := a.confine(ctx, log) // first: the program starts again, and the sockets stay for it
	if err != nil {
		return failureBy(err, "Nothing is served: a daemon that can reach more than its own files would not be what system mode promises.")
	}
	http, frames, err := a.activated()
	if err != nil {
		return err
	}
	defer shareRuntime()()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go a.endServe(ctx, ended, log)
	tel := a.telemetry(ctx, log, flushServe)
	defer a.finish()
	var once sync.Once
	var left []string
	m := &machine{a: a, log: log, tel: tel, options: options, places: a.places(), users: map[int]*userConfig{},
		configs: &systemConfigs{load: a.loadSystem, config: config, at: time.Now()},
		turns:   server.NewTurns(max(1, runtime.NumCPU()-1)),
		runners: toolrun.NewRunners(system.ToolsSocket),
		spaces:  &spaces{dir: func(uid int) string { return system.UserDir(a.places().State, uid) }, full: map[int]error{}},
		stuck:   func(hooks []string) { once.Do(func() { left = hooks; stop() }) }, report: report}
	if err := m.shareCode(); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "each user's server compiles hooks anew", slog.Any("error", err))
	}
	m.events = m.newMachineLog(report, config.Revision)
	m.configs.seen = m.events.Believes
	defer m.logUntilEnd(ctx)()
	m.measure(ctx)
	f := front.New(front.Options{HTTP: http, Frames: frames, Config: m.configs.now, Open: m.open, Known: m.known,
		Has:  m.has,
		Held: m.spaces.held, Refused: m.events.Refused, Logger: log})
	fmt.Fprintf(a.Err, "belay: serving the users of this machine on %s\n", safe(m.places.Run))
	reload := func(context.Context) error { return m.derive() }
	defer a.reloadOnHangup(ctx, reload)()
	go m.watch(ctx)
	go m.bound(ctx, m.configs.now, f.Users, f.Drop)
	go m.rest(ctx, f)
	if err := f.Serve(ctx); err != nil {
		return failureBy(err, "")
	}
	if left != nil {
		return stuckError(left)
	}
	fmt.Fprintln(a.Err, "belay: stopped")
	return nil
}

// confine shuts the daemon out of everything but its places, for good, and writes down what is in force.
func (a *App) confine(ctx context.Context, log *slog.Logger) (report confine.Report, err error) {
	p := a.places()
	// The daemon's user has no home: high-water marks lie in belay/marks there, beside the users' directories.
	if err := os.Setenv("XDG_DATA_HOME", filepath.Dir(p.State)); err != nil {
		return report, err
	}
	report, err = confine.Daemon(confine.Places{Config: p.Config, State: p.State, Run: p.Run})
	if err != nil {
		return report, err
	}
	report.Version, report.Started, report.Engine = version(), time.Now().UTC(), confine.Interpreter
	if sandbox.Compiles() {
		report.Engine = confine.Compiler
	}
	level := slog.LevelInfo
	if report.Landlock == 0 || report.Engine != confine.Compiler {
		level = slog.LevelWarn
	}
	log.LogAttrs(ctx, level, "confined", slog.Int("landlock", report.Landlock), slog.String("engine", report.Engine))
	return report, report.Write(p.State)
}

// shareCode has the users' servers keep compiled code in one place, so that each module is compiled once. Only the user
// belay can write there, and a seal under a key that lies elsewhere vouches for each file, as in a state directory.
func (m *machine) shareCode() error {
	key, err := statedir.MakeKey(statedir.Keys(m.places.State), "cache")
	if err == nil {
		m.options.codeCache, m.options.codeKey = statedir.Cache(m.places.State), key
	}
	return err
}

func (a *App) places() system.Places {
	if a.Places == (system.Places{}) {
		return system.Standard()
	}
	return a.Places
}

func (a *App) loadSystem() (*system.Config, error) {
	if a.LoadSystem != nil {
		return a.LoadSystem()
	}
	return system.Load()
}

// activated returns the two sockets that this process was started with.
func (a *App) activated() (http, frames net.Listener, err error) {
	all, err := activationListeners()
	if err != nil {
		return nil, nil, failureBy(err, "")
	}
	for _, l := range all {
		if l == nil {
			continue
		}
		switch filepath.Base(l.Addr().String()) {
		case daemonapi.SocketName:
			http = l
		case daemonapi.FrameSocketName:
			frames = l
		default:
			_ = l.Close()
		}
	}
	if http == nil || frames == nil {
		return nil, nil, noSockets()
	}
	return http, frames, nil
}

func noSockets() error {
	return failure("no socket was handed over: systemd opens "+daemonapi.SocketName+" and "+
		daemonapi.FrameSocketName+" for this daemon",
		"`systemctl start belay.socket` does; without systemd: systemd-socket-activate -l "+
			filepath.Join(system.RunDir, daemonapi.SocketName)+" -l "+
			filepath.Join(system.RunDir, daemonapi.FrameSocketName)+" belay serve --system")
}

// freshFor is how long system.yaml is believed without another look.
const freshFor = 2 * followEvery

// systemConfigs knows what system.yaml says. Safe for concurrent use.
type systemConfigs struct {
	load func() (*system.Config, error)
	seen func(*system.Config, error) // is told of each look; nil: none is

	loading sync.Mutex // one look at a time

	mu     sync.Mutex
	config *system.Config
	err    error
	at     time.Time
}

// now returns what the last look has found, and looks by itself only where watch, which does so each second, is late.
// The result is the same pointer while the file is the same.
func (c *systemConfigs) now() (*system.Config, error) {
	c.mu.Lock()
	config, err, age := c.config, c.err, time.Since(c.at)
	c.mu.Unlock()
	if age > freshFor {
		return c.fresh()
	}
	return config, err
}

// fresh reads system.yaml in any case. Those who ask for now do not wait for that.
func (c *systemConfigs) fresh() (*system.Config, error) {
	c.loading.Lock()
	defer c.loading.Unlock()
	at := time.Now()
	config, err := c.load()
	if c.seen != nil {
		c.seen(config, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.err == nil && c.config != nil && config.Revision != "" && config.Revision == c.config.Revision {
		config = c.config
	}
	c.config, c.err, c.at = config, err, at
	return config, err
}

func (m *machine) has(uid int) bool {
	_, err := os.Lstat(system.UserDir(m.places.State, uid))
	return err == nil
}

func (m *machine) known() (int, error) {
	users, err := os.ReadDir(filepath.Join(m.places.State, "users"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	return len(users), err
}

// open makes the server of a user.
func (m *machine) open(ctx context.Context, uid int, config *system.Config, http, frames net.Listener) (front.Tenant,
	error) {
	dir := system.UserDir(m.places.State, uid)
	known := m.has(uid)
	if err := m.spaces.look(uid, config); err != nil {
		return nil, &front.HeldError{Why: err.Error()}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if !known {
		m.events.Began(uid)
	}
	u, err := m.follow(uid, dir)
	if err != nil {
		return nil, err
	}
	log := slog.New(newFewLines(m.log.Handler())).With(slog.Int("uid", uid))
	options := m.options
	options.startTool, options.toolIdle = m.runners.For(uid), toolIdle
	d, err := m.a.openServed(ctx, log, m.tel, options, server.Options{Dir: dir,
		User: nameOf(uid), Running: config.Limits.Running, Queue: config.Limits.Waiting, Conns: config.Limits.Connections,
		Tenant: &server.Tenant{UID: uid, HTTP: http, Frames: frames, Share: m.turns.Share(), Problem: u.problem,
			SetLayer: u.setLayer, LayerProblem: u.layerProblem, Machine: m.standing}})
	if err != nil {
		m.leave(uid)
		return nil, err
	}
	m.events.Served(uid)
	m.loads.begin(tenantLoad{d})
	return &tenantServer{served: d, machine: m, uid: uid}, nil
}

// toolIdle is how long an MCP server of a user's hooks goes on running without calls: users have servers of their own.
const toolIdle = 10 * time.Minute

// tenantServer is the server of a user; a hook of theirs that cannot be ended has the whole daemon start again.
type tenantServer struct {
	*served
	machine *machine
	uid     int
}

// Serve implements front.Tenant.
func (t *tenantServer) Serve(ctx context.Context) error {
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-t.host.Stuck():
			t.machine.stuck(t.host.LeftBehind())
		case <-over:
		}
	}()
	return t.served.Serve(ctx)
}

// Quiet implements front.Tenant.
func (t *tenantServer) Quiet() time.Duration { return t.server.Quiet() }

// Close implements front.Tenant.
func (t *tenantServer) Close() error {
	t.machine.leave(t.uid)
	t.machine.loads.end(tenantLoad{t.served})
	return t.served.Close()
}

// nameOf is what events call the user.
func nameOf(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}

// tenantHome is what ~ stands for in a tenant's paths: the tenant's home, never the daemon's. A user of whom the
// machine knows no home has none. Without a tenant it is "".
func tenantHome(t *server.Tenant) string {
	if t == nil {
		return ""
	}
	if u, err := user.LookupId(strconv.Itoa(t.UID)); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return "/nonexistent"
}
