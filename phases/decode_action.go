package phases

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// newAction returns an empty action of the phase, or nil.
func newAction(p Phase) Action {
	switch p {
	case PrePlan:
		return &PrePlanAction{}
	case PreSend:
		return &PreSendAction{}
	case PostReceive:
		return &PostReceiveAction{}
	case PreTool:
		return &PreToolAction{}
	case PostTool:
		return &PostToolAction{}
	case StateTransition:
		return &StateTransitionAction{}
	case Spawn:
		return &SpawnAction{}
	case Audit:
		return &AuditAction{}
	}
	return nil
}

// DecodeAction decodes the action of a phase: strictly, as DecodeInvocation
// does, and with the rules that types cannot say (a tool's args are an object, a
// kind is one of its set, required members are there). Values that a phase does
// not interpret stay raw. Every error is a *DecodeError with a pointer into raw.
func DecodeAction(p Phase, raw jsontext.Value) (Action, error) {
	action := newAction(p)
	if action == nil {
		return nil, &DecodeError{Offset: -1, Reason: "unknown phase"}
	}
	if kindOf(raw) != '{' {
		return nil, newDecodeError(raw, "", 0, "the action is not an object")
	}
	if err := json.Unmarshal(raw, action, strictOptions()); err != nil {
		return nil, decodeError(raw, err)
	}
	check := actionCheck{raw: raw}
	switch a := action.(type) {
	case *PrePlanAction:
		check.prePlan(a)
	case *PreSendAction:
		check.preSend(a)
	case *PostReceiveAction:
		check.postReceive(a)
	case *PreToolAction:
		check.tool(a.Tool, a.NativeTool, a.CallID, a.MCP)
		check.object("/args", a.Args, true)
	case *PostToolAction:
		check.postTool(a)
	case *StateTransitionAction:
		check.name("/machine", a.Machine, MaxRuntimeBytes, true)
		check.name("/from", a.From, maxCWDBytes, false)
		check.name("/to", a.To, maxCWDBytes, false)
		check.object("/data", a.Data, false)
	case *SpawnAction:
		check.spawn(a)
	case *AuditAction:
		check.name("/kind", a.Kind, MaxIDBytes, true)
		check.object("/data", a.Data, false)
	}
	if check.err != nil {
		return nil, check.err
	}
	return action, nil
}

// actionCheck collects the first fault of an action.
type actionCheck struct {
	raw jsontext.Value
	err error
}

func (c *actionCheck) refuse(ptr, format string, args ...any) {
	if c.err == nil {
		c.err = newDecodeErrorAt(c.raw, ptr, fmt.Sprintf(format, args...))
	}
}

// name checks a short identifying string.
func (c *actionCheck) name(ptr, s string, max int, required bool) {
	if s == "" && required {
		if _, ok := Get(c.raw, ptr); ok {
			c.refuse(ptr, "must not be empty")
		} else {
			parent, member := splitLast(ptr)
			c.refuse(parent, "the member %q is missing", member)
		}
		return
	}
	if reason := checkID(s, max); reason != "" {
		c.refuse(ptr, "%s", reason)
	}
}

// oneOf checks a required word out of a fixed set.
func (c *actionCheck) oneOf(ptr, s string, set ...string) {
	c.name(ptr, s, MaxIDBytes, true)
	if c.err == nil && !slices.Contains(set, s) {
		c.refuse(ptr, "%s is none of %q", quote(SafeLine(s, 64)), set)
	}
}

// kind checks that a raw value is of one of the kinds, given as first bytes.
func (c *actionCheck) kind(ptr string, v jsontext.Value, required bool, what, kinds string) {
	if v == nil {
		if required {
			parent, member := splitLast(ptr)
			c.refuse(parent, "the member %q is missing", member)
		}
		return
	}
	k := kindOf(v)
	for i := 0; i < len(kinds); i++ {
		if kinds[i] == k {
			return
		}
	}
	c.refuse(ptr, "has the wrong type: %s instead of %s", kindName(jsontext.Kind(k)), what)
}

func (c *actionCheck) object(ptr string, v jsontext.Value, required bool) {
	c.kind(ptr, v, required, "an object", "{")
}

func (c *actionCheck) prePlan(a *PrePlanAction) {
	c.oneOf("/kind", a.Kind, "message", "session_start", "command")
	c.name("/stage", a.Stage, MaxIDBytes, false)
	c.name("/command", a.Command, MaxIDBytes, a.Kind == "command")
	if a.Kind != "command" {
		for _, ptr := range []string{"/command", "/args"} {
			if _, ok := Get(c.raw, ptr); ok {
				c.refuse(ptr, "only a command has this member")
			}
		}
	}
}

func (c *actionCheck) preSend(action *PreSendAction) {
	c.name("/provider", action.Provider, MaxIDBytes, true)
	c.name("/model", action.Model, MaxIDBytes, false)
	c.kind("/system", action.System, false, "a string or an array", `"[`)
	c.messages(action.Messages)
	for i, t := range action.Tools {
		ptr := Join("/tools", fmt.Sprint(i))
		c.kind(ptr, t, true, "a string or an object with a name", `"{`)
		if name, ok := toolEntryName(t); !ok {
			c.refuse(ptr, "a tool has no name")
		} else if reason := checkID(name, MaxIDBytes); reason != "" {
			c.refuse(ptr, "%s", reason)
		}
	}
	c.object("/params", action.Params, false)
	c.object("/headers", action.Headers, false)
	if c.err == nil && action.Headers != nil {
		walk(action.Headers, skipSpace(action.Headers, 0), func(m member) bool {
			if name, _ := unquote(action.Headers[m.name.start:m.name.end]); action.Headers[m.value.start] != '"' {
				c.refuse(Join("/headers", name), "a header is not a string")
			}
			return c.err == nil
		})
	}
}

// toolEntryName returns the name in an entry of pre_send's tools.
func toolEntryName(entry jsontext.Value) (string, bool) {
	if kindOf(entry) == '"' {
		name, ok := unquote(trim(entry))
		return name, ok && name != ""
	}
	name, ok := GetString(entry, "/name")
	return name, ok && name != ""
}

func (c *actionCheck) messages(ms []Message) {
	for i, m := range ms {
		ptr := Join("/messages", fmt.Sprint(i))
		c.name(ptr+"/role", m.Role, MaxRuntimeBytes, true)
		c.kind(ptr+"/content", m.Content, true, "a string or an array", `"[n`)
		c.name(ptr+"/name", m.Name, MaxIDBytes, false)
		c.name(ptr+"/tool_call_id", m.ToolID, MaxIDBytes, false)
		c.kind(ptr+"/tool_calls", m.Calls, false, "an array", "[")
		if c.err != nil {
			return
		}
	}
}

func (c *actionCheck) postReceive(a *PostReceiveAction) {
	c.oneOf("/kind", a.Kind, "chunk", "turn", "final")
	c.messages(a.Messages)
	c.name("/stop_reason", a.StopReason, MaxIDBytes, false)
	c.object("/usage", a.Usage, false)
}

func (c *actionCheck) tool(tool, native, call string, mcp *MCPTool) {
	c.name("/tool", tool, MaxIDBytes, true)
	c.name("/native_tool", native, MaxIDBytes, false)
	c.name("/call_id", call, MaxIDBytes, false)
	if mcp != nil {
		c.name("/mcp/server", mcp.Server, MaxIDBytes, true)
		c.name("/mcp/tool", mcp.Tool, MaxIDBytes, true)
		if c.err == nil && len(MCPToolName(mcp.Server, mcp.Tool)) > MaxIDBytes {
			c.refuse("/mcp/tool", "with its server's name longer than %d bytes", MaxIDBytes)
		}
	}
}

func (c *actionCheck) postTool(a *PostToolAction) {
	c.tool(a.Tool, a.NativeTool, a.CallID, a.MCP)
	c.object("/args", a.Args, false)
	c.object("/original_args", a.OriginalArgs, false)
	c.kind("/result", a.Result, true, "a value", `"{[0tfn`)
	if a.DurationMS < 0 || math.IsInf(a.DurationMS, 0) {
		c.refuse("/duration_ms", "not a duration")
	}
}

func (c *actionCheck) spawn(action *SpawnAction) {
	c.name("/parent", action.Parent, MaxIDBytes, false)
	if _, ok := Get(c.raw, "/child"); !ok {
		c.refuse("", "the member %q is missing", "child")
	}
	c.name("/child/agent", action.Child.Agent, MaxIDBytes, true)
	c.name("/child/model", action.Child.Model, MaxIDBytes, false)
	for i, t := range action.Child.Tools {
		c.name(Join("/child/tools", fmt.Sprint(i)), t, MaxIDBytes, true)
	}
	if len(action.Child.Leases) > maxChildLeases {
		c.refuse("/child/leases", "more than %d leases", maxChildLeases)
	}
	for i, l := range action.Child.Leases {
		c.name(Join("/child/leases", fmt.Sprint(i)), l, MaxIDBytes, true)
	}
	if action.Depth < 0 {
		c.refuse("/depth", "must not be negative")
	}
}

// EncodeInvocation writes the wire form, which DecodeInvocation reads back to an
// equal invocation. The error is a *DecodeError: inv is not valid.
func EncodeInvocation(inv Invocation) ([]byte, error) {
	if err := inv.Validate(); err != nil {
		return nil, err
	}
	var doc documentWriter
	doc.envelope(&inv)
	doc.text("traceparent", inv.Traceparent)
	doc.raw("action", trim(inv.Action))
	if !inv.Scopes.isZero() {
		scopes, err := json.Marshal(inv.Scopes)
		if err != nil {
			return nil, &DecodeError{Pointer: "/scopes", Offset: -1, Reason: "not valid"}
		}
		doc.raw("scopes", scopes)
	}
	if len(inv.Metadata) > 0 {
		var md documentWriter
		for _, key := range slices.Sorted(maps.Keys(inv.Metadata)) {
			md.raw(key, trim(inv.Metadata[key]))
		}
		doc.raw("metadata", md.bytes())
	}
	return doc.bytes(), nil
}
