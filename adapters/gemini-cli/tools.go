package geminicli

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// isSpawn reports whether the tool starts a child agent.
func isSpawn(native string) bool {
	name, _ := phases.NormalizeTool(Runtime, native)
	return name == "sessions_spawn"
}

// toolAction begins the action of a tool call: names and arguments. Gemini CLI calls a tool of an MCP
// server mcp_SERVER_TOOL, where nothing says how the name is cut, and tells both parts in mcp_context.
// It tells no id of the call.
func toolAction(p *payload.Payload) *payload.Object {
	native, args := p.Name("tool_name"), p.Container("tool_input", '{')
	context, of := p.Optional("mcp_context")
	if p.Err() != nil {
		return new(payload.Object)
	}
	name, _ := phases.NormalizeTool(Runtime, native)
	var mcp jsontext.Value
	if of {
		p.Unread("mcp_context") // hooks find the server's own command in the metadata
		if context.Kind() != '{' {
			p.Fail("mcp_context", "a member is not an object")
			return new(payload.Object)
		}
		c := payload.Of(p.Event(), context)
		server, tool := c.Name("server_name"), c.Name("tool_name")
		if c.Err() != nil {
			p.Fail("mcp_context", "the server or the tool is missing, empty or not a string")
			return new(payload.Object)
		}
		name = phases.MCPToolName(server, tool)
		mcp = new(payload.Object).Str("server", server).Str("tool", tool).Value()
	}
	o := new(payload.Object).Str("tool", name).Str("native_tool", native).Raw("args", args)
	if mcp != nil {
		o.Raw("mcp", mcp)
	}
	return o
}

var errSpawn = errors.New("geminicli: the spawn tool's arguments have no prompt")

// spawnAction reads the arguments of the spawn tool. Gemini CLI tells of no event which agent it is
// of, so that the parent is always the main one.
func spawnAction(args jsontext.Value) (jsontext.Value, error) {
	p := payload.Of("BeforeTool", args)
	kind, prompt := p.OptStr("agent_name"), p.OptStr("prompt")
	if p.Err() != nil {
		return nil, p.Err()
	}
	if kind == "" || prompt == "" {
		return nil, errSpawn
	}
	child := new(payload.Object).Str("agent", kind).Str("prompt", prompt).Value()
	return new(payload.Object).Str("parent", mainAgent).Raw("child", child).Raw("depth", []byte("1")).Value(), nil
}

func spawnStep(spawn adapters.Step, args jsontext.Value) (adapters.Step, error) {
	raw, err := spawnAction(args)
	if err != nil {
		return adapters.Step{}, err
	}
	spawn.Invocation.Action = raw
	return spawn, nil
}
