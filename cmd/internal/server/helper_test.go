package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/server"
)

// guardConfig binds the command guard: `… | sh` from the network is blocked.
const guardConfig = `version: belay/v1
hooks:
  - name: command-guard
    module: builtin:command-guard
    priority: 100
    match: {tools: "^exec$"}
    capabilities: [block, request_approval, shell_parse, pattern_match]
`

// emptyConfig binds nothing: whatever is asked about is allowed and recorded.
const emptyConfig = "version: belay/v1\nhooks: []\n"

// daemon is a server on a real state directory.
type daemon struct {
	dir    string
	host   *belay.Belay
	server *server.Server
	log    *lockedBuffer
	cancel context.CancelFunc
	ended  chan error
	once   sync.Once
}

// lockedBuffer is what a logger writes to while a test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// setup is what options change before the daemon starts.
type setup struct {
	config string
	belay  belay.Options
	server server.Options
	wrap   func(server.Host) server.Host
}

type option func(*setup)

func withListener(s *setup)         { s.server.Listen = "127.0.0.1:0" }
func withConfig(text string) option { return func(s *setup) { s.config = text } }
func withServer(change func(*server.Options)) option {
	return func(s *setup) { change(&s.server) }
}
func withBelay(change func(*belay.Options)) option {
	return func(s *setup) { change(&s.belay) }
}
func withHost(wrap func(server.Host) server.Host) option {
	return func(s *setup) { s.wrap = wrap }
}

// stateDir makes a state directory with a short path: sockets need that.
func stateDir(t *testing.T, config string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "belay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func startDaemon(t *testing.T, options ...option) *daemon {
	t.Helper()
	s := setup{config: emptyConfig, wrap: func(h server.Host) server.Host { return h }}
	for _, o := range options {
		o(&s)
	}
	return serve(t, stateDir(t, s.config), s)
}

// serveDir starts another daemon on a directory whose own has ended.
func serveDir(t *testing.T, dir string, options ...option) *daemon {
	t.Helper()
	s := setup{wrap: func(h server.Host) server.Host { return h }}
	for _, o := range options {
		o(&s)
	}
	return serve(t, dir, s)
}

func serve(t *testing.T, dir string, s setup) *daemon {
	t.Helper()
	d := &daemon{dir: dir, log: &lockedBuffer{}, ended: make(chan error, 1)}
	var err error
	if d.host, err = belay.Open(t.Context(), d.dir, s.belay); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.host.Close() })
	s.server.Dir = d.dir
	if s.server.Runtimes == nil {
		s.server.Runtimes = map[string]adapters.Adapter{claudecode.Runtime: claudecode.New(), codex.Runtime: codex.New()}
	}
	s.server.Logger = slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if d.server, err = server.Open(s.wrap(d.host), s.server); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, d.cancel = context.WithCancel(context.Background())
	go func() { d.ended <- d.server.Serve(ctx) }()
	t.Cleanup(func() { d.stop(t) })
	return d
}

// stop ends the daemon and waits until it has.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	d.once.Do(func() {
		d.cancel()
		select {
		case err := <-d.ended:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(30 * time.Second):
			t.Error("the daemon does not stop")
		}
	})
}

func (d *daemon) token(t *testing.T, r client.Role) string {
	t.Helper()
	token, err := client.ReadToken(d.dir, r)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// overSocket is an HTTP client that always ends up at the daemon's socket.
func (d *daemon) overSocket() *http.Client { return socketClient(d.server.Socket()) }

func socketClient(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}

// call is one request in a table of them.
type call struct {
	tcp          bool
	method, path string
	body         string
	header       map[string]string
	host         string
}

// reply is what came back besides the body.
type reply struct {
	StatusCode int
	Header     http.Header
	Close      bool // the connection is not kept
}

// do sends a request and returns what came back.
func (d *daemon) do(t *testing.T, c call) (reply, string) {
	t.Helper()
	base, hc := "http://belay", d.overSocket()
	if c.tcp {
		base, hc = "http://"+d.server.Addr(), &http.Client{Transport: &http.Transport{}}
	}
	defer hc.CloseIdleConnections()
	var body io.Reader
	if c.body != "" {
		body = bytes.NewReader([]byte(c.body))
	}
	req, err := http.NewRequestWithContext(t.Context(), c.method, base+c.path, body)
	if err != nil {
		t.Fatal(err)
	}
	if c.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range c.header {
		if v == "" {
			req.Header.Del(k)
		} else {
			req.Header.Set(k, v)
		}
	}
	if c.host != "" {
		req.Host = c.host
	}
	resp, err := hc.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, resp.Close}, string(b)
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// asking is an invocation in the wire form.
func asking(command string) string {
	return `{"phase":"pre_tool","runtime":"custom","session":"s-1","action":{"tool":"exec","call_id":"c-1","args":{"command":"` + command + `"}}}`
}
