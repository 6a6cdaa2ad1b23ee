package toolrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/lines"
	"github.com/belay-hooks/belay/internal/peercred"
)

// Options are what a runner decides by: all members but Peer, Env and TempRoot.
type Options struct {
	Daemon  int                                          // uid of the daemon: no other user has servers started
	Servers func() (map[string]config.MCPServer, error)  // as root's file has them now
	Starter []string                                     // what confines itself and becomes a server: see Starter
	Report  func() Report                                // what holds in this process
	Logger  *slog.Logger                                 // what the operator reads
	Peer    func(syscall.Conn) (uid int, err error)      // nil: the system says it
	Env     func(name string) (value string, isSet bool) // nil: the process's environment
	// TempRoot is where servers' directories for temporary files are made; "": /tmp.
	TempRoot string
}

const (
	askTime   = 5 * time.Second  // for the first frame
	beginTime = 10 * time.Second // until the program runs
)

// Serve runs one server on a connection, or says on it why not. It returns when neither the server nor a process that
// it has started is left. Ending ctx ends the server. The error is for the log: a caller that is refused, or what
// came was no frame.
func Serve(ctx context.Context, conn *net.UnixConn, o Options) error {
	defer conn.Close()
	if o.Peer == nil {
		o.Peer = peercred.UID
	}
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if o.TempRoot == "" {
		o.TempRoot = "/tmp"
	}
	uid, err := o.Peer(conn)
	if err != nil {
		return fmt.Errorf("the system does not say who asks: %w", err)
	}
	if uid != o.Daemon && uid != 0 {
		return fmt.Errorf("uid %d asks for a server: only the daemon's user may", uid)
	}
	_ = conn.SetReadDeadline(time.Now().Add(askTime))
	k, body, err := readFrame(conn, make([]byte, maxData))
	_ = conn.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		return fmt.Errorf("the first frame: %w", err)
	case k == frameStatus:
		return send(conn, encode(frameAnswer, o.Report()))
	case k != frameStart:
		return errFrame
	case uid != o.Daemon:
		return errors.Join(errors.New("root asks for a server: only the daemon may"),
			send(conn, encode(frameEnd, ending{Refused: "only the daemon's user has servers started"})))
	}
	var s start
	if err := decode(body, &s); err != nil {
		return err
	}
	o.Logger = o.Logger.With(slog.String("mcp_server", s.Server), slog.Int("uid", s.UID))
	err = o.run(ctx, conn, s)
	if e := (*refusal)(nil); errors.As(err, &e) {
		o.Logger.LogAttrs(ctx, slog.LevelError, "a server is not started", slog.String("why", e.Error()))
		return send(conn, encode(frameEnd, ending{Refused: e.Error()}))
	}
	return err
}

func send(conn *net.UnixConn, frame []byte) error {
	_ = conn.SetWriteDeadline(time.Now().Add(askTime))
	_, err := conn.Write(frame)
	return err
}

// refusal is why a server is not started, in words that hooks may see.
type refusal struct{ reason string }

// Error implements error.
func (r *refusal) Error() string { return r.reason }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// named returns the entry of the server that is asked for. The wire brings its name, and what the daemon takes it for.
func (o *Options) named(s start) (config.MCPServer, error) {
	servers, err := o.Servers()
	if err != nil {
		o.Logger.Error("root's files cannot be used", slog.Any("error", err))
		return config.MCPServer{}, refuse("the organisation's belay.yaml cannot be used: root finds the reason with " +
			"`belay system status`")
	}
	entry, ok := servers[s.Server]
	if !ok || len(entry.Command) == 0 {
		return entry, refuse("the organisation's belay.yaml names no program for that server")
	}
	digest, err := digestOf(entry.Command, entry.Env, entry.CWD)
	if err != nil || digest != s.Digest {
		return entry, refuse("the organisation's belay.yaml has another command for that server by now")
	}
	return entry, nil
}

// environment is all that the server gets: what its entry lists, and where its temporary files go.
func (o *Options) environment(entry config.MCPServer, temp string) (env, given []string, err error) {
	for _, name := range entry.Env {
		v, ok := o.Env(name)
		if !ok {
			return nil, nil, refuse("the environment variable %s is not set for the unit belay-tools@.service", name)
		}
		if name != "TMPDIR" {
			given = append(given, name+"="+v)
		}
	}
	return append([]string{"TMPDIR=" + temp}, given...), given, nil
}

func (o *Options) run(ctx context.Context, conn *net.UnixConn, s start) error {
	entry, err := o.named(s)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(o.TempRoot, "belay-tool-")
	if err != nil {
		return refuse("no directory for temporary files: %v", err)
	}
	status, err := o.runIn(ctx, conn, entry, temp)
	if left := removeTemp(temp); left != nil {
		o.Logger.LogAttrs(ctx, slog.LevelError, "temporary files of a server stay", slog.Any("error", left))
	}
	if err != nil {
		return err
	}
	o.Logger.LogAttrs(ctx, slog.LevelInfo, "a server has ended", slog.Int("status", status))
	_ = send(conn, encode(frameEnd, ending{Status: status})) // the daemon may be gone
	return nil
}

// runIn runs a server with its temporary files in temp, and returns its exit status when nothing of it is left.
func (o *Options) runIn(ctx context.Context, conn *net.UnixConn, entry config.MCPServer, temp string) (int, error) {
	places, err := placesOf(entry, o.TempRoot, temp)
	if err != nil {
		return 0, refuse("the server's entry: %v", err)
	}
	env, given, err := o.environment(entry, temp)
	if err != nil {
		return 0, err
	}
	p, err := startProgram(o.Starter, places, entry.Command, env, entry.CWD)
	if err != nil {
		return 0, err
	}
	o.Logger.LogAttrs(ctx, slog.LevelInfo, "a server runs", slog.Int("pid", p.cmd.Process.Pid))
	return (&relay{conn: conn, p: p}).carry(ctx, given), nil
}

// relay carries the streams of a server.
type relay struct {
	conn *net.UnixConn
	p    *process

	write sync.Mutex
	dead  bool // nothing can be sent any more
}

// carry goes on until the server has ended, by itself or because the connection or ctx has, and returns its exit
// status.
func (r *relay) carry(ctx context.Context, given []string) (status int) {
	r.frame(frameRunning, nil)
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		r.hungUp()
		end()
	}()
	go func() {
		_ = r.input() // its end, by an error or by the daemon's word, is that of the server
		end()
	}()
	var streams sync.WaitGroup
	streams.Go(r.output)
	says := lines.New(given, func(line string, _ bool) {
		r.frame(frameSays, []byte(line[:min(len(line), maxWords)])) // names of variables are longer than their values
	})
	streams.Go(func() {
		_, _ = io.Copy(says, r.p.stderr) // until all who could write there have ended
		says.End()
	})
	select {
	case <-r.p.done:
	case <-ctx.Done():
	}
	status = r.p.end()
	drained := make(chan struct{})
	go func() { streams.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(time.Second): // the daemon does not read
		_ = r.conn.SetWriteDeadline(time.Now())
	}
	r.p.stdout.Close()
	r.p.stderr.Close()
	<-drained
	_ = r.conn.CloseRead() // both who wait for the daemon see it
	return status
}

// frame sends a frame, and waits while the daemon does not read.
func (r *relay) frame(k kind, body []byte) {
	r.write.Lock()
	defer r.write.Unlock()
	if r.dead {
		return
	}
	if _, err := r.conn.Write(appendFrame(nil, k, body)); err != nil {
		r.dead = true
	}
}

func (r *relay) output() {
	space := make([]byte, maxData)
	for {
		n, err := r.p.stdout.Read(space)
		if n > 0 {
			r.frame(frameOutput, space[:n])
		}
		if err != nil {
			return
		}
	}
}

// input gives the server what the daemon sends. The error is nil at the end of that.
func (r *relay) input() error {
	space := make([]byte, maxData)
	for {
		k, body, err := readFrame(r.conn, space)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case k != frameInput:
			return errFrame
		}
		if _, err := r.p.stdin.Write(body); err != nil {
			return err // it has closed its input, or has ended
		}
	}
}

// hungUp waits until the daemon sends no more. A server that does not read hides that from who reads in order.
func (r *relay) hungUp() {
	raw, err := r.conn.SyscallConn()
	if err != nil {
		return
	}
	for {
		events := int16(0)
		if err := raw.Control(func(fd uintptr) {
			list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
			if _, err := unix.Poll(list, -1); err == nil { // EINTR is one
				events = list[0].Revents
			}
		}); err != nil || events != 0 {
			return
		}
	}
}

// removeTemp removes a server's temporary files, also in directories that it has closed to itself.
func removeTemp(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() { // looked at before it is read, and again when that fails
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
