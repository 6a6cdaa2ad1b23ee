package belay_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// TestServeMCP is no test but the server that TestMCPTools starts.
func TestServeMCP(t *testing.T) {
	if os.Getenv("BELAY_TEST_SERVE") == "" {
		return
	}
	fmt.Fprintln(os.Stderr, "started with password=hunter2hunter2 and", os.Getenv("BELAY_TEST_SERVE"))
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for _, name := range []string{"echo", "crash"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if name == "crash" {
					os.Exit(3)
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
			})
	}
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
	os.Exit(0)
}

// lockedLog is what a logger writes to while a test reads.
type lockedLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A process that decides for users who may reach less than it starts no server with its rights.
func TestNoToolPrograms(t *testing.T) {
	t.Setenv("BELAY_TEST_SERVE", "given-by-environment")
	dir := state(t, `version: belay/v1
mcp:
  servers:
    files:
      command: ["`+os.Args[0]+`", "-test.run=^TestServeMCP$"]
      env: [BELAY_TEST_SERVE]
      tools: [echo]
`)
	var log lockedLog
	b := open(t, dir, belay.Options{NoToolPrograms: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Hooks: []belay.AdHocHook{calling("request_tool_call", `{"tool":"mcp__files__echo","args":{}}`)}})
	if code, reply := noted(invoke(t, b, exec("ls"))); strings.Contains(reply, `"outcome":"ok"`) ||
		code == "0" && !strings.Contains(reply, "starts no programs") {
		t.Errorf("code %s, reply %s", code, reply)
	}
	if text := log.String(); strings.Contains(text, "started with") {
		t.Errorf("the server was started: %s", text)
	}
}

// A hook calls a tool of a server that belay.yaml declares.
func TestMCPTools(t *testing.T) {
	t.Setenv("BELAY_TEST_SERVE", "given-by-environment")
	yaml := func(tool, rest string) string {
		return `version: belay/v1
mcp:
  servers:
    files:
      command: ["` + os.Args[0] + `", "-test.run=^TestServeMCP$"]
      env: [BELAY_TEST_SERVE]
      tools: [echo, crash]
` + rest + `hooks:
  - name: guard
    module: builtin:command-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, pattern_match]
`
	}
	dir := state(t, yaml("echo", ""))
	run := func(b *belay.Belay) (code, reply string) {
		t.Helper()
		return noted(invoke(t, b, exec("ls")))
	}
	var log lockedLog
	b := open(t, dir,
		belay.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Hooks: []belay.AdHocHook{calling("request_tool_call",
				`{"tool":"mcp__files__echo","args":{"q":"x","password":"hunter2hunter2"}}`)}})
	if code, reply := run(b); code != "0" || !strings.Contains(reply, `"outcome":"ok","tool":"mcp:files:echo"`) ||
		!strings.Contains(reply, `{\"q\":\"x\"`) || strings.Contains(reply, "hunter2") {
		t.Errorf("code %s, reply %s", code, reply)
	}
	es, err := b.Events(t.Context(), wire.Query{Tool: "mcp:files:echo"})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range es {
		types = append(types, string(e.Type)+" "+string(e.Phase)+" "+e.Decision)
		if strings.Contains(string(e.Input)+string(e.Output), "hunter2") {
			t.Errorf("logged: %s %s", e.Input, e.Output)
		}
	}
	if got := strings.Join(types, ", "); !strings.Contains(got,
		"verdict pre_tool allow, intent pre_tool , outcome pre_tool ok, ") ||
		!strings.HasSuffix(got, "verdict post_tool allow") {
		t.Errorf("events %s", got)
	}
	if list, err := b.Tools(t.Context()); err != nil || len(list) != 2 || list[1].Name != "mcp:files:echo" {
		t.Errorf("tools %+v, %v", list, err)
	}
	// What the server complains about is logged by the same rules as everything else.
	if said := log.String(); !strings.Contains(said, "started with password=") || strings.Contains(said, "hunter2") ||
		strings.Contains(said, "given-by-environment") {
		t.Errorf("the log: %s", said)
	}
	// Tools that are not known exactly are held to nothing: narrow scopes stop them.
	inv := exec("ls")
	inv.Scopes = phases.Scopes{FSWrite: phases.Scope{"/home/dev/project/**"}}
	if code, reply := noted(invoke(t, b, inv)); code != "-2" || !strings.Contains(reply, "scopes") {
		t.Errorf("code %s, reply %s", code, reply)
	}
	// Without servers there is no tool.
	write(t, filepath.Join(dir, "belay.yaml"), "version: belay/v1\nhooks: []\n")
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, _ := run(b); code != "-7" {
		t.Errorf("code %s without servers", code)
	}
	b.Close()

	b = open(t, state(t, yaml("crash", "")),
		belay.Options{Hooks: []belay.AdHocHook{calling("request_tool_call", `{"tool":"mcp:files:crash"}`)}})
	for range 2 {
		if code, reply := run(b); code != "0" || !strings.Contains(reply, `"outcome":"crashed"`) {
			t.Errorf("code %s, reply %s", code, reply)
		}
	}
	b.Close()

	// What the operator says about the reach of a server counts.
	b = open(t, state(t, yaml("echo", "      reach: {fs_read: [], fs_write: [\"/home/dev/project/**\"], net: []}\n")),
		belay.Options{Hooks: []belay.AdHocHook{calling("request_tool_call", `{"tool":"mcp__files__echo"}`)}})
	if code, reply := noted(invoke(t, b, inv)); code != "0" {
		t.Errorf("code %s, reply %s", code, reply)
	}
	if _, err := belay.Open(t.Context(), state(t, yaml("echo", "      retries: 1\n")), belay.Options{}); !errors.Is(err,
		belay.ErrConfig) {
		t.Errorf("%v", err)
	}
}
