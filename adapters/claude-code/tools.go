package claudecode

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// mcpTool splits the name that Claude Code gives to tools of MCP servers,
// mcp__SERVER__TOOL.
func mcpTool(native string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(native, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// toolAction begins the action of a tool call: names, call id, arguments.
func toolAction(native, callID string, args jsontext.Value) *object {
	name, _ := phases.NormalizeTool(Runtime, native)
	o := new(object).str("tool", name).str("native_tool", native).opt("call_id", callID).raw("args", args)
	if server, tool, ok := mcpTool(native); ok {
		o.raw("mcp", new(object).str("server", server).str("tool", tool).value())
	}
	return o
}

// spawnAction reads the arguments of the Agent tool. Claude Code does not tell
// how deep a subagent is, only that the caller is one: 2 stands for two or more.
func spawnAction(agent string, args jsontext.Value) (jsontext.Value, error) {
	p := &payload{event: "PreToolUse"}
	for _, f := range fields(args) {
		p.members = append(p.members, &member{name: f.name, value: f.value})
	}
	child := new(object)
	kind := p.optStr("subagent_type")
	if kind == "" {
		kind = "general-purpose" // what Claude Code starts when nothing is said
	}
	child.str("agent", kind).str("prompt", p.str("prompt")).opt("model", p.optStr("model"))
	if p.err != nil {
		return nil, p.err
	}
	level := "1"
	if agent != mainAgent {
		level = "2"
	}
	return new(object).str("parent", agent).raw("child", child.value()).raw("depth", []byte(level)).value(), nil
}

// maxBatch is the number of calls that one PostToolBatch may tell about.
const maxBatch = 64

// batch builds one action per call of a batch. The responses are what the model
// is about to read, those of failed calls included.
func (p *payload) batch() []action {
	calls := fields(p.container("tool_calls", '['))
	if p.err == nil && (len(calls) == 0 || len(calls) > maxBatch) {
		p.fail("tool_calls", "a batch has no calls or more than %d", maxBatch)
	}
	var out []action
	for i, call := range calls {
		if p.err != nil {
			return nil
		}
		if call.value.Kind() != '{' {
			p.fail("tool_calls", "a call is not an object")
			return nil
		}
		c := &payload{event: p.event}
		for _, f := range fields(call.value) {
			c.members = append(c.members, &member{name: f.name, value: f.value})
		}
		o := toolAction(c.name("tool_name"), c.optStr("tool_use_id"), c.container("tool_input", '{'))
		result, ok := c.find("tool_response")
		if !ok {
			result = jsontext.Value("null") // a call without a response gives the model nothing to read
		}
		o.raw("result", result)
		if c.err != nil {
			p.err = &adapters.PayloadError{
				Class: adapters.ErrPayload, Event: p.event, Member: phases.Join("", "tool_calls", fmt.Sprint(i)),
				Reason: "a call has a missing or wrong member",
			}
			return nil
		}
		out = append(out, action{phase: phases.PostTool, raw: o.value()})
	}
	return out
}
