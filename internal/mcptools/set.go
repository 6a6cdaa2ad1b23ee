package mcptools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/toolpins"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Defaults and limits.
const (
	DefaultTimeout   = 20 * time.Second
	DefaultMaxResult = 256 << 10 // bytes
	MaxResult        = 512 << 10 // what the kernel takes

	startTimeout = 20 * time.Second
	maxTools     = 1024    // that a server may list
	maxListed    = 8 << 20 // bytes of its description of all of them
	maxFrame     = 4 << 20 // bytes of one message of a server
	maxAsked     = 64      // requests of a server that wait for our answer, which is no
	maxTimeouts  = 3       // in a row, before a server is started anew
	maxPause     = time.Minute

	defaultRelist = time.Minute

	// newestWithHandshake is the newest version of the protocol that begins with initialize.
	newestWithHandshake = "2025-11-25"
	// discoverShare is the part of the time for a start that a server has to answer server/discover.
	discoverShare = 2
)

// Server is one declared server: Command or URL is set.
type Server struct {
	Name    string
	Command []string // Command[0] is an absolute path
	Env     []string // names of environment variables that it gets, and nothing else
	Dir     string   // working directory; "" means /
	URL     string
	Headers map[string]string // name to the environment variable that holds the value
	Tools   []string          // that can be called, by the server's own names; "*" for all
	Timeout time.Duration     // of one call; 0 means DefaultTimeout
	Max     int               // bytes of a result; 0 means DefaultMaxResult
	Reach   phases.Scopes     // what its tools can touch at most, says the operator; zero means everything
	Pins    map[string]string // tool to the digest that its definition must have
}

// Definitions decides which tools are held back because of what the server says of them; see
// toolpins.Desk. It is safe for concurrent use.
type Definitions interface {
	Look(ctx context.Context, l *toolpins.Listing) (map[string]*kernel.ToolHeld, error)
}

// Options are what a Set uses. The zero value is the usual one.
type Options struct {
	Logger    *slog.Logger                     // nil discards
	LookupEnv func(name string) (string, bool) // nil: the process's environment
	// covers secrets in what a server writes to standard error, before it is logged; nil covers only what the
	// server got by its environment
	Cover func(line string) string
	// servers that are programs are not started: the process runs for users who may not reach what it can
	NoPrograms bool
	// starts servers that are programs, in another process and under another user; see belay.Options.StartTool
	Start func(ctx context.Context, server string, command, env []string, dir string, says io.Writer) (
		io.ReadWriteCloser, error)
	// how long a server of which no tool is called goes on running; 0: until Close
	Idle time.Duration
	// compares what servers say of their tools with what was accepted; nil: everything is
	Definitions Definitions
	// the age from which a server is asked anew what its tools are, before the next call; 0: a minute
	Relist time.Duration
}

// Set is all declared servers. They are started when one of their tools is first
// called. It implements kernel.ToolExecutor and is safe for concurrent use.
type Set struct {
	servers map[string]*server
}

// New returns the servers without starting any.
func New(list []Server, o Options) *Set {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.Relist <= 0 {
		o.Relist = defaultRelist
	}
	s := &Set{servers: map[string]*server{}}
	for _, spec := range list {
		if spec.Timeout <= 0 {
			spec.Timeout = DefaultTimeout
		}
		if spec.Max <= 0 {
			spec.Max = DefaultMaxResult
		}
		s.servers[spec.Name] = &server{spec: spec, o: o, turn: make(chan struct{}, 1),
			log: o.Logger.With(slog.String("mcp_server", spec.Name))}
	}
	return s
}

// Reach implements kernel.ToolReach.
func (s *Set) Reach(tool string) phases.Scopes {
	name, _, _ := phases.SplitMCPTool(tool)
	if srv := s.servers[name]; srv != nil {
		return srv.spec.Reach
	}
	return phases.Scopes{}
}

// Tools starts every server and lists what can be called. Servers that do not
// start are in the error; what the others have is listed all the same.
func (s *Set) Tools(ctx context.Context) ([]kernel.ToolInfo, error) {
	var out []kernel.ToolInfo
	var errs []error
	for _, name := range slices.Sorted(mapsKeys(s.servers)) {
		list, err := s.servers[name].list(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("mcp server %s: %w", name, err))
		}
		out = append(out, list...)
	}
	return out, errors.Join(errs...)
}

// Call implements kernel.ToolExecutor.
func (s *Set) Call(ctx context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
	if c.MCP == nil {
		return kernel.ToolResult{}, kernel.ErrNoTool
	}
	srv := s.servers[c.MCP.Server]
	if srv == nil || !srv.allows(c.MCP.Tool) {
		return kernel.ToolResult{}, kernel.ErrNoTool
	}
	return srv.call(ctx, c)
}

// Close ends every server, with everything that it has started, and waits for that.
func (s *Set) Close() error {
	var wg sync.WaitGroup
	for _, srv := range s.servers {
		wg.Go(srv.close)
	}
	wg.Wait()
	return nil
}

var (
	_ kernel.ToolExecutor = (*Set)(nil)
	_ kernel.ToolReach    = (*Set)(nil)
)
