//go:build mcp

package mcptools_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/mcptools"
	"github.com/belay-hooks/belay/kernel"
)

// installed is where scripts/test-mcp has put the servers.
func installed(t *testing.T, name string) (node, script string) {
	t.Helper()
	node, script = os.Getenv("BELAY_NODE"),
		filepath.Join(os.Getenv("BELAY_MCP_MODULES"), "@modelcontextprotocol", name, "dist", "index.js")
	if _, err := os.Stat(script); err != nil || node == "" {
		t.Fatalf("run scripts/test-mcp: %v", err)
	}
	return node, script
}

func realSet(t *testing.T, s mcptools.Server) *mcptools.Set {
	t.Helper()
	s.Name = "s"
	if s.Tools == nil {
		s.Tools = []string{"*"}
	}
	set := mcptools.New([]mcptools.Server{s}, mcptools.Options{})
	t.Cleanup(func() { set.Close() })
	return set
}

func has(t *testing.T, set *mcptools.Set, tool string) {
	t.Helper()
	list, err := set.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		if i.Name == "mcp:s:"+tool {
			return
		}
	}
	t.Fatalf("no %s among %+v", tool, list)
}

func everything(t *testing.T, set *mcptools.Set) {
	has(t, set, "echo")
	if got := said(t, set, "echo", `{"message":"hello"}`); !strings.Contains(got, "hello") {
		t.Errorf("echo: %s", got)
	}
	if res, err := call(t, set, "echo", `{"message":7}`); err == nil && !res.IsError {
		t.Errorf("arguments of another type: %s", res.Result)
	}
	if _, err := call(t, set, "no-such-tool", `{}`); !errors.Is(err, kernel.ErrNoTool) {
		t.Errorf("%v", err)
	}
	from := time.Now()
	if _, err := call(t, set, "trigger-long-running-operation", `{"duration":60,"steps":2}`); !errors.Is(err,
		kernel.ErrToolTimeout) || time.Since(from) > 10*time.Second {
		t.Errorf("a long operation: %v after %v", err, time.Since(from))
	}
	if got := said(t, set, "echo", `{"message":"again"}`); !strings.Contains(got, "again") {
		t.Errorf("echo: %s", got)
	}
}

func TestRealEverything(t *testing.T) {
	node, script := installed(t, "server-everything")
	set := realSet(t, mcptools.Server{Command: []string{node, script, "stdio"}, Timeout: 5 * time.Second})
	everything(t, set)
	if got := said(t, set, "get-env", `{}`); strings.Contains(got, "BELAY_MCP_MODULES") || strings.Contains(got, "HOME") {
		t.Errorf("the server sees our environment: %s", got)
	}
}

func TestRealEverythingOverHTTP(t *testing.T) {
	node, script := installed(t, "server-everything")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	cmd := exec.Command(node, script, "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(until) {
			t.Fatal("the server does not listen")
		}
	}
	everything(t, realSet(t, mcptools.Server{URL: "http://127.0.0.1:" + port + "/mcp", Timeout: 5 * time.Second}))
}

func TestRealFilesystem(t *testing.T) {
	node, script := installed(t, "server-filesystem")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello file"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := realSet(t,
		mcptools.Server{Command: []string{node, script, dir}, Timeout: 10 * time.Second, Tools: []string{"read_text_file"}})
	quoted, _ := jsontext.AppendQuote(nil, filepath.Join(dir, "a.txt"))
	if got := said(t, set, "read_text_file", `{"path":`+string(quoted)+`}`); got != "hello file" {
		t.Errorf("read %q", got)
	}
	if res, err := call(t, set, "read_text_file", `{"path":"/etc/passwd"}`); err == nil && !res.IsError {
		t.Errorf("outside of its directory: %s", res.Result)
	}
	if _, err := call(t, set, "write_file", `{"path":`+string(quoted)+`,"content":"x"}`); !errors.Is(err,
		kernel.ErrNoTool) {
		t.Errorf("a tool that is not listed: %v", err)
	}
}
