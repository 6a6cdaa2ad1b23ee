package mcptools_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belay-hooks/belay/internal/mcptools"
	"github.com/belay-hooks/belay/internal/toolpins"
	"github.com/belay-hooks/belay/kernel"
)

// watch holds back the tools whose definition says "pulled".
type watch struct {
	mu    sync.Mutex
	looks []*toolpins.Listing
	fail  error
}

func (w *watch) Look(_ context.Context, l *toolpins.Listing) (map[string]*kernel.ToolHeld, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, l)
	held := map[string]*kernel.ToolHeld{}
	for name, text := range l.Tools {
		if strings.Contains(string(text), "pulled") {
			held[name] = &kernel.ToolHeld{Reason: "it has changed"}
		}
	}
	return held, w.fail
}

func (w *watch) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.looks)
}

// A running server that changes a definition is noticed before the next call: by its own word in
// the versions that send it, and by asking again in each.
func TestServerThatChangesItsTools(t *testing.T) {
	for how, relist := range map[string]time.Duration{"only 2025-06-18": time.Hour, "serve": time.Nanosecond} {
		var w watch
		set := declare(t, how, nil, mcptools.Options{Definitions: &w, Relist: relist})
		if got := said(t, set, "rewrite", `{"text":"harmless"}`); got != "done" {
			t.Fatalf("%s: %s", how, got)
		}
		if got := said(t, set, "rewrite", `{"text":"pulled"}`); got != "done" {
			t.Fatalf("%s: %s", how, got)
		}
		var held *kernel.ToolHeld
		for until := time.Now().Add(10 * time.Second); held == nil &&
			time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			_, err := call(t, set, "pid", "{}")
			errors.As(err, &held)
		}
		if held == nil || held.Reason != "it has changed" {
			t.Fatalf("%s: the tool runs under another definition", how)
		}
		if got := said(t, set, "echo", `{"text":"hi"}`); got != "hi" {
			t.Errorf("%s: another tool: %s", how, got)
		}
		list, err := set.Tools(t.Context())
		if err == nil || !strings.Contains(err.Error(), "pid: it has changed") {
			t.Errorf("%s: %v", how, err)
		}
		for _, i := range list {
			if strings.Contains(i.Description, "pulled") {
				t.Errorf("%s: what is held back is shown: %+v", how, i)
			}
		}
		set.Close()
	}
}

// A server is compared once while nothing is held back, and with all that the operator said.
func TestDefinitionsAreComparedOnce(t *testing.T) {
	var w watch
	set := declare(t, "serve", func(s *mcptools.Server) {
		s.Tools, s.Pins = []string{"echo"}, map[string]string{"echo": "sha256:00"}
	}, mcptools.Options{Definitions: &w})
	for range 3 {
		said(t, set, "echo", `{"text":"hi"}`)
	}
	if w.count() != 1 {
		t.Fatalf("compared %d times", w.count())
	}
	l := w.looks[0]
	if l.Server != "s" || !strings.Contains(string(l.Way), `"command":["`) ||
		!strings.Contains(string(l.Way), `"env":["BELAY_TEST_MCP"]`) || l.Pins["echo"] != "sha256:00" ||
		!l.Callable("echo") || l.Callable("pid") ||
		string(l.Tools["echo"]) != `{"description":"the tool \u001b[1mecho","inputSchema":{"type":"object"},"name":"echo"}` {
		t.Errorf("%+v, %s", l, l.Tools["echo"])
	}
}

// No call passes what cannot be compared.
func TestDefinitionsThatCannotBeCompared(t *testing.T) {
	w := watch{fail: toolpins.ErrFile}
	set := declare(t, "serve", nil, mcptools.Options{Definitions: &w})
	if _, err := call(t, set, "echo", `{"text":"hi"}`); !errors.Is(err, toolpins.ErrFile) {
		t.Errorf("%v", err)
	}
	if list, err := set.Tools(t.Context()); !errors.Is(err, toolpins.ErrFile) || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// A digest is over the definition alone: neither the version of the protocol nor the transport
// changes it.
func TestDigestsDoNotDependOnTheProtocol(t *testing.T) {
	texts := map[string]bool{}
	for _, how := range []string{"serve", "only 2025-06-18", "only 2024-11-05", "http"} {
		var w watch
		var set *mcptools.Set
		if how == "http" {
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return testServer() },
				&mcp.StreamableHTTPOptions{Stateless: true})
			set, _ = far(t, handler, mcptools.Options{Definitions: &w})
		} else {
			set = declare(t, how, nil, mcptools.Options{Definitions: &w})
		}
		said(t, set, "echo", `{"text":"hi"}`)
		texts[string(w.looks[0].Tools["echo"])] = true
		set.Close()
	}
	if len(texts) != 1 {
		t.Errorf("%d definitions of one tool: %v", len(texts), texts)
	}
}
