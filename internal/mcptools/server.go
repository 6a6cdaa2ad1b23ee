package mcptools

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
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
	older     bool // it has not answered server/discover: it is asked to initialize
	use       use
}

// session is a server that has answered. Its members do not change, but timeouts and what it
// says of its tools.
type session struct {
	cs      *mcp.ClientSession
	end     func()
	dead    chan struct{} // closed when the connection is gone
	left    atomic.Bool   // it is being ended
	changed *atomic.Bool  // it says that its tools are others now
	slow    chan struct{} // one token for each call in a row that timed out

	look chan struct{} // holds one token while a goroutine looks at the tools; guards the field below
	said said
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
	if s.older {
		return s.connect(ctx, newestWithHandshake)
	}
	// A server of before 2026-07-28 refuses server/discover, and the library asks it to initialize
	// instead. One that does not answer what it does not know is started once more.
	first, stop := context.WithTimeout(ctx, min(startTimeout, s.spec.Timeout)/discoverShare)
	defer stop()
	live, err := s.connect(first, "")
	if err == nil || !errors.Is(err, kernel.ErrToolTimeout) || ctx.Err() != nil {
		return live, err
	}
	if live, err = s.connect(ctx, newestWithHandshake); err == nil {
		s.older = true
	}
	return live, err
}

// connect starts the server and asks for its tools. version is the protocol's; "" is the newest.
func (s *server) connect(ctx context.Context, version string) (*session, error) {
	changed := new(atomic.Bool)
	transport, end, err := s.transport(ctx, changed)
	if err != nil {
		return nil, err
	}
	// The library waits without an end for a server that does not read. One that is
	// ended reads as closed.
	stop := context.AfterFunc(ctx, end)
	defer stop()
	// Nothing that a server could ask its client for is offered, also not in answers that want input.
	client := mcp.NewClient(&mcp.Implementation{Name: "belay", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{},
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}})
	cs, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		end()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: it did not begin", kernel.ErrToolTimeout)
		}
		return nil, errors.New("the server could not be started, or does not speak MCP")
	}
	live := &session{cs: cs, dead: make(chan struct{}), slow: make(chan struct{}, maxTimeouts), changed: changed,
		look: make(chan struct{}, 1)}
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
	if live.said.tools, err = s.listed(ctx, cs); err != nil {
		live.end()
		return nil, err
	}
	live.said.at = time.Now()
	s.log.LogAttrs(ctx, slog.LevelInfo, "an MCP server answers", slog.String("protocol", live.protocol()),
		slog.Int("tools", len(live.said.tools)))
	return live, nil
}

// call carries out a call.
func (s *server) call(ctx context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, s.spec.Timeout)
	defer cancel()
	defer s.begin()()
	live, err := s.get(ctx)
	if err != nil {
		return kernel.ToolResult{}, err
	}
	now, err := s.tools(ctx, live)
	if err != nil {
		return kernel.ToolResult{}, err
	}
	if h := now.held[c.MCP.Tool]; h != nil {
		return kernel.ToolResult{}, h
	}
	if !has(now.tools, c.MCP.Tool) {
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
	if res.NeedsInput() {
		return kernel.ToolResult{}, errors.New("the server asks for input, and belay gives it none")
	}
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
