package mcptools

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

var errClosed = errors.New("the server is being ended")

func mapsKeys(m map[string]*server) iter.Seq[string] { return maps.Keys(m) }

// server is one declared server, whether it runs or not.
type server struct {
	spec Server
	o    Options
	log  *slog.Logger

	turn      chan struct{} // holds one token while a goroutine starts or ends the server; guards the fields below
	live      *session
	fails     int       // starts and sessions in a row that ended badly
	notBefore time.Time // of the next start
	closed    bool
}

// session is a server that has answered. Its members do not change, but timeouts.
type session struct {
	cs    *mcp.ClientSession
	end   func()
	dead  chan struct{} // closed when the connection is gone
	left  atomic.Bool   // it is being ended
	tools map[string]tool
	slow  chan struct{} // one token for each call in a row that timed out
}

// tool is the stored part of a server's description of a tool.
type tool struct {
	description string
	schema      jsontext.Value
}

// leave ends the connection. It is gone for the next call from now on, also before the library
// has noticed.
func (s *session) leave() {
	s.left.Store(true)
	s.end()
}

func (s *session) gone() bool {
	if s.left.Load() {
		return true
	}
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

func (s *server) allows(tool string) bool {
	return slices.Contains(s.spec.Tools, tool) || slices.Contains(s.spec.Tools, "*")
}

// lock waits for the server's turn. The error is ctx's.
func (s *server) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *server) unlock() { <-s.turn }

// get returns a session, and starts the server when there is none.
func (s *server) get(ctx context.Context) (*session, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.live != nil && !s.live.gone() {
		return s.live, nil
	}
	if s.live != nil {
		s.live.end()
		s.live = nil
		s.failed()
	}
	if wait := time.Until(s.notBefore); wait > 0 {
		return nil, fmt.Errorf("the server went away %d times in a row and is started again in %v", s.fails,
			wait.Round(time.Second))
	}
	live, err := s.start(ctx)
	if err != nil {
		s.failed()
		s.log.LogAttrs(ctx, slog.LevelError, "an MCP server could not be started", slog.Any("error", err))
		return nil, err
	}
	s.live = live
	return live, nil
}

// failed puts off the next start: not at all after the first failure, then for
// longer each time. Preconditions: the turn is held.
func (s *server) failed() {
	s.fails++
	if s.fails > 1 {
		s.notBefore = time.Now().Add(min(time.Second<<min(s.fails-2, 6), maxPause))
	}
}

// worked forgets the failures before.
func (s *server) worked() {
	select {
	case s.turn <- struct{}{}:
		s.fails = 0
		<-s.turn
	default: // another goroutine starts or ends it just now
	}
}

// start connects to the server and asks for its tools.
func (s *server) start(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, min(startTimeout, s.spec.Timeout))
	defer cancel()
	transport, end, err := s.transport()
	if err != nil {
		return nil, err
	}
	// The library waits without an end for a server that does not read. One that is
	// ended reads as closed.
	stop := context.AfterFunc(ctx, end)
	defer stop()
	// Nothing that a server could ask its client for is offered.
	client := mcp.NewClient(&mcp.Implementation{Name: "belay", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	cs, err := client.Connect(ctx, transport, nil)
	if err != nil {
		end()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: it did not begin", kernel.ErrToolTimeout)
		}
		return nil, errors.New("the server could not be started, or does not speak MCP")
	}
	live := &session{cs: cs, dead: make(chan struct{}), slow: make(chan struct{}, maxTimeouts)}
	live.end = func() {
		done := make(chan struct{})
		go func() { defer close(done); _ = cs.Close() }()
		select { // a server that does not read must not keep us
		case <-done:
		case <-time.After(time.Second):
		}
		end()
	}
	go func() {
		defer close(live.dead)
		_ = cs.Wait() // why it ended shows in the calls
	}()
	if live.tools, err = s.listed(ctx, cs); err != nil {
		live.end()
		return nil, err
	}
	return live, nil
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
			schema, err := json.Marshal(t.InputSchema, json.Deterministic(true))
			if err != nil {
				schema = nil // a tool without one can be called all the same
			}
			out[t.Name] = tool{phases.SafeText(t.Description, 4<<10), schema}
		}
	}
	return out, nil
}

func has(tools map[string]tool, name string) bool {
	_, ok := tools[name]
	return ok
}

// list describes the tools that can be called.
func (s *server) list(ctx context.Context) ([]kernel.ToolInfo, error) {
	live, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	var out []kernel.ToolInfo
	for _, name := range slices.Sorted(maps.Keys(live.tools)) {
		if !s.allows(name) {
			continue
		}
		t := live.tools[name]
		out = append(out,
			kernel.ToolInfo{Name: phases.MCPToolName(s.spec.Name, name), Description: t.description,
				Schema: slices.Clone(t.schema)})
	}
	return out, nil
}

// call carries out a call.
func (s *server) call(ctx context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, s.spec.Timeout)
	defer cancel()
	live, err := s.get(ctx)
	if err != nil {
		return kernel.ToolResult{}, err
	}
	if !has(live.tools, c.MCP.Tool) {
		return kernel.ToolResult{}, kernel.ErrNoTool
	}
	res, err := live.ask(ctx, &mcp.CallToolParams{Name: c.MCP.Tool, Arguments: c.Args})
	if err != nil {
		return kernel.ToolResult{}, s.why(ctx, live, err)
	}
	s.worked()
	for len(live.slow) > 0 {
		select {
		case <-live.slow:
		default:
		}
	}
	return s.result(res)
}

// ask sends a call and waits for the answer, but not for longer than ctx: the
// library does, while the server does not read. Its write goes on until the
// server reads, or is ended.
func (s *session) ask(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	type answer struct {
		res *mcp.CallToolResult
		err error
	}
	got := make(chan answer, 1)
	go func() {
		res, err := s.cs.CallTool(ctx, p)
		got <- answer{res, err}
	}()
	select {
	case a := <-got:
		return a.res, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// why says what went wrong with a call, in our words but for the server's own.
func (s *server) why(ctx context.Context, live *session, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		select {
		case live.slow <- struct{}{}:
		default:
		}
		if len(live.slow) == maxTimeouts {
			s.log.LogAttrs(ctx, slog.LevelWarn, "an MCP server does not answer: it is started anew")
			live.left.Store(true)
			go live.end()
		}
		return kernel.ErrToolTimeout
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && !errors.Is(err, mcp.ErrConnectionClosed) {
		select {
		case <-live.dead: // what the library makes of a connection that is gone
		default:
			return fmt.Errorf("the server refused the call: %s", phases.SafeLine(rpc.Message, 512))
		}
	}
	live.leave()
	return kernel.ErrToolCrashed
}

// result is what a hook sees of an answer.
func (s *server) result(res *mcp.CallToolResult) (kernel.ToolResult, error) {
	out := struct {
		Content    []jsontext.Value `json:"content"`
		Structured jsontext.Value   `json:"structuredContent,omitzero"`
	}{Content: []jsontext.Value{}}
	for _, c := range res.Content {
		raw, err := c.MarshalJSON()
		if err != nil {
			return kernel.ToolResult{}, errors.New("the result is not valid")
		}
		out.Content = append(out.Content, raw)
	}
	if res.StructuredContent != nil {
		raw, err := json.Marshal(res.StructuredContent, json.Deterministic(true))
		if err != nil {
			return kernel.ToolResult{}, errors.New("the result is not valid")
		}
		out.Structured = raw
	}
	raw, err := json.Marshal(&out)
	if err != nil {
		return kernel.ToolResult{}, errors.New("the result is not valid")
	}
	if len(raw) > s.spec.Max {
		return kernel.ToolResult{}, fmt.Errorf("the result is larger than %d bytes", s.spec.Max)
	}
	return kernel.ToolResult{Result: raw, IsError: res.IsError}, nil
}

func (s *server) close() {
	s.turn <- struct{}{}
	defer s.unlock()
	s.closed = true
	if s.live != nil {
		s.live.end()
		s.live = nil
	}
}
