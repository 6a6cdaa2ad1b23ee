package server

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Whatever reaches a route with a good credential: the daemon does not fail over it,
// answers a document, says nothing that could harm a terminal, and no refusal can be
// read as "go on".
func FuzzRequests(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte("version: belay/v1\nhooks: []\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	host, err := belay.Open(f.Context(), dir, belay.Options{InMemory: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { host.Close() })
	s := &Server{
		host: host, notifications: newNotifications(), ending: newEnding(), health: newHealth(host, false), since: time.Now(),
	}
	s.o = Options{Dir: dir, Runtimes: map[string]adapters.Adapter{claudecode.Runtime: claudecode.New()}}.withDefaults()
	s.log, s.gate, s.routes = s.o.Logger, newGate(s.o.Running, s.o.Queue, s.o.Patience), s.table()
	t, err := openTokens(dir)
	if err != nil {
		f.Fatal(err)
	}
	s.tokens.Store(&t)
	token := map[client.Role]string{}
	for _, r := range client.Roles() {
		if token[r], err = client.ReadToken(dir, r); err != nil {
			f.Fatal(err)
		}
	}
	route := func(path string) uint8 {
		for i, r := range s.routes {
			if r.path == path {
				return uint8(i)
			}
		}
		f.Fatalf("no route %s", path)
		return 0
	}
	f.Add(route("/v1/invoke"), "", "", []byte(`{"phase":"pre_tool","action":{"tool":"exec","args":{"command":"ls"}}}`))
	f.Add(route("/v1/invoke"), "", "", []byte(`{"phase":"pre_tool","phase":"pre_plan"}`))
	f.Add(route("/adapters/{runtime}"), "claude-code", "event=PreToolUse",
		[]byte(`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`))
	f.Add(route("/adapters/{runtime}"), "../x", "event=\x1b", []byte(`{}`))
	f.Add(route("/v1/events"), "", "after=0&limit=3&type=verdict&since=2026-01-01T00:00:00Z", []byte{})
	f.Add(route("/v1/events"), "", "follow=true&after=0", []byte{})
	f.Add(route("/v1/recording"), "", "seconds=1&count=1", []byte{})
	f.Add(route("/v1/latches/clear"), "", "", []byte(`{"runtime":"custom","session":"s"}`))
	f.Add(route("/v1/proposals"), "", "", []byte(`{"module":"AGFzbQEAAAA=","reason":"so"}`))
	f.Add(route("/v1/approvals"), "", "kind=ask&state=pending&limit=1", []byte{})
	f.Add(route("/v1/approvals/{id}"), "01a1fc35-e999-778a-8ada-7a335a915e53", "wait=1ms", []byte{})
	f.Add(route("/v1/approvals/{id}/decide"), "x", "", []byte(`{"verdict":"approve","by":"dev","signature":"AA=="}`))
	f.Add(route("/v1/events/compact"), "", "", []byte(`{"before":"2020-01-01T00:00:00Z","dry_run":true}`))
	f.Add(uint8(len(s.routes)-4), "", "",
		[]byte(`{"capability":"tool:write","scope":{"paths":["/srv/**"]},"ttl_s":60,"holder":{"runtime":"custom"}}`))
	f.Add(route("/v1/leases/revoke"), "", "", []byte(`{"id":"x","prefix":"y"}`))
	f.Add(route("/v1/leases/check"), "", "",
		[]byte(`{"invocation":{"phase":"pre_tool","action":{"tool":"exec","args":{}}},"capability":"tool:exec"}`))
	handler := s.handler()
	f.Fuzz(func(t *testing.T, n uint8, part, query string, body []byte) {
		rt := s.routes[int(n)%len(s.routes)]
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), peerKey{}, peer{unix: true, uid: os.Geteuid()}),
			50*time.Millisecond)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, rt.method, "http://belay/", bytes.NewReader(body))
		r.URL.Path, r.URL.RawQuery = pathOf(rt.path, part), query
		r.Header.Set("Content-Type", "application/json")
		if !rt.body {
			r.Body, r.ContentLength = http.NoBody, 0
		}
		if len(rt.roles) > 0 {
			r.Header.Set("Authorization", "Bearer "+token[rt.roles[0]])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		answer := w.Body.Bytes()
		if w.Code == http.StatusInternalServerError && rt.path != "/adapters/{runtime}" {
			t.Fatalf("%s %s?%s fails over %q: %s", rt.method, r.URL.Path, query, body, answer)
		}
		if w.Header().Get("Content-Type") != "application/json" {
			return
		}
		if !jsontext.Value(answer).IsValid() {
			t.Fatalf("%s answers %q", r.URL.Path, answer)
		}
		if w.Code < 400 {
			return
		}
		var p wire.Problem
		if rt.path == "/adapters/{runtime}" && w.Code != http.StatusNotFound {
			return // in the runtime's own words
		}
		if err := json.Unmarshal(answer, &p); err != nil || p.Error.Code == "" || p.Error.Decision == phases.Allow {
			t.Fatalf("%d %s, %v", w.Code, answer, err)
		}
		if m := p.Error.Message; phases.SafeText(m, 8<<10) != m {
			t.Fatalf("%s shows %q", r.URL.Path, m)
		}
	})
}

// pathOf puts a part into a route's pattern as a client does.
func pathOf(pattern, part string) string {
	for _, name := range []string{"{runtime}", "{id}"} {
		if before, after, ok := bytes.Cut([]byte(pattern), []byte(name)); ok {
			return string(before) + url.PathEscape(part) + string(after)
		}
	}
	return pattern
}
