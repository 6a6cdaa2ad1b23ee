package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belay-hooks/belay/internal/mcptools"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// The test binary is the server, too: what BELAY_TEST_MCP says.
func TestMain(m *testing.M) {
	switch how := os.Getenv("BELAY_TEST_MCP"); how {
	case "":
		os.Exit(m.Run())
	case "refuses":
		fmt.Fprintln(os.Stderr, "no \x1b[31mway")
		os.Exit(1)
	case "babbles":
		for {
			if _, err := os.Stdout.Write(make([]byte, 1<<20)); err != nil {
				os.Exit(0)
			}
		}
	case "silent":
		time.Sleep(time.Hour) // not select {}: a program in which everything waits is ended by its runtime
	case "parent": // starts a server and waits to be killed
		set := mcptools.New([]mcptools.Server{stdio("s", "BELAY_TEST_MCP")},
			mcptools.Options{LookupEnv: func(n string) (string, bool) { return "outlives", true }})
		res, err := set.Call(context.Background(),
			kernel.ToolCall{MCP: &phases.MCPTool{Server: "s", Tool: "pid"}, Args: jsontext.Value("{}")})
		fmt.Println(string(res.Result), err)
		time.Sleep(time.Hour) // not select {}: a program in which everything waits is ended by its runtime
	case "floods":
		flood()
	case "complains":
		complain(0)
	case "complains much":
		complain(1000)
	case "many":
		listMuch()
	case "older":
		serveOlder()
	case "outlives": // its client, if nothing but the end of its input tells it to end
		_ = testServer().Run(context.Background(), &mcp.IOTransport{Reader: &ear{ReadCloser: os.Stdin}, Writer: os.Stdout})
		time.Sleep(time.Hour)
	default:
		if err := testServer().Run(context.Background(),
			&mcp.IOTransport{Reader: &ear{ReadCloser: os.Stdin}, Writer: os.Stdout}); err != nil {
			os.Exit(1)
		}
	}
}

func testServer() *mcp.Server {
	var o mcp.ServerOptions
	if only, ok := strings.CutPrefix(os.Getenv("BELAY_TEST_MCP"), "only "); ok {
		o.SupportedProtocolVersions = []string{only}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &o)
	tool := func(name string, f func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: "the tool \x1b[1m" + name,
			InputSchema: map[string]any{"type": "object"}},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				args := map[string]any{}
				if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
					return nil, err
				}
				return f(ctx, r, args)
			})
	}
	text := func(s string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil
	}
	tool("echo", func(_ context.Context, _ *mcp.CallToolRequest, a map[string]any) (*mcp.CallToolResult, error) {
		res, _ := text(fmt.Sprint(a["text"]))
		res.StructuredContent = a
		return res, nil
	})
	tool("env", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
		dir, _ := os.Getwd()
		return text(dir + " " + strings.Join(os.Environ(), "|"))
	})
	tool("pid", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
		return text(strconv.Itoa(os.Getpid()))
	})
	tool("deafen", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
		deaf.Store(true)
		return text(strconv.Itoa(os.Getpid()))
	})
	tool("slow", func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, error) {
		time.Sleep(time.Hour)
		return text("late")
	})
	tool("crash", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	tool("fail", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
		res, _ := text("did not work")
		res.IsError = true
		return res, nil
	})
	tool("refuse", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
		return nil, errors.New("a \x1b[31mreason")
	})
	tool("big", func(_ context.Context, _ *mcp.CallToolRequest, a map[string]any) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("x", int(a["n"].(float64))))
	})
	tool("sample", func(ctx context.Context, r *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, error) {
		_, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		return text(fmt.Sprintf("sampling: %v", err != nil))
	})
	tool("rewrite", func(_ context.Context, _ *mcp.CallToolRequest, a map[string]any) (*mcp.CallToolResult, error) {
		s.AddTool(&mcp.Tool{Name: "pid", Description: fmt.Sprint(a["text"]), InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("pulled") })
		return text("done")
	})
	tool("grandchild", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
		c := exec.Command("/bin/sleep", "1000")
		if err := c.Start(); err != nil {
			return nil, err
		}
		return text(strconv.Itoa(c.Process.Pid))
	})
	return s
}

// stdio is the test binary as a server; it is told what to be by a variable.
func stdio(name, variable string) mcptools.Server {
	return mcptools.Server{Name: name, Command: []string{os.Args[0]}, Env: []string{variable}, Tools: []string{"*"},
		Timeout: 5 * time.Second}
}

// declare makes a set of one server, which is how.
func declare(t *testing.T, how string, change func(*mcptools.Server), o mcptools.Options) *mcptools.Set {
	t.Helper()
	t.Setenv("BELAY_TEST_MCP", how)
	spec := stdio("s", "BELAY_TEST_MCP")
	if change != nil {
		change(&spec)
	}
	set := mcptools.New([]mcptools.Server{spec}, o)
	t.Cleanup(func() { set.Close() })
	return set
}

func call(t *testing.T, set *mcptools.Set, tool, args string) (kernel.ToolResult, error) {
	t.Helper()
	return set.Call(t.Context(),
		kernel.ToolCall{MCP: &phases.MCPTool{Server: "s", Tool: tool}, Args: jsontext.Value(args)})
}

// said is the text of a result.
func said(t *testing.T, set *mcptools.Set, tool, args string) string {
	t.Helper()
	res, err := call(t, set, tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	s, _ := phases.GetString(res.Result, "/content/0/text")
	return s
}

func TestStdioServer(t *testing.T) {
	t.Setenv("BELAY_TEST_OTHER", "not for the server")
	set := declare(t, "serve", func(s *mcptools.Server) { s.Dir = "/tmp" }, mcptools.Options{})
	res, err := call(t, set, "echo", `{"text":"hi","n":1}`)
	if err != nil ||
		string(res.Result) != `{"content":[{"type":"text","text":"hi"}],"structuredContent":{"n":1,"text":"hi"}}` ||
		res.IsError {
		t.Errorf("%s %v", res.Result, err)
	}
	if got := said(t, set, "env", "{}"); got != "/tmp BELAY_TEST_MCP=serve" {
		t.Errorf("the server got %s", got)
	}
	if res, err := call(t, set, "fail", "{}"); err != nil || !res.IsError {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := call(t, set, "refuse", "{}"); err == nil || !strings.Contains(err.Error(), "reason") ||
		strings.Contains(err.Error(), "\x1b") || errors.Is(err, kernel.ErrToolCrashed) {
		t.Errorf("%v", err)
	}
	if got := said(t, set, "sample", "{}"); got != "sampling: true" {
		t.Errorf("a server may ask for sampling: %s", got)
	}
	if first, second := said(t, set, "pid", "{}"), said(t, set, "pid", "{}"); first != second {
		t.Errorf("two processes, %s and %s", first, second)
	}
	list, err := set.Tools(t.Context())
	if err != nil || len(list) != 12 || list[1].Name != "mcp:s:crash" || strings.Contains(list[0].Description, "\x1b") ||
		!list[0].Schema.IsValid() {
		t.Errorf("%+v %v", list, err)
	}
}

func TestOnlyListedTools(t *testing.T) {
	set := declare(t, "serve", func(s *mcptools.Server) { s.Tools = []string{"echo", "nothing"} }, mcptools.Options{})
	for _, tool := range []string{"pid", "nothing"} {
		if _, err := call(t, set, tool, "{}"); !errors.Is(err, kernel.ErrNoTool) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if _, err := set.Call(t.Context(), kernel.ToolCall{MCP: &phases.MCPTool{Server: "x", Tool: "echo"}}); !errors.Is(err,
		kernel.ErrNoTool) {
		t.Errorf("another server: %v", err)
	}
	if _, err := set.Call(t.Context(), kernel.ToolCall{Tool: "echo"}); !errors.Is(err, kernel.ErrNoTool) {
		t.Errorf("no server: %v", err)
	}
	if list, err := set.Tools(t.Context()); err != nil || len(list) != 1 || list[0].Name != "mcp:s:echo" {
		t.Errorf("%+v %v", list, err)
	}
}

func TestLimits(t *testing.T) {
	set := declare(t, "serve", func(s *mcptools.Server) { s.Max, s.Timeout = 1000, 2*time.Second }, mcptools.Options{})
	if got := said(t, set, "big", `{"n":900}`); len(got) != 900 {
		t.Errorf("%d bytes", len(got))
	}
	if _, err := call(t, set, "big", `{"n":1000}`); err == nil ||
		!strings.Contains(err.Error(), "larger than 1000 bytes") {
		t.Errorf("%v", err)
	}
	// More than the connection takes ends the server, and the next call starts it.
	pid := said(t, set, "pid", "{}")
	if _, err := call(t, set, "big", `{"n":5000000}`); !errors.Is(err, kernel.ErrToolCrashed) {
		t.Errorf("%v", err)
	}
	if again := said(t, set, "pid", "{}"); again == pid {
		t.Error("it goes on with a connection that was broken")
	}
}

func TestSlowServer(t *testing.T) {
	set := declare(t, "serve", func(s *mcptools.Server) { s.Timeout = 700 * time.Millisecond }, mcptools.Options{})
	pid := said(t, set, "pid", "{}")
	for range 3 {
		from := time.Now()
		if _, err := call(t, set, "slow", "{}"); !errors.Is(err, kernel.ErrToolTimeout) || time.Since(from) > 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(from))
		}
	}
	// After three in a row it is started anew.
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		res, err := call(t, set, "pid", "{}")
		if got, _ := phases.GetString(res.Result, "/content/0/text"); err == nil && got != pid {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("it still is the old one: %s %v", res.Result, err)
		}
	}
}

func TestCrashingServer(t *testing.T) {
	set := declare(t, "serve", nil, mcptools.Options{})
	pid := said(t, set, "pid", "{}")
	if _, err := call(t, set, "crash", "{}"); !errors.Is(err, kernel.ErrToolCrashed) {
		t.Fatalf("%v", err)
	}
	if again := said(t, set, "pid", "{}"); again == pid {
		t.Error("it was not started anew")
	}
	// One that crashes again and again has to wait.
	waited := false
	for deadline := time.Now().Add(20 * time.Second); !waited && time.Now().Before(deadline); {
		if _, err := call(t, set, "crash", "{}"); err != nil && strings.Contains(err.Error(), "times in a row") {
			waited = true
		} else if !errors.Is(err, kernel.ErrToolCrashed) {
			t.Errorf("%v", err)
		}
	}
	if !waited {
		t.Error("started without a pause")
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	var log syncBuffer
	for how, change := range map[string]func(*mcptools.Server){
		"refuses": nil, "babbles": nil,
		"silent":  func(s *mcptools.Server) { s.Timeout = 500 * time.Millisecond },
		"missing": func(s *mcptools.Server) { s.Command = []string{"/no/such/server"} },
		"no env":  func(s *mcptools.Server) { s.Env = []string{"BELAY_TEST_NOT_SET"} },
	} {
		set := declare(t, how, change, mcptools.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		from := time.Now()
		_, err := call(t, set, "echo", "{}")
		if err == nil || time.Since(from) > 10*time.Second || errors.Is(err, kernel.ErrNoTool) {
			t.Errorf("%s: %v after %v", how, err, time.Since(from))
		}
		set.Close()
		if _, err := call(t, set, "echo", "{}"); err == nil {
			t.Errorf("%s: a closed set answers", how)
		}
	}
	if s := log.String(); !strings.Contains(s, "way") || strings.Contains(s, "\x1b") {
		t.Errorf("the log: %q", s)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 1 {
		return false
	}
	if stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat")); err == nil &&
		strings.Contains(string(stat), ") Z ") {
		return false
	}
	return exists(n)
}

func ends(t *testing.T, what, pid string) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s %s lives on", what, pid)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	set := declare(t, "serve", nil, mcptools.Options{})
	pid, grandchild := said(t, set, "pid", "{}"), said(t, set, "grandchild", "{}")
	if !alive(pid) || !alive(grandchild) {
		t.Fatalf("%s and %s do not run", pid, grandchild)
	}
	set.Close()
	ends(t, "the server", pid)
	ends(t, "its child", grandchild)
}

func TestManyCallsAtOnce(t *testing.T) {
	set := declare(t, "serve", nil, mcptools.Options{})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if got := said(t, set, "echo", fmt.Sprintf(`{"text":"%d"}`, i)); got != strconv.Itoa(i) {
				t.Errorf("%d was answered %s", i, got)
			}
		})
	}
	wg.Wait()
}

func TestHTTPServer(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("CRM_AUTH", "Bearer abc")
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return testServer() }, nil)
	var auth atomic.Value
	var moved atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth.Store(r.Header.Get("Authorization"))
		if moved.Load() {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer s.Close()
	web := func(v *mcptools.Server) {
		v.Command, v.Env, v.URL, v.Headers, v.Timeout = nil, nil, s.URL, map[string]string{"Authorization": "CRM_AUTH"},
			2*time.Second
	}
	set := declare(t, "", web, mcptools.Options{})
	if got := said(t, set, "echo", `{"text":"hi"}`); got != "hi" || auth.Load() != "Bearer abc" {
		t.Errorf("%s, %v", got, auth.Load())
	}
	if _, err := call(t, set, "slow", "{}"); !errors.Is(err, kernel.ErrToolTimeout) {
		t.Errorf("%v", err)
	}
	moved.Store(true)
	if _, err := call(t, set, "echo", `{"text":"hi"}`); err == nil {
		t.Error("a redirect was followed")
	}
}
