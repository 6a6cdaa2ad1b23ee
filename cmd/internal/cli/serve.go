package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
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
	system     bool
	tools      bool

	startTool toolStarter // nil: this process starts them
	codeCache string      // of compiled code, that all users' servers have in common; "": each directory has its own
	codeKey   []byte
	toolIdle  time.Duration
}

// toolStarter starts a program of an MCP server; see belay.Options.StartTool.
type toolStarter = func(ctx context.Context, server string, command, env []string, dir string, says io.Writer) (
	io.ReadWriteCloser, error)

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
	f.BoolVar(&options.system, "system", false, "serve all users of this machine, on the sockets that systemd has opened")
	f.BoolVar(&options.tools, "tools", false,
		"run one MCP server of this machine's hooks, on the connection that systemd has accepted")
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
	if options.system && (options.listen != "" || a.state != "" || options.unsafeOpen) {
		return usageError("--system takes no --listen, --state or --unsafe-fail-open", "The daemon of system mode has its places.")
	}
	if options.tools && (options.system || options.listen != "" || a.state != "" || options.unsafeOpen) {
		return usageError("--tools takes no --system, --listen, --state or --unsafe-fail-open", "It serves the daemon alone.")
	}
	if options.tlsOnly && options.listen == "" {
		return usageError("--tls-only needs --listen", "")
	}
	if options.system {
		return a.serveSystem(ctx, options, log)
	}
	if options.tools {
		return a.serveTools(ctx, log)
	}
	if err := a.ownState(); err != nil {
		return err
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	return a.serveDir(ctx, dir, options, log)
}

// serveDir serves one state directory, for the user who runs this.
func (a *App) serveDir(ctx context.Context, dir string, options serveOptions, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan struct{})
	defer close(ended) // after everything else
	go a.endServe(ctx, ended, log)
	restrictUmask() // nothing that the daemon makes is for others
	tel := a.telemetry(ctx, log, flushServe)
	d, err := a.openServed(ctx, log, tel, options, server.Options{Dir: dir, Listen: options.listen,
		TLSOnly: options.tlsOnly, User: userName(), LogDir: a.logDir})
	if err != nil {
		return err
	}
	defer d.Close()
	defer a.finish() // the last metrics are read from the host, which is closed next
	if err := tel.WatchQueue(d.server.Load); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "no metrics of the queue", slog.Any("error", err))
	}
	if err := tel.WatchConnections(connectionsOf(d.server)); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "no metrics of connections", slog.Any("error", err))
	}
	if err := tel.WatchApprovals(approvalKinds(), d.host.ApprovalCounts); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "no metrics of approvals", slog.Any("error", err))
	}
	fmt.Fprintf(a.Err, "belay: serving %s on %s\n", safe(dir), safe(d.server.Socket()))
	if addr := d.server.Addr(); addr != "" {
		fmt.Fprintf(a.Err, "belay: and on https://%s; clients need %s and a token, %s\n", addr,
			safe(daemonapi.CertificatePath(dir)), safe(daemonapi.TokenPath(dir, client.RoleInvoke)))
	}
	defer a.reloadOnHangup(ctx, d.server.Reload)()
	isStuck := a.stopWhenStuck(ctx, log, d.host.Stuck(), stop)
	err = d.Serve(ctx)
	stop()
	if err != nil {
		return failureBy(err, "")
	}
	if isStuck() {
		return stuckError(d.host.LeftBehind())
	}
	fmt.Fprintln(a.Err, "belay: stopped")
	return nil
}

// reloadOnHangup tells systemd that the daemon is ready, takes up its configuration anew on SIGHUP, and says when it
// begins to stop. The returned function ends that.
func (a *App) reloadOnHangup(ctx context.Context, reload func(context.Context) error) (end func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, hangup)
	stopped := make(chan struct{})
	notify := a.notifier()
	go func() {
		for {
			select {
			case <-stopped:
				return
			case <-hup:
				notify("RELOADING=1")
				_ = reload(ctx) // logged, and in the status
				notify("READY=1")
			}
		}
	}()
	notify("READY=1")
	go func() {
		<-ctx.Done()
		notify("STOPPING=1") // when it begins to stop, not when it has
	}()
	return func() {
		signal.Stop(hup)
		close(stopped)
	}
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
