package server_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
)

// asTenant serves a user of system mode, with the uid that the tests' own connections are given on the machine's
// sockets.
func asTenant(t *testing.T, uid int, from *int, options ...option) (d *daemon, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "run") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listen := func(name string) net.Listener {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	path = filepath.Join(dir, daemonapi.SocketName)
	tenant := &server.Tenant{UID: uid, HTTP: listen(daemonapi.SocketName), Frames: listen(daemonapi.FrameSocketName)}
	d = startDaemon(t, append(options, withServer(func(o *server.Options) {
		if o.Tenant != nil {
			tenant.Share = o.Tenant.Share
		}
		o.Tenant = tenant
		o.Peer = func(c syscall.Conn) (int, error) {
			if strings.HasPrefix(c.(net.Conn).LocalAddr().String(), dir) {
				return *from, nil
			}
			return os.Geteuid(), nil
		}
	}))...)
	return d, path
}

// A user of system mode asks, looks at what is their own, and decides only with a reviewer's signature. Everything else
// is for root, who has the tokens. Another user's connection that came here by mistake is refused.
func TestTenantsAskAndLook(t *testing.T) {
	const uid = 4242
	from := uid
	d, path := asTenant(t, uid, &from)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/v1/invoke", asking("ls"), 200, `"decision":"allow"`},
		{"GET", "/v1/hooks", "", 200, ""},
		{"GET", "/v1/events", "", 200, ""},
		{"GET", "/v1/status", "", 200, ""},
		{"GET", "/v1/latches", "", 200, ""},
		{"GET", "/v1/approvals", "", 200, ""},
		{"GET", "/v1/config/effective", "", 200, ""},
		{"POST", "/v1/config/user", `{"remove":true}`, 409, "not the daemon of system mode"},
		{"GET", "/v1/leases", "", 200, ""},
		{"POST", "/v1/latches/clear", `{"runtime":"custom","session":"s"}`, 403, "signature of a reviewer"},
		{"POST", "/v1/reload", "", 403, "role admin"},
		{"POST", "/v1/config/accept", `{"revision":"sha256:0"}`, 403, "role"},
		{"POST", "/v1/events/compact", `{}`, 403, "role"},
		{"GET", "/v1/recording?seconds=1", "", 403, "role"},
		{"POST", "/v1/leases", `{}`, 403, "role"},
		{"POST", "/v1/leases/revoke", `{}`, 403, "role"},
	} {
		got := overPath(t, path, c.method, c.path, c.body, "")
		if got.status != c.status || !strings.Contains(got.body, c.says) {
			t.Errorf("%s %s: %d %.300s; want %d, %s", c.method, c.path, got.status, got.body, c.status, c.says)
		}
	}
	if got := overPath(t, path, "POST", "/v1/reload", "", d.token(t, client.RoleAdmin)); got.status != 200 {
		t.Errorf("with the token of root: %d %s", got.status, got.body)
	}
	from = uid + 1
	for _, c := range [][2]string{{"POST", "/v1/invoke"}, {"GET", "/v1/events"}} {
		body := ""
		if c[0] == "POST" {
			body = asking("ls")
		}
		if got := overPath(t, path, c[0], c[1], body, ""); got.status != 403 || !strings.Contains(got.body, "another") {
			t.Errorf("another user, %s: %d %s", c[1], got.status, got.body)
		}
	}
}

type answered struct {
	status int
	body   string
}

func overPath(t *testing.T, socket, method, path, body, token string) answered {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://belay"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = nil, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	c := socketClient(socket)
	defer c.CloseIdleConnections()
	r, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var b strings.Builder
	if _, err := io.Copy(&b, r.Body); err != nil {
		t.Fatal(err)
	}
	return answered{r.StatusCode, b.String()}
}
