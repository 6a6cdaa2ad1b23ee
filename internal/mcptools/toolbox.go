package mcptools

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Toolbox is the MCP servers of the configuration in force. It is safe for concurrent use.
type Toolbox struct {
	o Options

	mu       sync.Mutex
	declared map[string]config.MCPServer
	set      *Set
}

// NewToolbox returns the servers that belay.yaml declares. None is started before a tool is
// listed or called.
func NewToolbox(declared map[string]config.MCPServer, o Options) *Toolbox {
	return &Toolbox{o: o, declared: declared, set: New(serversOf(declared), o)}
}

// Use replaces the servers when others are declared. Calls that have begun end
// with the servers that they began with: those are gone, and the calls crash.
func (t *Toolbox) Use(declared map[string]config.MCPServer) {
	t.mu.Lock()
	if reflect.DeepEqual(t.declared, declared) {
		t.mu.Unlock()
		return
	}
	old := t.set
	t.declared, t.set = declared, New(serversOf(declared), t.o)
	t.mu.Unlock()
	_ = old.Close() // it always works
}

func serversOf(declared map[string]config.MCPServer) []Server {
	var list []Server
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		d := declared[name]
		s := Server{Name: name, Command: d.Command, Env: d.Env, Dir: d.CWD, URL: d.URL, Headers: map[string]string{},
			Tools: d.Tools, Pins: d.Pins,
			Timeout: time.Duration(d.TimeoutMS) * time.Millisecond, Max: int(d.MaxBytes), Reach: d.Reach}
		for header, value := range d.Headers {
			s.Headers[header] = strings.TrimPrefix(value, "env:")
		}
		list = append(list, s)
	}
	return list
}

func (t *Toolbox) now() *Set {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.set
}

// Close ends the servers, with the calls that have begun.
func (t *Toolbox) Close() error { return t.now().Close() }

// Tools implements kernel.ToolExecutor.
func (t *Toolbox) Tools(ctx context.Context) ([]kernel.ToolInfo, error) { return t.now().Tools(ctx) }

// Call implements kernel.ToolExecutor.
func (t *Toolbox) Call(ctx context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
	return t.now().Call(ctx, c)
}

// Reach implements kernel.ToolReach.
func (t *Toolbox) Reach(tool string) phases.Scopes { return t.now().Reach(tool) }

var (
	_ kernel.ToolExecutor = (*Toolbox)(nil)
	_ kernel.ToolReach    = (*Toolbox)(nil)
)
