//go:build agents

package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/belay-hooks/belay/internal/agents"
)

// seen collects the results of a run; the mutex is for tests in parallel.
var seen struct {
	sync.Mutex
	clients []agents.Client
}

// record notes what a client was seen to do.
func record(client, version string, r agents.Result) {
	seen.Lock()
	defer seen.Unlock()
	i := slices.IndexFunc(seen.clients, func(c agents.Client) bool {
		return c.Name == client && c.Version == version
	})
	if i < 0 {
		i = len(seen.clients)
		seen.clients = append(seen.clients, agents.Client{Name: client, Version: version})
	}
	seen.clients[i].Results = append(seen.clients[i].Results, r)
}

// TestMain writes the results of the groups that a run without a failure ran to BELAY_AGENTS_RESULTS, when
// that is set. As an MCP server it is what the clients start.
func TestMain(m *testing.M) {
	if os.Getenv("BELAY_AGENTS_MCP") != "" {
		serveMCP()
		return
	}
	if os.Getenv(machineStage) != "" && !machined() {
		code, err := onMachine()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	code := m.Run()
	if machined() {
		fmt.Print(agents.Summary(seen.clients))
	}
	if dir := os.Getenv("BELAY_AGENTS_RESULTS"); dir != "" && code == 0 {
		older, err := agents.Read(dir)
		for _, c := range seen.clients {
			for _, o := range older {
				if o.Name == c.Name && o.Version == c.Version {
					c = c.Over(o)
				}
			}
			var b []byte
			if err == nil {
				b, err = c.Encode()
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, fileName(c)), b, 0o644)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// fileName is the name of the file with a client's results.
func fileName(c agents.Client) string {
	return strings.ReplaceAll(strings.ToLower(c.Name), " ", "-") + "-" + c.Version + ".json"
}

// serveMCP is an MCP server on standard input. Its tool say prints a secret and its arguments; bash runs a command.
func serveMCP() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	tool := func(name, member string) map[string]any {
		return map[string]any{"name": name, "description": name, "inputSchema": map[string]any{"type": "object",
			"properties": map[string]any{member: map[string]any{"type": "string"}}}}
	}
	for {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string          `json:"protocolVersion"`
				Name            string          `json:"name"`
				Arguments       json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if in.Decode(&req) != nil {
			return
		}
		if req.ID == nil {
			continue
		}
		var result any = map[string]any{}
		switch req.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": req.Params.ProtocolVersion,
				"capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo":   map[string]any{"name": "notes", "version": "1"}}
		case "tools/list":
			result = map[string]any{"tools": []any{tool("say", "text"), tool("bash", "command")}}
		case "tools/call":
			var args struct {
				Command string `json:"command"`
				Size    int    `json:"size"` // of what say adds, in bytes
			}
			_ = json.Unmarshal(req.Params.Arguments, &args)
			text := "token " + secret + " " + string(req.Params.Arguments) + strings.Repeat("a", args.Size)
			if req.Params.Name == "bash" {
				b, err := exec.Command("sh", "-c", args.Command).CombinedOutput()
				text = fmt.Sprintf("%s %v", b, err)
			}
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
		}
		_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": result})
	}
}
