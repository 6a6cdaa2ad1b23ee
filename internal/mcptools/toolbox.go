package belay

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/mcptools"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// toolbox is the MCP servers of the configuration in use. It is safe for concurrent use.
type toolbox struct {
	log   *slog.Logger
	cover func(string) string // of secrets in what servers write to standard error

	mu       sync.Mutex
	declared map[string]config.MCPServer
	set      *mcptools.Set
}

// take replaces the servers when others are declared. Calls that have begun end
// with the servers that they began with: those are gone, and the calls crash.
func (t *toolbox) take(declared map[string]config.MCPServer) {
	t.mu.Lock()
	if t.set != nil && reflect.DeepEqual(t.declared, declared) {
		t.mu.Unlock()
		return
	}
	old := t.set
	t.declared, t.set = declared, mcptools.New(serversOf(declared), mcptools.Options{Logger: t.log, Cover: t.cover})
	t.mu.Unlock()
	if old != nil {
		_ = old.Close() // it always works
	}
}

func serversOf(declared map[string]config.MCPServer) []mcptools.Server {
	var list []mcptools.Server
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		d := declared[name]
		s := mcptools.Server{Name: name, Command: d.Command, Env: d.Env, Dir: d.CWD, URL: d.URL, Headers: map[string]string{}, Tools: d.Tools,
			Timeout: time.Duration(d.TimeoutMS) * time.Millisecond, Max: int(d.MaxBytes), Reach: d.Reach}
		for header, value := range d.Headers {
			s.Headers[header] = strings.TrimPrefix(value, "env:")
		}
		list = append(list, s)
	}
	return list
}

func (t *toolbox) now() *mcptools.Set {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.set
}

// Available implements kernel.ToolAvailability.
func (t *toolbox) Available() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.declared) > 0
}

// Tools implements kernel.ToolExecutor.
func (t *toolbox) Tools(ctx context.Context) ([]kernel.ToolInfo, error) { return t.now().Tools(ctx) }

// Call implements kernel.ToolExecutor.
func (t *toolbox) Call(ctx context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
	return t.now().Call(ctx, c)
}

// Reach implements kernel.ToolReach.
func (t *toolbox) Reach(tool string) phases.Scopes { return t.now().Reach(tool) }

// Tools lists the tools that hooks can call. It starts the MCP servers; the error
// names those that do not start, and the others' tools are listed all the same.
func (b *Belay) Tools(ctx context.Context) ([]kernel.ToolInfo, error) {
	if x := b.executor(); x != nil {
		return x.Tools(ctx)
	}
	return nil, nil
}

// executor is what runs tools: the embedder's, or the servers of belay.yaml.
func (b *Belay) executor() kernel.ToolExecutor {
	switch {
	case b.o.Tools != nil:
		return b.o.Tools
	case b.tools != nil:
		return b.tools
	}
	return nil
}

var (
	_ kernel.ToolExecutor     = (*toolbox)(nil)
	_ kernel.ToolReach        = (*toolbox)(nil)
	_ kernel.ToolAvailability = (*toolbox)(nil)
)
