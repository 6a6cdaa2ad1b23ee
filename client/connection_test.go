//go:build unix

package client_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// shortDir is a directory with a path that fits into the address of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "belay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// fake serves the handler on the socket of a directory.
func fake(t *testing.T, dir string, h http.HandlerFunc) *client.Client {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, daemonapi.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	c, err := client.Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func answering(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		w.Write([]byte(body))
	}
}

func inv() phases.Invocation {
	return phases.Invocation{ID: "01a1fc35-e999-778a-8ada-7a335a915e53", Phase: phases.PreTool, Runtime: "custom",
		Session: "s",
		Action:  []byte(`{"tool":"exec","call_id":"c","args":{"command":"ls"}}`)}
}

const good = `{"id":"01a1fc35-e999-778a-8ada-7a335a915e53","phase":"pre_tool","decision":"allow","action":{"tool":"exec"},"event":{"seq":1,"id":"e"}}`

// An ask that waits holds no action, and one that an earlier daemon sends with it or with
// a block is not handed on.
func TestInvokeHoldsNoActionWhereNothingRuns(t *testing.T) {
	asks := strings.NewReplacer(`"allow"`, `"ask"`, `"event"`, `"approval":{"id":"a"},"event"`).Replace(good)
	for name, c := range map[string]struct {
		body     string
		decision phases.Decision
		runs     bool
	}{
		"allow":                  {good, phases.Allow, true},
		"an ask that waits":      {strings.Replace(asks, `"action":{"tool":"exec"},`, ``, 1), phases.Ask, false},
		"an earlier daemon's":    {asks, phases.Ask, false},
		"a delegated ask":        {strings.Replace(good, `"allow"`, `"ask","enforced":"delegated"`, 1), phases.Ask, true},
		"an earlier one's block": {strings.Replace(good, `"allow"`, `"block"`, 1), phases.Block, false},
	} {
		v, err := fake(t, shortDir(t), answering(200, "application/json", c.body)).Invoke(t.Context(), inv())
		if err != nil || v.Decision != c.decision || (len(v.Action) > 0) != c.runs {
			t.Errorf("%s: %s %s, %v", name, v.Decision, v.Action, err)
		}
	}
}

// Only a complete allow for this very invocation is one.
func TestInvokeFailsClosed(t *testing.T) {
	c := fake(t, shortDir(t), answering(200, "application/json", good))
	if v, err := c.Invoke(t.Context(), inv()); err != nil || v.Decision != phases.Allow {
		t.Fatalf("a good answer: %s, %v", v.Decision, err)
	}
	for name, h := range map[string]http.HandlerFunc{
		"nothing":             answering(200, "application/json", ""),
		"an empty object":     answering(200, "application/json", "{}"),
		"null":                answering(200, "application/json", "null"),
		"cut off":             answering(200, "application/json", good[:len(good)-1]),
		"more after it":       answering(200, "application/json", good+good),
		"two decisions":       answering(200, "application/json", strings.Replace(good, `{`, `{"decision":"block",`, 1)),
		"no record":           answering(200, "application/json", strings.Replace(good, `{"seq":1,"id":"e"}`, `null`, 1)),
		"no action":           answering(200, "application/json", strings.Replace(good, `"action":{"tool":"exec"},`, ``, 1)),
		"another invocation":  answering(200, "application/json", strings.Replace(good, `e53"`, `e54"`, 1)),
		"another phase":       answering(200, "application/json", strings.Replace(good, `pre_tool`, `post_tool`, 1)),
		"another word":        answering(200, "application/json", strings.Replace(good, `allow`, `Allow`, 1)),
		"text":                answering(200, "text/html", good),
		"created":             answering(201, "application/json", good),
		"an error with a yes": answering(500, "application/json", good),
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://belay/healthz", http.StatusFound)
		},
		"a problem": answering(503, "application/json",
			`{"error":{"code":"overloaded","message":"too many","decision":"block"},"event":{"seq":9,"id":"e9"}}`),
		"a broken connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a body that breaks": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "9999")
			w.Write([]byte(good))
		},
		"an endless whitespace": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat(" ", 1<<20))); err != nil {
					return
				}
			}
		},
	} {
		c := fake(t, shortDir(t), h)
		v, err := c.Invoke(t.Context(), inv())
		if v.Decision != phases.Block || err == nil ||
			!(errors.Is(err, client.ErrSick) || errors.Is(err, client.ErrRefused)) {
			t.Errorf("%s: %s, %v", name, v.Decision, err)
		}
		if p := new(client.Error); name == "a problem" &&
			(!errors.As(err, &p) || p.Code != wire.CodeOverloaded || v.Reason != "too many" || v.Event == nil ||
				v.Event.Seq != 9) {
			t.Errorf("a problem is not passed on: %+v, %v", v, err)
		}
	}
	// The daemon does not answer in time; an invalid invocation is not even
	// sent.
	hang := make(chan struct{})
	defer close(hang)
	dir := shortDir(t)
	fake(t, dir, func(http.ResponseWriter, *http.Request) { <-hang })
	slow, err := client.New(client.Options{Socket: filepath.Join(dir, daemonapi.SocketName),
		Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := slow.Invoke(t.Context(), inv()); v.Decision != phases.Block || !errors.Is(err, client.ErrSick) {
		t.Errorf("a daemon that hangs: %s, %v", v.Decision, err)
	}
	if v, err := c.Invoke(t.Context(), phases.Invocation{Phase: "nonsense"}); v.Decision != phases.Block || err == nil {
		t.Errorf("no invocation: %s, %v", v.Decision, err)
	}
}

// A runtime's answer ends with 0 or with 2 and a reason.
func TestAskFailsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		h  http.HandlerFunc
		ok bool
	}{
		"good": {answering(200, "application/json",
			`{"stdout":"{}","stderr":"","exit":0,"notes":[],"verdicts":[]}`), true},
		"exit 1":          {answering(200, "application/json", `{"stdout":"{}","stderr":"x","exit":1}`), false},
		"2, no reason":    {answering(200, "application/json", `{"stdout":"","stderr":"","exit":2}`), false},
		"runtime's form":  {answering(200, "text/plain", `{}`), false},
		"a problem":       {answering(401, "application/json", `{"error":{"code":"unauthenticated","message":"no"}}`), false},
		"problem and yes": {answering(500, "application/json", `{"stdout":"{}","exit":0}`), false},
	} {
		_, err := fake(t, shortDir(t), c.h).Ask(t.Context(), "claude-code", "PreToolUse", []byte(`{}`))
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Not running, left behind, sick: commands may bypass only the first two.
func TestDial(t *testing.T) {
	dir := shortDir(t)
	if _, err := client.Dial(dir); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := client.Dial(filepath.Join(dir, "none")); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := client.Dial(filepath.Join(dir, strings.Repeat("x", 200))); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("a path too long for any socket: %v", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, daemonapi.SocketName), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := client.Dial(dir); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("a socket left behind: %v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, daemonapi.LockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(dir); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("a lock file left behind: %v", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(dir); !errors.Is(err, client.ErrSick) || errors.Is(err, client.ErrNotRunning) {
		t.Errorf("a daemon that does not listen: %v", err)
	}
	f.Close()
	if err := os.Remove(filepath.Join(dir, daemonapi.SocketName)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, daemonapi.SocketName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(dir); err == nil {
		t.Error("a plain file for a socket")
	}
}

// Tokens go to loopback addresses only, and each request sends the one it takes.
func TestTokensAreSentWhereTheyBelong(t *testing.T) {
	for _, o := range []client.Options{
		{}, {Socket: "/s", URL: "http://127.0.0.1:1"}, {URL: "http://192.0.2.1:80"}, {URL: "http://example.com"},
		{URL: "http://localhost:80"},
		{URL: "http://127.0.0.1:1/x"}, {URL: "http://127.0.0.1:1?x=1"}, {URL: "http://u:p@127.0.0.1:1"}, {URL: "127.0.0.1:1"},
		{URL: "http://127.0.0.1.evil.example:1"},
	} {
		if _, err := client.New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	dir := shortDir(t)
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, r := range client.Roles() {
		if err := os.WriteFile(daemonapi.TokenPath(dir, r), []byte("belay_"+string(r)+"_"+strings.Repeat("x", 43)+"\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	var sent string
	c := fake(t, dir, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		answering(200, "application/json", `{}`)(w, r)
	})
	for role, do := range map[client.Role]func(context.Context) error{
		client.RoleInvoke: func(ctx context.Context) error { _, err := c.Invoke(ctx, inv()); return err },
		client.RoleReview: func(ctx context.Context) error { _, err := c.Status(ctx); return err },
		client.RoleAdmin:  func(ctx context.Context) error { _, err := c.Reload(ctx); return err },
	} {
		_ = do(t.Context())
		if !strings.HasPrefix(sent, "Bearer belay_"+string(role)+"_") {
			t.Errorf("%s: sent %q", role, sent)
		}
	}
	path := daemonapi.TokenPath(dir, client.RoleAdmin)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := client.ReadToken(dir, client.RoleAdmin); !errors.Is(err, client.ErrToken) {
		t.Errorf("a token that others can read: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := client.ReadToken(dir, client.RoleAdmin); !errors.Is(err, client.ErrToken) ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no token: %v", err)
	}
	for _, bad := range []string{"", "short", strings.Repeat("x", 40) + "\r\nEvil: 1", strings.Repeat("x", 300),
		strings.Repeat("ä", 40)} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := client.ReadToken(dir, client.RoleAdmin); !errors.Is(err, client.ErrToken) {
			t.Errorf("%q is taken for a token: %v", bad, err)
		}
	}
}
