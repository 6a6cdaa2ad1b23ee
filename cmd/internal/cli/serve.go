package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/telemetry"
)

type serveOptions struct {
	listen     string
	tlsOnly    bool
	log        string
	running    int
	queue      int
	unsafeOpen bool
	json       bool
}

func (a *App) serveCmd() *cobra.Command {
	var options serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer agents from a daemon: a unix socket, and a loopback port if asked to",
		Long: `serve keeps the hooks loaded and answers on the sockets belay.sock (HTTP) and frame.sock
in the state directory. The other commands use it while it runs. With --listen it also
answers HTTPS on a loopback address, for programs that cannot use the socket. They know
the daemon by keys/tls.crt of the state directory. Every request needs a token, such as
keys/invoke.token. It answers plain HTTP, too, unless --tls-only is given: a program that
sends a token there cannot know who gets it.

It stays in the foreground. SIGHUP, or a changed belay.yaml, loads the configuration
anew. On SIGTERM or Ctrl-C it refuses new callers, finishes what has begun, and ends.`,
		Example: `  belay serve
  belay serve --listen 127.0.0.1:4170 --tls-only --log json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.serve(cmd.Context(), options) },
	}
	f := cmd.Flags()
	f.StringVar(&options.listen, "listen", "", "also listen on this loopback address, 127.0.0.1:PORT or [::1]:PORT")
	f.BoolVar(&options.tlsOnly, "tls-only", false, "refuse plain HTTP on the address of --listen")
	f.StringVar(&options.log, "log", "text", "form of the log on standard error: text or json")
	f.BoolVar(&options.json, "json", false, "the same as --log json")
	f.IntVar(&options.running, "max-running", 0, "actions decided at once (default 4 for each CPU, at least 8)")
	f.IntVar(&options.queue, "max-waiting", 0, "actions that may wait for their turn (default 128)")
	f.BoolVar(&options.unsafeOpen, "unsafe-fail-open", false,
		"UNSAFE, for debugging: a hook that fails counts as no opinion")
	return cmd
}

func (a *App) serve(ctx context.Context, options serveOptions) error {
	if options.json {
		options.log = "json"
	}
	log, err := a.serveLogger(options.log)
	if err != nil {
		return err
	}
	if options.running < 0 || options.queue < 0 {
		return usageError("--max-running and --max-waiting cannot be negative", "")
	}
	if options.tlsOnly && options.listen == "" {
		return usageError("--tls-only needs --listen", "")
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan struct{})
	defer close(ended) // after everything else
	go a.endServe(ctx, ended, log)
	restrictUmask() // nothing that the daemon makes is for others
	tel := a.telemetry(ctx, log, flushServe)
	recorders := new(server.Recorders)
	host, err := a.openState(ctx, dir,
		belay.Options{Logger: log, UnsafeFailOpen: options.unsafeOpen, Observer: tel.Observer(), Recorder: recorders,
			Retain: true})
	if err != nil {
		return err
	}
	defer host.Close()
	defer a.finish() // the last metrics are read from the host, which is closed next
	s, err := server.Open(host, server.Options{
		Dir: dir, Listen: options.listen, TLSOnly: options.tlsOnly, Runtimes: hookcmd.Runtimes(), Version: version(),
		User:   userName(),
		Logger: log, Recorders: recorders, Running: options.running, Queue: options.queue,
		LogDir: a.logDir,
	})
	switch {
	case errors.Is(err, server.ErrAddress):
		return usageError(safe(err.Error()),
			"belay answers this machine only. To reach it from elsewhere, forward the port with something that knows who connects, such as ssh -L.")
	case errors.Is(err, server.ErrRunning):
		return failureBy(err, "`belay status` shows it.")
	case err != nil:
		return failureBy(err, "")
	}
	if err := tel.WatchQueue(s.Load); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "no metrics of the queue", slog.Any("error", err))
	}
	if err := tel.WatchConnections(connectionsOf(s)); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "no metrics of connections", slog.Any("error", err))
	}
	if err := tel.WatchApprovals(approvalKinds(), host.ApprovalCounts); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "no metrics of approvals", slog.Any("error", err))
	}
	fmt.Fprintf(a.Err, "belay: serving %s on %s\n", safe(dir), safe(s.Socket()))
	if addr := s.Addr(); addr != "" {
		fmt.Fprintf(a.Err, "belay: and on https://%s; clients need %s and a token, %s\n", addr,
			safe(daemonapi.CertificatePath(dir)), safe(daemonapi.TokenPath(dir, client.RoleInvoke)))
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, hangup)
	defer signal.Stop(hup)
	stopped := make(chan struct{})
	defer close(stopped)
	notify := a.notifier()
	go func() {
		for {
			select {
			case <-stopped:
				return
			case <-hup:
				notify("RELOADING=1")
				_ = s.Reload(ctx) // logged, and in the status
				notify("READY=1")
			}
		}
	}()
	notify("READY=1")
	isStuck := a.stopWhenStuck(ctx, log, host.Stuck(), stop)
	retained := make(chan struct{})
	go func() {
		defer close(retained)
		statelog.Of(host.Log()).Retain(ctx)
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		host.WatchClock(ctx)
	}()
	go func() {
		<-ctx.Done()
		notify("STOPPING=1") // when it begins to stop, not when it has
	}()
	go func() { // opening takes more than serving: without it that stays until the first questions
		debug.FreeOSMemory()
		releaseProgram()
	}()
	err = s.Serve(ctx)
	stop()
	<-retained // both use the host, which is closed next
	<-watched
	if err != nil {
		return failureBy(err, "")
	}
	if isStuck() {
		return stuckError(host.LeftBehind())
	}
	fmt.Fprintln(a.Err, "belay: stopped")
	return nil
}

func connectionsOf(s *server.Server) func() telemetry.Connections {
	return func() telemetry.Connections {
		c := s.Connections()
		return telemetry.Connections{Open: int64(c.Open), GaveWay: c.GaveWay, AllTaken: c.Connections,
			NoDescriptor: c.Descriptors}
	}
}

// closeTime is how long a daemon may take to close its files after its drain.
const closeTime = 5 * time.Second

// endServe ends a daemon that was told to end and does not: a disk that does
// not answer holds up every commit. By then its undecided actions are noted as
// blocked.
func (a *App) endServe(ctx context.Context, ended <-chan struct{}, log *slog.Logger) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	select {
	case <-ended:
	case <-time.After(server.Drain + time.Second + closeTime):
		log.LogAttrs(ctx, slog.LevelError, "ended before everything was closed: something on the disk does not answer")
		os.Exit(ExitError)
	}
}

const hangup = syscall.SIGHUP

func (a *App) serveLogger(form string) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if a.Getenv("BELAY_DEBUG") != "" {
		o.Level = slog.LevelDebug
	}
	switch form {
	case "text":
		return slog.New(slog.NewTextHandler(a.Err, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.Err, o)), nil
	}
	return nil, usageError("--log takes text or json", "")
}

// userName is whose agents the daemon answers: those of the user who runs it.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
