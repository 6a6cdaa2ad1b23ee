package mcptools_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belay-hooks/belay/internal/mcptools"
)

// versions are those of the protocol that a server may speak, the newest first.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// spoken is the protocol of the last server that has answered, by the log.
func spoken(log *syncBuffer) string {
	lines := strings.Split(log.String(), "\n")
	for _, l := range slices.Backward(lines) {
		if _, rest, ok := strings.Cut(l, "protocol="); ok && strings.Contains(l, "an MCP server answers") {
			version, _, _ := strings.Cut(rest, " ")
			return version
		}
	}
	return "nothing"
}

func logTo(log *syncBuffer) mcptools.Options {
	return mcptools.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}
}

// Over standard streams belay speaks the newest version that the server speaks, too.
func TestVersionsOverStdio(t *testing.T) {
	for how, want := range map[string]string{
		"serve": versions[0], "only 2026-07-28": "2026-07-28", "only 2025-11-25": "2025-11-25",
		"only 2025-06-18": "2025-06-18", "only 2024-11-05": "2024-11-05",
	} {
		var log syncBuffer
		set := declare(t, how, nil, logTo(&log))
		if got := said(t, set, "echo", `{"text":"hi"}`); got != "hi" || spoken(&log) != want {
			t.Errorf("%s: %s in %s, want %s", how, got, spoken(&log), want)
		}
		set.Close()
	}
}

// wire remembers what reaches an HTTP server.
type wire struct {
	mu   sync.Mutex
	seen []string // method of JSON-RPC, protocol in the header, method in the header
}

func (w *wire) remember(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(body, &q)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, strings.Join([]string{r.Method, q.Method, r.Header.Get("Mcp-Protocol-Version"),
		r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name")}, " "))
	return body
}

func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.seen, "\n")
}

// far makes a set of one server that is reached by HTTP.
func far(t *testing.T, handler http.Handler, o mcptools.Options) (*mcptools.Set, *wire) {
	t.Helper()
	var w wire
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(string(w.remember(r))))
		handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(s.Close)
	return declare(t, "", func(v *mcptools.Server) {
		v.Command, v.Env, v.URL, v.Timeout = nil, nil, s.URL, 3*time.Second
	}, o), &w
}

// A server without sessions is spoken to in the version of 2026: without a handshake, and each
// request says its version, its method and its tool in headers. One with sessions gets the
// handshake of the versions before.
func TestVersionsOverHTTP(t *testing.T) {
	for _, c := range []struct {
		stateless bool
		want      string
		seen      []string
		never     string
	}{
		{true, "2026-07-28", []string{"POST server/discover 2026-07-28 server/discover ",
			"POST tools/list 2026-07-28 tools/list ", "POST tools/call 2026-07-28 tools/call echo"}, "initialize"},
		{false, "2025-11-25", []string{"POST initialize ", "POST tools/list 2025-11-25", "POST tools/call 2025-11-25"},
			"tools/call 2026"},
	} {
		var log syncBuffer
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return testServer() },
			&mcp.StreamableHTTPOptions{Stateless: c.stateless})
		set, wire := far(t, handler, logTo(&log))
		if got := said(t, set, "echo", `{"text":"hi"}`); got != "hi" || spoken(&log) != c.want {
			t.Errorf("stateless %v: %s in %s", c.stateless, got, spoken(&log))
		}
		for _, want := range c.seen {
			if !strings.Contains(wire.String(), want) {
				t.Errorf("stateless %v: no %q in\n%s", c.stateless, want, wire)
			}
		}
		if strings.Contains(wire.String(), c.never) {
			t.Errorf("stateless %v: %q in\n%s", c.stateless, c.never, wire)
		}
	}
}

// older answers as servers of before 2026-07-28 do; it never heard of server/discover.
func older(line []byte, unknown string) string {
	var q struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	if err := json.Unmarshal(line, &q); err != nil {
		return ""
	}
	switch q.Method {
	case "initialize":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}`, q.ID)
	case "tools/list":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`, q.ID)
	case "tools/call":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"old"}]}}`, q.ID)
	case "notifications/initialized":
		return ""
	}
	return strings.ReplaceAll(unknown, "ID", string(q.ID))
}

// serveOlder is such a server over standard streams. It does not answer what it does not know.
func serveOlder() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		if reply := older(line, ""); reply != "" {
			fmt.Println(reply)
		}
	}
}

// A server that is silent about server/discover is started once more and asked to initialize, and
// from then on at once.
func TestServerThatDoesNotKnowDiscover(t *testing.T) {
	var log syncBuffer
	set := declare(t, "older", func(s *mcptools.Server) { s.Timeout = 2 * time.Second }, logTo(&log))
	if got := said(t, set, "echo", "{}"); got != "old" || spoken(&log) != "2025-06-18" {
		t.Errorf("%s in %s", got, spoken(&log))
	}
}

// Over HTTP such servers refuse it, each in its own way.
func TestHTTPServersThatDoNotKnowDiscover(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"an error of JSON-RPC":     {200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`},
		"an error of HTTP":         {400, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32600,"message":"no session"}}`},
		"an error of HTTP in text": {400, `Bad Request: no valid session ID provided`},
	} {
		var log syncBuffer
		set, wire := far(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			line, _ := io.ReadAll(r.Body)
			reply := older(line, c.body)
			w.Header().Set("Content-Type", "application/json")
			switch {
			case reply == "":
				w.WriteHeader(http.StatusAccepted)
				return
			case !strings.Contains(reply, `"result"`):
				w.WriteHeader(c.status)
			}
			fmt.Fprint(w, reply)
		}), logTo(&log))
		res, err := call(t, set, "echo", "{}")
		if err != nil || !strings.Contains(string(res.Result), "old") || spoken(&log) != "2025-06-18" {
			t.Errorf("%s: %s %v in %s\n%s", name, res.Result, err, spoken(&log), wire)
		}
	}
}

// A server of 2026-07-28 asks for input in its answer. It gets none, and its tool runs once.
func TestServerThatWantsInput(t *testing.T) {
	var calls int
	server := mcp.NewServer(&mcp.Implementation{Name: "wants", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls++
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true})
	set, _ := far(t, handler, mcptools.Options{})
	if _, err := call(t, set, "echo", "{}"); err == nil || !strings.Contains(err.Error(), "asks for input") || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
