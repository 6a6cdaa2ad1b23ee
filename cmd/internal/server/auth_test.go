package server_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
)

// Every route with every credential, over both listeners: who may ask for what.
func TestRoleMatrix(t *testing.T) {
	d := startDaemon(t, withListener)
	tokens := map[string]string{"none": "", "wrong": "belay_admin_" + strings.Repeat("A", 43)}
	for _, r := range client.Roles() {
		tokens[string(r)] = d.token(t, r)
	}
	all := []string{"none", "wrong", "invoke", "review", "admin"}
	socket := []string{"none", "invoke", "review", "admin"}
	for _, c := range []struct {
		method, path, body string
		overTCP, overUnix  []string // who gets through
	}{
		{"GET", "/healthz", "", all, all},
		{"GET", "/v1/openapi.json", "", all, all},
		{"POST", "/v1/invoke", asking("ls"), []string{"invoke"}, socket},
		{"POST", "/adapters/claude-code?event=PreToolUse", `{}`, []string{"invoke"}, socket},
		{"GET", "/v1/hooks", "", []string{"review", "admin"}, []string{"review", "admin"}},
		{"GET", "/v1/events", "", []string{"review", "admin"}, []string{"review", "admin"}},
		{"GET", "/v1/status", "", []string{"review", "admin"}, []string{"review", "admin"}},
		{"GET", "/v1/latches", "", []string{"review", "admin"}, []string{"review", "admin"}},
		{"POST", "/v1/latches/clear", `{"runtime":"x","session":"y"}`, []string{"admin"}, []string{"admin"}},
		{"POST", "/v1/config/accept", `{"revision":"x"}`, []string{"admin"}, []string{"admin"}},
		{"GET", "/v1/config/effective", "", []string{"review", "admin"}, []string{"review", "admin"}},
		{"POST", "/v1/config/user", `{"remove":true}`, []string{"admin"}, []string{"admin"}},
		{"POST", "/v1/reload", "", []string{"admin"}, []string{"admin"}},
	} {
		for who, token := range tokens {
			for _, tcp := range []bool{true, false} {
				want := c.overUnix
				if tcp {
					want = c.overTCP
				}
				header := map[string]string{}
				if token != "" {
					header = bearer(token)
				}
				resp, body := d.do(t, call{tcp: tcp, method: c.method, path: c.path, body: c.body, header: header})
				through := resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden
				if through != contains(want, who) {
					t.Errorf("%s %s, tcp %v, with %s: status %d, %s", c.method, c.path, tcp, who, resp.StatusCode, body)
				}
				if !through && strings.Contains(body, `"decision":"allow"`) {
					t.Errorf("%s: refused and allowed: %s", c.path, body)
				}
				if who == "wrong" && !contains(want, who) && resp.StatusCode != http.StatusUnauthorized {
					t.Errorf("%s, tcp %v: a wrong token is answered with %d", c.path, tcp, resp.StatusCode)
				}
			}
		}
	}
	for _, token := range tokens {
		if token != "" && strings.Contains(d.log.String(), token) {
			t.Error("a token stands in the log")
		}
	}
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// What a web page can make a browser send, and what only looks like a token.
func TestRequestsThatAreRefused(t *testing.T) {
	d := startDaemon(t, withListener)
	port := d.server.Addr()[strings.LastIndex(d.server.Addr(), ":"):]
	good := d.token(t, client.RoleInvoke)
	for _, c := range []struct {
		name   string
		host   string
		header map[string]string
		want   int
	}{
		{"as it should be", "", nil, 200},
		{"localhost by name", "localhost" + port, nil, 200},
		{"a name that points here", "evil.example" + port, nil, 403},
		{"a name that begins well", "127.0.0.1.evil.example" + port, nil, 403},
		{"another port", "127.0.0.1:1", nil, 403},
		{"no port", "127.0.0.1", nil, 403},
		{"another loopback address", "127.0.0.2" + port, nil, 403},
		{"a page", "", map[string]string{"Origin": "https://evil.example"}, 403},
		{"a page here", "", map[string]string{"Origin": "http://" + "127.0.0.1" + port}, 403},
		{"a sandboxed page", "", map[string]string{"Origin": "null"}, 403},
		{"a navigation", "", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"the same site", "", map[string]string{"Sec-Fetch-Site": "same-origin"}, 403},
		{"another scheme", "", map[string]string{"Authorization": "Basic " + good}, 401},
		{"a token cut short", "", map[string]string{"Authorization": "Bearer " + good[:len(good)-1]}, 401},
		{"a token and more", "", map[string]string{"Authorization": "Bearer " + good + "x"}, 401},
		{"an empty token", "", map[string]string{"Authorization": "Bearer "}, 401},
		{"the hash for the token", "", map[string]string{"Authorization": "Bearer " + hashOf(t, d.dir)}, 401},
		{"a form", "", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415},
		{"a plain text", "", map[string]string{"Content-Type": "text/plain"}, 415},
		{"no type", "", map[string]string{"Content-Type": ""}, 415},
		{"another charset", "", map[string]string{"Content-Type": "application/json; charset=utf-16"}, 415},
		{"compressed", "", map[string]string{"Content-Encoding": "gzip"}, 415},
	} {
		header := bearer(good)
		for k, v := range c.header {
			header[k] = v
		}
		resp, body := d.do(t,
			call{tcp: true, method: "POST", path: "/v1/invoke", body: asking("ls"), header: header, host: c.host})
		if resp.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.name, resp.StatusCode, c.want, body)
		}
		if c.want != 200 && strings.Contains(body, "allow\"") {
			t.Errorf("%s: %s", c.name, body)
		}
		for _, h := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Headers"} {
			if resp.Header.Get(h) != "" {
				t.Errorf("%s: %s is set", c.name, h)
			}
		}
	}
	// Two credentials at once are none, and a page is refused on the socket as well.
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+d.server.Addr()+"/v1/status", nil)
	req.Header.Add("Authorization", "Bearer "+good)
	req.Header.Add("Authorization", "Bearer "+d.token(t, client.RoleAdmin))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 401 {
		t.Errorf("two tokens: status %d", resp.StatusCode)
	}
	for _, path := range []string{"/v1/invoke", "/healthz"} {
		if resp, _ := d.do(t,
			call{method: "POST", path: path, body: asking("ls"),
				header: map[string]string{"Origin": "https://evil.example"}}); resp.StatusCode != 403 {
			t.Errorf("a page at the socket, %s: status %d", path, resp.StatusCode)
		}
	}
	// A preflight is never answered with permission.
	if resp, _ := d.do(t,
		call{tcp: true, method: "OPTIONS", path: "/v1/invoke",
			header: map[string]string{"Origin": "https://evil.example",
				"Access-Control-Request-Method": "POST"}}); resp.StatusCode != 403 {
		t.Errorf("preflight: status %d", resp.StatusCode)
	}
}

func hashOf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "keys", "invoke.hash"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(b)), "sha256:")
}

func TestAddressesThatAreNotLoopback(t *testing.T) {
	dir := stateDir(t, emptyConfig)
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"0.0.0.0:0", ":0", "[::]:0", "localhost:0", "192.0.2.1:80", "127.0.0.1", "127.1:0",
		"[::ffff:127.0.0.1]:0", "[::1%lo]:0", "[::ffff:192.0.2.1]:0", "127.0.0.1:http", "127.0.0.1:-1"} {
		s, err := server.Open(nil, server.Options{Dir: dir, Listen: a, Runtimes: map[string]adapters.Adapter{}})
		if !errors.Is(err, server.ErrAddress) {
			t.Errorf("%s: %v, %v", a, s, err)
		}
	}
}

// On the loopback address, where every local user can connect, a connection is
// kept only for those who have shown a token.
func TestConnectionsWithoutATokenClose(t *testing.T) {
	d := startDaemon(t, withListener)
	for _, c := range []struct {
		call call
		kept bool
	}{
		{call{method: "POST", path: "/v1/invoke", body: asking("ls"), header: bearer(d.token(t, client.RoleInvoke))}, true},
		{call{method: "POST", path: "/v1/invoke", body: asking("ls")}, false},
		{call{method: "POST", path: "/v1/invoke", body: asking("ls"), header: bearer("x")}, false},
		{call{method: "GET", path: "/v1/status", header: bearer(d.token(t, client.RoleInvoke))}, false},
		{call{method: "GET", path: "/healthz"}, false},
		{call{method: "GET", path: "/healthz", host: "evil.example"}, false},
		{call{method: "GET", path: "/nothing"}, false},
	} {
		c.call.tcp = true
		if resp, _ := d.do(t, c.call); resp.Close == c.kept {
			t.Errorf("%s %s: status %d, closed %v", c.call.method, c.call.path, resp.StatusCode, resp.Close)
		}
	}
}

// A token that an agent has got hold of and uses in a command does not go into the record.
func TestTokensAreNotRecorded(t *testing.T) {
	d := startDaemon(t)
	for _, r := range client.Roles() {
		token := d.token(t, r)
		if resp, body := d.do(t,
			call{method: "POST", path: "/v1/invoke", body: asking("curl -d " + token + " x")}); resp.StatusCode != 200 {
			t.Fatal(resp.StatusCode, body)
		}
		_, body := d.do(t, call{method: "GET", path: "/v1/events", header: bearer(d.token(t, client.RoleReview))})
		if strings.Contains(body, token) || !strings.Contains(body, "curl -d ") {
			t.Errorf("the token of %s stands in the record: %s", r, body)
		}
	}
}

// Tokens: the daemon stores hashes, takes existing tokens, and gives out new
// ones only where there are none.
func TestTokens(t *testing.T) {
	d := startDaemon(t)
	admin := d.token(t, client.RoleAdmin)
	path := daemonapi.TokenPath(d.dir, client.RoleAdmin)
	reloads := func(token string) int {
		resp, _ := d.do(t, call{method: "POST", path: "/v1/reload", header: bearer(token)})
		return resp.StatusCode
	}
	if err := os.Remove(path); err != nil { // moved out of the agent's reach
		t.Fatal(err)
	}
	if s := reloads(admin); s != 200 {
		t.Fatalf("the token moved away: status %d", s)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a token that was moved away came back: %v", err)
	}
	// Without the hash there is a new one, and the old one is worth nothing.
	if err := os.Remove(strings.TrimSuffix(path, "token") + "hash"); err != nil {
		t.Fatal(err)
	}
	if s := reloads(admin); s != 200 {
		t.Fatalf("status %d", s)
	}
	if s := reloads(admin); s != 401 {
		t.Errorf("the old token still holds: status %d", s)
	}
	if s := reloads(d.token(t, client.RoleAdmin)); s != 200 {
		t.Errorf("the new token does not hold: status %d", s)
	}
	// Files that others can read are no secrets.
	d.stop(t)
	for _, name := range []string{"invoke.hash", "review.hash"} {
		p := filepath.Join(d.dir, "keys", name)
		if err := os.Chmod(p, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Open(d.host, server.Options{Dir: d.dir}); !errors.Is(err, server.ErrState) {
			t.Errorf("%s is taken although others can read it: %v", name, err)
		}
		if err := os.Chmod(p, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// One token for two roles would make one of the other.
	b, err := os.ReadFile(filepath.Join(d.dir, "keys", "invoke.hash"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "keys", "admin.hash"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Open(d.host, server.Options{Dir: d.dir}); !errors.Is(err, server.ErrState) {
		t.Errorf("one token for two roles is taken: %v", err)
	}
}
