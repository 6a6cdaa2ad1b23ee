package cli

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"syscall"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/telemetry"
)

// served is one state directory with its server.
type served struct {
	host   *belay.Belay
	server *server.Server
}

// openServed opens a state directory and its addresses. Members of o that every daemon has in common are filled in
// here.
func (a *App) openServed(ctx context.Context, log *slog.Logger, tel *telemetry.Telemetry, options serveOptions,
	o server.Options) (*served, error) {
	recorders := new(server.Recorders)
	home := tenantHome(o.Tenant)
	if o.Tenant != nil {
		o.Tenant.Home = home
	}
	host, err := a.openState(ctx, o.Dir, belay.Options{Logger: log, UnsafeFailOpen: options.unsafeOpen,
		Observer: tel.Observer(), Recorder: recorders, Retain: true, Files: o.Tenant.Files(), Home: home,
		NoToolPrograms: o.Tenant != nil, StartTool: options.startTool, ToolIdle: options.toolIdle,
		CodeCache: options.codeCache, CodeKey: options.codeKey})
	if err != nil {
		return nil, err
	}
	o.Runtimes, o.Version, o.Logger, o.Recorders = hookcmd.Runtimes(), version(), log, recorders
	if o.Running == 0 {
		o.Running = options.running
	}
	if o.Queue == 0 {
		o.Queue = options.queue
	}
	s, err := server.Open(host, o)
	if err == nil {
		return &served{host, s}, nil
	}
	closed := host.Close()
	switch {
	case errors.Is(err, server.ErrAddress):
		return nil, usageError(safe(err.Error()),
			"belay answers this machine only. To reach it from elsewhere, forward the port with something that knows who connects, such as ssh -L.")
	case errors.Is(err, server.ErrRunning):
		return nil, failureBy(err, "`belay status` shows it.")
	case errors.Is(err, server.ErrState):
		return nil, failureBy(err, "Mend that, or name another state directory with --state or $BELAY_HOME, by a path of at most 80 bytes.")
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, failure("another program listens on "+safe(o.Listen),
			"End it, or give another port: --listen 127.0.0.1:0 takes a free one, which `belay status` names.")
	}
	return nil, failureBy(errors.Join(err, closed), "")
}

// Serve answers until ctx ends.
func (d *served) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	retained, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(retained)
		statelog.Of(d.host.Log()).Retain(ctx)
	}()
	go func() {
		defer close(watched)
		d.host.WatchClock(ctx)
	}()
	go func() { // opening takes more than serving: without it that stays until the first questions
		debug.FreeOSMemory()
		releaseProgram()
	}()
	err := d.server.Serve(ctx)
	stop()
	<-retained // both use the host, which is closed next
	<-watched
	return err
}

// Close releases the state directory.
func (d *served) Close() error { return d.host.Close() }
