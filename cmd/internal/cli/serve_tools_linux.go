package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/internal/toolrun"
)

// serveTools runs the MCP server that the machine's daemon asks for, on the connection that this process was started
// with.
func (a *App) serveTools(ctx context.Context, log *slog.Logger) error {
	if err := toolrun.Hold(); err != nil {
		return failureBy(err, "")
	}
	restrictUmask()
	daemon, err := system.Lookup(system.User)
	if err != nil {
		return failureBy(err, "`belay system install` makes the users of system mode.")
	}
	own, err := system.Lookup(system.ToolsUser)
	if err != nil || own != os.Geteuid() {
		return failure("only the user "+system.ToolsUser+" runs MCP servers", "systemd starts this, by belay-tools.socket.")
	}
	conn, err := acceptedConnection()
	if err != nil {
		return failureBy(err, "systemd starts this, by belay-tools.socket, which has Accept=yes.")
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = toolrun.Serve(ctx, conn, toolrun.Options{Daemon: daemon, Servers: declaredServers, Logger: log,
		Starter: []string{"/proc/self/exe", toolrun.StarterCommand},
		Report:  func() toolrun.Report { return toolrun.Own(version()) }})
	if err != nil {
		return failureBy(err, "")
	}
	return nil
}

// acceptedConnection is the one that systemd has accepted.
func acceptedConnection() (*net.UnixConn, error) {
	files := activation.Files(true) // what this process starts gets none of them
	if len(files) != 1 {
		return nil, errors.New("this process was not started with one connection")
	}
	conn, err := net.FileConn(files[0])
	_ = files[0].Close() // conn has a descriptor of its own
	if err != nil {
		return nil, err
	}
	if socket, ok := conn.(*net.UnixConn); ok {
		return socket, nil
	}
	_ = conn.Close()
	return nil, errors.New("the connection is no unix socket")
}

// declaredServers are the MCP servers of the organisation, where the machine is in system mode.
func declaredServers() (map[string]config.MCPServer, error) {
	if _, err := system.Load(); err != nil {
		return nil, err
	}
	src, err := system.Standard().Organisation(config.FileName)
	if err != nil {
		return nil, err
	}
	file, err := config.Parse(src)
	if err != nil {
		return nil, err
	}
	return file.MCP.Servers, nil
}

// IsToolStarter says whether a command line, the program's name included, asks for the process that becomes an MCP
// server: none of the commands that people use.
func IsToolStarter(args []string) bool { return toolrun.IsStarter(args) }

// StartTool is such a process; it returns the exit status only when it fails.
func StartTool(args []string) int { return toolrun.Starter(args) }
