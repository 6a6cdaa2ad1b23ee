package phases

import "github.com/go-json-experiment/json/jsontext"

// Action is the typed payload of one phase: a pointer to one of the structs below. Members named
// here are the only ones accepted at this level; values of type jsontext.Value are opaque JSON.
type Action interface {
	phase() Phase
}

// PrePlanAction is a message, a session start or a command, before any planning.
type PrePlanAction struct {
	Kind        string           `json:"kind"` // message, session_start, command
	Text        string           `json:"text,omitzero"`
	Stage       string           `json:"stage,omitzero"`
	Constraints []string         `json:"constraints,omitzero"`
	Attachments []jsontext.Value `json:"attachments,omitzero"`
	Command     string           `json:"command,omitzero"` // name of a slash command, kind command
	Args        string           `json:"args,omitzero"`    // its argument text, kind command
}

// PreSendAction is a request about to go to a model.
type PreSendAction struct {
	Provider string           `json:"provider"`
	Model    string           `json:"model,omitzero"`
	System   jsontext.Value   `json:"system,omitzero"` // string or array of blocks
	Messages []Message        `json:"messages,omitzero"`
	Tools    []jsontext.Value `json:"tools,omitzero"` // names or objects with a "name"; a rewrite may only drop entries
	// object: temperature, top_p, think_level, reasoning_level, max_tokens…
	Params jsontext.Value `json:"params,omitzero"`
	// object of strings; credential headers are neither shown nor settable
	Headers jsontext.Value `json:"headers,omitzero"`
}

// Message is one message of a conversation; Content is a string or an array of parts.
type Message struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`
	Name    string         `json:"name,omitzero"`
	ToolID  string         `json:"tool_call_id,omitzero"`
	Calls   jsontext.Value `json:"tool_calls,omitzero"`
}

// PostReceiveAction is what a model answered: a chunk, a turn, or the final answer.
type PostReceiveAction struct {
	Kind       string         `json:"kind"` // chunk, turn, final
	Text       string         `json:"text,omitzero"`
	Messages   []Message      `json:"messages,omitzero"`
	StopReason string         `json:"stop_reason,omitzero"`
	Usage      jsontext.Value `json:"usage,omitzero"` // object
}

// MCPTool names the MCP server and tool behind a call.
type MCPTool struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// PreToolAction is a tool call about to run.
type PreToolAction struct {
	Tool       string         `json:"tool"`                 // normalised name (see NormalizeTool)
	NativeTool string         `json:"native_tool,omitzero"` // the runtime's own name
	CallID     string         `json:"call_id,omitzero"`
	Args       jsontext.Value `json:"args"` // object
	MCP        *MCPTool       `json:"mcp,omitzero"`
}

// PostToolAction is a tool call that has run.
type PostToolAction struct {
	Tool         string         `json:"tool"`
	NativeTool   string         `json:"native_tool,omitzero"`
	CallID       string         `json:"call_id,omitzero"`
	Args         jsontext.Value `json:"args,omitzero"`
	OriginalArgs jsontext.Value `json:"original_args,omitzero"`
	Result       jsontext.Value `json:"result"`
	IsError      bool           `json:"is_error,omitzero"`
	DurationMS   float64        `json:"duration_ms,omitzero"`
	MCP          *MCPTool       `json:"mcp,omitzero"`
}

// StateTransitionAction is a change of state: a stage, a session, a
// compaction, a configuration, a model, an installation, a task, a transcript….
type StateTransitionAction struct {
	Machine string         `json:"machine"`
	From    string         `json:"from,omitzero"`
	To      string         `json:"to,omitzero"`
	Data    jsontext.Value `json:"data,omitzero"` // object
}

// Child describes an agent about to be started.
type Child struct {
	Agent  string   `json:"agent"`
	Prompt string   `json:"prompt,omitzero"`
	Model  string   `json:"model,omitzero"`
	Tools  []string `json:"tools,omitzero"`  // a rewrite may only drop entries
	Leases []string `json:"leases,omitzero"` // ids of the parent's leases that are passed on, attenuated; none by default
}

// SpawnAction is a child agent about to start. The child's scopes are the
// invocation's Scopes, which the kernel clamps to the parent's.
type SpawnAction struct {
	Parent string `json:"parent,omitzero"`
	Child  Child  `json:"child"`
	Depth  int    `json:"depth,omitzero"` // 1 for a child of the main agent, when the runtime tells
}

// AuditAction is the record about to be stored (kind "verdict", already
// redacted), or a runtime event that is only observed.
type AuditAction struct {
	Kind string         `json:"kind"`
	Data jsontext.Value `json:"data,omitzero"`
}

func (*PrePlanAction) phase() Phase         { return PrePlan }
func (*PreSendAction) phase() Phase         { return PreSend }
func (*PostReceiveAction) phase() Phase     { return PostReceive }
func (*PreToolAction) phase() Phase         { return PreTool }
func (*PostToolAction) phase() Phase        { return PostTool }
func (*StateTransitionAction) phase() Phase { return StateTransition }
func (*SpawnAction) phase() Phase           { return Spawn }
func (*AuditAction) phase() Phase           { return Audit }
