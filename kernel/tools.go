package kernel

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Classes of errors of a ToolExecutor, for errors.Is. Every other error counts as
// an error of the tool.
var (
	// ErrNoTool: there is no such tool, or no hook may call it.
	ErrNoTool = errors.New("no such tool")
	// ErrToolTimeout: the tool did not answer in time. Whether it did its work is not known.
	ErrToolTimeout = errors.New("the tool did not answer in time")
	// ErrToolCrashed: what runs the tool went away during the call. Whether it did its work is not known.
	ErrToolCrashed = errors.New("the tool crashed")
)

// ToolHeld is an error of a ToolExecutor: it has not run the tool, since a person has to accept
// something about the tool first. The hook is answered -6 with the approval, or -2 without one.
type ToolHeld struct {
	Reason   string
	Approval *phases.ApprovalRef // what waits in the queue; nil: no answer of a person lets the call pass now
}

// Error is the reason.
func (h *ToolHeld) Error() string { return h.Reason }

// ToolExecutor carries out the tool calls of hooks. It decides nothing: the kernel
// has run the call through the chain of pre_tool and recorded it before Call is
// called, and shows the result to the chain of post_tool before a hook sees it.
// It is safe for concurrent use.
type ToolExecutor interface {
	// Tools lists what can be called, for people. It may start what runs the tools.
	Tools(ctx context.Context) ([]ToolInfo, error)

	// Call carries out one call and obeys ctx; an answer that comes after ctx has
	// ended is dropped. Texts of errors are shown to hooks.
	Call(ctx context.Context, call ToolCall) (ToolResult, error)
}

// ToolReach is an optional interface of a ToolExecutor: it says what a tool can
// touch at most, whatever its arguments are. Without it that is everything, and a call
// of a tool that the kernel cannot see through is blocked as soon as scopes are narrow.
type ToolReach interface {
	Reach(tool string) phases.Scopes
}

// ToolInfo describes a tool.
type ToolInfo struct {
	Name        string         `json:"name"` // normalised, such as mcp:SERVER:TOOL
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"` // JSON Schema of the arguments
}

// ToolCall is a call that may run.
type ToolCall struct {
	ID     string          // of the intent: a UUIDv7 that no other call has
	Tool   string          // normalised name
	MCP    *phases.MCPTool // for tools of MCP servers
	Args   jsontext.Value  // an object, as the hooks left it
	Scopes phases.Scopes   // that the call may touch
	Hook   string          // the binding that asked

	Runtime, Session, Agent, Run, User, CWD string // of the invocation that the hook was asked about
}

// ToolResult is the answer of a tool.
type ToolResult struct {
	Result  jsontext.Value // any JSON value
	IsError bool           // the tool says that it failed
}

// HTTPCaller answers http_request for one binding: it holds the operator's list of
// hosts. Safe for concurrent use.
type HTTPCaller interface {
	// Prepare decodes a request and checks it as far as that goes without sending
	// anything. The error is a hostcalls.Errno or a *hostcalls.Refusal.
	Prepare(request jsontext.Value) (HTTPCall, error)
}

// HTTPCall is a request that may be sent, once.
type HTTPCall struct {
	Record jsontext.Value // for the intent: an object; redacted before it is stored
	// Send sends it and obeys ctx. The error is a hostcalls.Errno or a
	// *hostcalls.Refusal; what the network or the server did wrong is no error.
	Send func(ctx context.Context) (HTTPResult, error)
}

// HTTPResult is the outcome of a request.
type HTTPResult struct {
	Reply   jsontext.Value // for the hook
	Summary jsontext.Value // for the record
	Outcome string         // OutcomeOK, OutcomeError or OutcomeTimeout
	Reason  string         // of a failure
}

// Outcomes of a hook's requests.
const (
	OutcomeOK      = "ok"
	OutcomeError   = "error"
	OutcomeTimeout = "timeout"
	OutcomeCrashed = "crashed"
	OutcomeUnknown = "unknown" // belay ended before it knew
)
