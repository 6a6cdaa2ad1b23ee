package claudecode

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
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
func toolAction(native, callID string, args jsontext.Value) *payload.Object {
	name, _ := phases.NormalizeTool(Runtime, native)
	o := new(payload.Object).Str("tool", name).Str("native_tool", native).Opt("call_id", callID).Raw("args", args)
	if server, tool, ok := mcpTool(native); ok {
		o.Raw("mcp", new(payload.Object).Str("server", server).Str("tool", tool).Value())
	}
	return o
}

// spawnAction reads the arguments of the Agent tool. Claude Code does not tell
// how deep a subagent is, only that the caller is one: 2 stands for two or more.
func spawnAction(agent string, args jsontext.Value) (jsontext.Value, error) {
	p := payload.Of("PreToolUse", args)
	child := new(payload.Object)
	kind := p.OptStr("subagent_type")
	if kind == "" {
		kind = "general-purpose" // what Claude Code starts when nothing is said
	}
	child.Str("agent", kind).Str("prompt", p.Str("prompt")).Opt("model", p.OptStr("model"))
	if p.Err() != nil {
		return nil, p.Err()
	}
	level := "1"
	if agent != mainAgent {
		level = "2"
	}
	return new(payload.Object).Str("parent", agent).Raw("child", child.Value()).Raw("depth", []byte(level)).Value(), nil
}

// maxBatch is the number of calls that one PostToolBatch may tell about.
const maxBatch = 64

// batch builds one action per call of a batch. The responses are what the model
// is about to read, those of failed calls included.
func (p *received) batch() []action {
	calls := payload.Fields(p.Container("tool_calls", '['))
	if p.Err() == nil && (len(calls) == 0 || len(calls) > maxBatch) {
		p.Fail("tool_calls", "a batch has no calls or more than %d", maxBatch)
	}
	var out []action
	for i, call := range calls {
		if p.Err() != nil {
			return nil
		}
		if call.Value.Kind() != '{' {
			p.Fail("tool_calls", "a call is not an object")
			return nil
		}
		c := payload.Of(p.Event(), call.Value)
		o := toolAction(c.Name("tool_name"), c.OptStr("tool_use_id"), c.Container("tool_input", '{'))
		result, ok := c.Find("tool_response")
		if !ok {
			result = jsontext.Value("null") // a call without a response gives the model nothing to read
		}
		o.Raw("result", result)
		if c.Err() != nil {
			p.Refuse(&adapters.PayloadError{
				Class: adapters.ErrPayload, Event: p.Event(), Member: phases.Join("", "tool_calls", fmt.Sprint(i)),
				Reason: "a call has a missing or wrong member",
			})
			return nil
		}
		out = append(out, action{phase: phases.PostTool, raw: o.Value()})
	}
	return out
}
