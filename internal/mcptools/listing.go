package mcptools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belay-hooks/belay/internal/toolpins"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// said is what a server says of its tools, and which of them are held back for it.
type said struct {
	tools map[string]tool
	at    time.Time // when it was asked
	held  map[string]*kernel.ToolHeld
	fine  bool // it was compared with what is accepted, and nothing is held back
}

// tool is the stored part of a server's description of a tool.
type tool struct {
	description string
	schema      jsontext.Value
	definition  jsontext.Value // canonical
}

// protocol is the version of MCP that the server speaks.
func (s *session) protocol() string {
	if r := s.cs.InitializeResult(); r != nil {
		return phases.SafeLine(r.ProtocolVersion, 32)
	}
	return ""
}

// tools returns the tools as they are now. The server is asked again when it says that they are
// others, and when its last word is old. What is held back is compared anew each time, so that a
// person's approval counts at once.
func (s *server) tools(ctx context.Context, live *session) (said, error) {
	select {
	case live.look <- struct{}{}:
		defer func() { <-live.look }()
	case <-ctx.Done():
		return said{}, s.why(ctx, live, ctx.Err())
	}
	if live.changed.Swap(false) || time.Since(live.said.at) > s.o.Relist {
		tools, err := s.again(ctx, live)
		if err != nil {
			live.changed.Store(true)
			return said{}, err
		}
		live.said = said{tools: tools, at: time.Now()}
	}
	if s.o.Definitions != nil && !live.said.fine {
		held, err := s.o.Definitions.Look(ctx, s.listing(live.said.tools))
		if err != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "the definitions of an MCP server's tools could not be compared",
				slog.Any("error", err))
			return said{}, fmt.Errorf("the definitions of the server's tools could not be compared: %w", err)
		}
		live.said.held, live.said.fine = held, len(held) == 0
	}
	return live.said, nil
}

// again asks a running server for its tools, and waits for no longer than ctx.
func (s *server) again(ctx context.Context, live *session) (map[string]tool, error) {
	type answer struct {
		tools map[string]tool
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		tools, err := s.listed(ctx, live.cs)
		got <- answer{tools, err}
	}()
	select {
	case a := <-got:
		if a.err != nil && (ctx.Err() != nil || live.gone()) {
			return nil, s.why(ctx, live, a.err)
		}
		return a.tools, a.err
	case <-ctx.Done():
		return nil, s.why(ctx, live, ctx.Err())
	}
}

// listing is what the server says of its tools, for who compares it.
func (s *server) listing(tools map[string]tool) *toolpins.Listing {
	l := &toolpins.Listing{Server: s.spec.Name, Way: s.spec.way(), Tools: map[string]jsontext.Value{},
		Callable: s.allows, Pins: s.spec.Pins}
	for name, t := range tools {
		l.Tools[name] = t.definition
	}
	return l
}

// way says how belay.yaml reaches the server. Values of variables are not in it.
func (v *Server) way() jsontext.Value {
	raw, _ := json.Marshal(struct {
		Command []string          `json:"command,omitzero"`
		Dir     string            `json:"cwd,omitzero"`
		Env     []string          `json:"env,omitzero"`
		URL     string            `json:"url,omitzero"`
		Headers map[string]string `json:"headers,omitempty"`
	}{v.Command, v.Dir, v.Env, v.URL, v.Headers}, json.Deterministic(true)) // texts of belay.yaml: it cannot fail
	canonical, err := phases.Canonical(raw)
	if err != nil {
		return raw
	}
	return canonical
}

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9_./-]{1,128}\z`) })

// listed returns the server's tools that have a name one can trust to be shown.
func (s *server) listed(ctx context.Context, cs *mcp.ClientSession) (map[string]tool, error) {
	out := map[string]tool{}
	n, size := 0, 0
	for t, err := range cs.Tools(ctx, nil) {
		if err != nil {
			return nil, errors.New("the server did not list its tools")
		}
		all, err := json.Marshal(t, json.Deterministic(true))
		if err != nil {
			return nil, errors.New("a tool of the server is not valid")
		}
		if n++; n > maxTools {
			return nil, fmt.Errorf("the server lists more than %d tools", maxTools)
		}
		if size += len(all); size > maxListed {
			return nil, fmt.Errorf("the server says more than %d bytes about its tools", maxListed)
		}
		switch {
		case !toolName().MatchString(t.Name):
			s.log.LogAttrs(ctx, slog.LevelWarn, "a tool's name is not valid: left out",
				slog.String("tool", phases.SafeLine(t.Name, 128)))
		case has(out, t.Name):
			return nil, errors.New("the server lists a tool twice")
		default:
			if out[t.Name], err = described(t); err != nil {
				return nil, errors.New("a tool of the server is not valid")
			}
		}
	}
	return out, nil
}

// described is the stored part of what a server says of a tool.
func described(t *mcp.Tool) (tool, error) {
	d := toolpins.Definition{Name: t.Name, Title: t.Title, Description: t.Description}
	var err error
	if t.InputSchema != nil {
		if d.InputSchema, err = json.Marshal(t.InputSchema, json.Deterministic(true)); err != nil {
			return tool{}, err
		}
	}
	if t.OutputSchema != nil {
		if d.OutputSchema, err = json.Marshal(t.OutputSchema, json.Deterministic(true)); err != nil {
			return tool{}, err
		}
	}
	if a := t.Annotations; a != nil {
		d.Annotations = &toolpins.Annotations{Title: a.Title, ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint,
			Idempotent: a.IdempotentHint, OpenWorld: a.OpenWorldHint}
	}
	canonical, _, err := d.Canonical()
	if err != nil {
		return tool{}, err
	}
	return tool{description: phases.SafeText(t.Description, 4<<10), schema: d.InputSchema, definition: canonical}, nil
}

func has(tools map[string]tool, name string) bool {
	_, ok := tools[name]
	return ok
}

// list describes the tools that can be called. What is held back is not among them.
func (s *server) list(ctx context.Context) ([]kernel.ToolInfo, error) {
	defer s.begin()()
	live, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.tools(ctx, live)
	if err != nil {
		return nil, err
	}
	var out []kernel.ToolInfo
	for _, name := range slices.Sorted(maps.Keys(now.tools)) {
		if !s.allows(name) {
			continue
		}
		if h := now.held[name]; h != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, h))
			continue
		}
		t := now.tools[name]
		out = append(out,
			kernel.ToolInfo{Name: phases.MCPToolName(s.spec.Name, name), Description: t.description,
				Schema: slices.Clone(t.schema)})
	}
	return out, err
}
