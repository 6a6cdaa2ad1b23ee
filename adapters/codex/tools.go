package codex

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// Codex tells a hook one name for each tool: Bash for every command of exec_command, apply_patch,
// mcp__SERVER__TOOL, and for its other functions their own name with the namespace before it and
// nothing between, such as collaborationspawn_agent. Namespaces came with versions.

// toolName returns the name under which hooks know the tool.
func toolName(native string) string {
	if name := agentTool(native); name != "" {
		return name
	}
	name, _ := phases.NormalizeTool(Runtime, native)
	return name
}

// agentTool returns the normalised name of a function for subagents, in any namespace, or "".
func agentTool(native string) string {
	if strings.HasPrefix(native, "mcp__") {
		return ""
	}
	for suffix, name := range map[string]string{
		"spawn_agent": spawnTool, "list_agents": "agents_list", "send_input": sendTool, "send_message": sendTool,
		"followup_task": sendTool,
	} {
		if strings.HasSuffix(native, suffix) {
			return name
		}
	}
	return ""
}

const (
	spawnTool = "sessions_spawn"
	sendTool  = "sessions_send"
)

// isSpawn reports whether the tool starts a child agent.
func isSpawn(native string) bool { return agentTool(native) == spawnTool }

// isText reports whether Codex tells of the call nothing but a text, in the member command, and
// takes back nothing else.
func isText(native string) bool { return native == "Bash" || native == "apply_patch" }

// mcpTool splits the name that Codex gives to tools of MCP servers, mcp__SERVER__TOOL.
func mcpTool(native string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(native, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// call reads what the three events of a tool have in common.
func call(p *payload.Payload) (native, callID string, args jsontext.Value) {
	native, callID = p.Name("tool_name"), p.OptStr("tool_use_id")
	args = p.Required("tool_input")
	switch {
	case p.Err() != nil:
	case args.Kind() == 'n': // a call without arguments
		args = jsontext.Value("{}")
	case args.Kind() != '{':
		p.Fail("tool_input", "a member is not an object")
	}
	if p.Err() == nil && isText(native) {
		inner := payload.Of("", args)
		if inner.Str("command"); inner.Err() != nil {
			p.Fail("tool_input", "the command is missing or not a string")
		}
	}
	return native, callID, args
}

// toolAction begins the action of a tool call: names, call id, arguments.
func toolAction(native, callID string, args jsontext.Value) *payload.Object {
	o := new(payload.Object).Str("tool", toolName(native)).Str("native_tool", native).Opt("call_id", callID).
		Raw("args", args)
	if server, tool, ok := mcpTool(native); ok {
		o.Raw("mcp", new(payload.Object).Str("server", server).Str("tool", tool).Value())
	}
	return o
}

var errSpawn = errors.New("codex: the spawn tool's arguments have no message")

// spawnAction reads the arguments of the spawn tool. Codex does not tell how deep a subagent is,
// only that the caller is one: 2 stands for two or more. The older tool takes items in place of a
// message; they are the prompt as they are, and cannot be changed.
func spawnAction(agent string, args jsontext.Value) (jsontext.Value, error) {
	p := payload.Of("PreToolUse", args)
	kind, prompt := p.OptStr("agent_type"), p.OptStr("message")
	if kind == "" {
		kind = "default" // what Codex starts when nothing is said
	}
	if items, ok := p.Optional("items"); ok {
		if prompt != "" {
			prompt += "\n"
		}
		prompt += string(items)
	}
	child := new(payload.Object).Str("agent", kind).Str("prompt", prompt).Opt("model", p.OptStr("model"))
	if p.Err() != nil {
		return nil, p.Err()
	}
	if prompt == "" {
		return nil, errSpawn
	}
	level := "1"
	if agent != mainAgent {
		level = "2"
	}
	return new(payload.Object).Str("parent", agent).Raw("child", child.Value()).Raw("depth", []byte(level)).Value(), nil
}

func spawnStep(spawn adapters.Step, args jsontext.Value) (adapters.Step, error) {
	raw, err := spawnAction(spawn.Invocation.Agent, args)
	if err != nil {
		return adapters.Step{}, err
	}
	spawn.Invocation.Action = raw
	if spawn.Call != nil {
		spawn.Call = spawnCall(spawn.Call.ID, args)
	}
	return spawn, nil
}
