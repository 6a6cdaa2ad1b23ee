package cursor

import (
	"bytes"
	"net/url"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// mainAgent is the agent's name: Cursor does not tell of an event which subagent it is of.
const mainAgent = "main"

// maxExtraBytes bounds the bytes kept of members that the adapter does not know.
// The rest is named in /metadata/caller/omitted.
const maxExtraBytes = 32 << 10

// Decode reads one payload of Cursor, as it arrives on stdin. It refuses text that is not strict JSON,
// unknown events, and events in which a member that describes the action is missing or has another
// type. Members that it does not know are kept for hooks, not refused.
//
// The payload is copied before it is read: the caller may use its buffer again.
func (adapter) Decode(b []byte, opts adapters.Options) (adapters.Event, error) {
	b = bytes.Clone(b)
	p, err := payload.Parse(b, table().Limit(opts))
	if err != nil {
		return adapters.Event{}, err
	}
	event, info, err := payload.EventOf(p, "hook_event_name", events(), opts)
	if err != nil {
		return adapters.Event{}, err
	}
	ev := adapters.Event{Name: event, Payload: b, Options: opts}
	inv := phases.Invocation{
		Phase: info.phase, Runtime: Runtime, User: opts.User, Scopes: opts.Scopes.Clone(), Traceparent: opts.Traceparent,
		Session: p.Name("session_id"), CWD: directory(p), Agent: mainAgent,
	}
	ev.Session = inv.Session
	inv.Action = action(p, event)
	if p.Err() != nil {
		return adapters.Event{}, p.Err()
	}
	inv.Metadata = p.Metadata(maxExtraBytes)
	if err := inv.Validate(); err != nil {
		return adapters.Event{}, err
	}
	ev.Steps = []adapters.Step{{Invocation: inv, Blockable: !info.latches()}}
	return ev, nil
}

// Next returns the step that follows after the verdicts: see adapters.Table.
func (adapter) Next(ev adapters.Event, verdicts []phases.Verdict) (adapters.Step, bool, error) {
	return table().Next(ev, verdicts)
}

// directory returns the directory of a call. Cursor often leaves it empty: then it is the root of the
// workspace, and where there is none or more than one it cannot be told.
func directory(p *payload.Payload) string {
	cwd := p.OptStr("cwd")
	roots, ok := p.Optional("workspace_roots")
	p.Unread("workspace_roots")
	if !ok {
		return cwd
	}
	if roots.Kind() != '[' {
		p.Fail("workspace_roots", "a member is not an array")
		return ""
	}
	list := payload.Fields(roots)
	for _, r := range list {
		if _, ok := payload.StringOf(r.Value); !ok {
			p.Fail("workspace_roots", "a root is not a string")
			return ""
		}
	}
	if cwd == "" && len(list) == 1 {
		cwd, _ = payload.StringOf(list[0].Value)
	}
	return cwd
}

// action builds the event's action.
func action(p *payload.Payload, event string) jsontext.Value {
	switch event {
	case "sessionStart":
		return new(payload.Object).Str("kind", "session_start").Value()
	case "beforeSubmitPrompt":
		o := new(payload.Object).Str("kind", "message").Str("text", p.Str("prompt"))
		if list, ok := p.Optional("attachments"); ok {
			if list.Kind() != '[' {
				p.Fail("attachments", "a member is not an array")
			}
			o.Raw("attachments", list)
		}
		return o.Value()
	case "stop", "subagentStop": // Cursor does not tell what was answered
		p.OptNumber("loop_count")
		p.Unread("loop_count")
		return new(payload.Object).Str("kind", "final").Str("text", "").Value()
	case "preToolUse":
		return toolAction(p).Raw("args", p.Container("tool_input", '{')).Value()
	case "postToolUse":
		return toolAction(p).Raw("args", p.Container("tool_input", '{')).Raw("result", output(p)).Value()
	case "beforeShellExecution":
		args := new(payload.Object).Str("command", p.Str("command"))
		return new(payload.Object).Str("tool", "exec").Str("native_tool", "Shell").Raw("args", args.Value()).Value()
	case "beforeReadFile", "beforeTabFileRead": // hooks have what would be read, too
		args := new(payload.Object).Str("file_path", p.Name("file_path")).Str("content", p.Str("content"))
		if list, ok := p.Optional("attachments"); ok {
			args.Raw("attachments", list)
		}
		return new(payload.Object).Str("tool", "read").Str("native_tool", "Read").Raw("args", args.Value()).Value()
	case "beforeMCPExecution":
		return mcpAction(p)
	case "subagentStart":
		child := new(payload.Object).Str("agent", p.Name("subagent_type")).Str("prompt", p.Str("task"))
		child.Opt("model", p.OptStr("subagent_model"))
		return new(payload.Object).Str("parent", mainAgent).Raw("child", child.Value()).Value()
	}
	data := p.Take(func(string) bool { return true })
	return new(payload.Object).Str("kind", event).Raw("data", data).Value()
}

// toolAction begins the action of a tool call with its names.
func toolAction(p *payload.Payload) *payload.Object {
	native := p.Name("tool_name")
	name, _ := phases.NormalizeTool(Runtime, native)
	return new(payload.Object).Str("tool", name).Str("native_tool", native).Opt("call_id", p.OptStr("tool_use_id"))
}

// output is a tool's output, which Cursor writes as a text: JSON is taken as what it says, any other
// text as itself.
func output(p *payload.Payload) jsontext.Value {
	text := p.Str("tool_output")
	if v := jsontext.Value(text); v.IsValid() {
		return v
	}
	return payload.Quote(text)
}

// mcpAction is a call of a server's tool. Cursor tells of the server its address or its command, and the
// arguments as a text.
func mcpAction(p *payload.Payload) jsontext.Value {
	tool, text := p.Name("tool_name"), p.Str("tool_input")
	address, command := p.OptStr("url"), p.OptStr("command")
	p.Unread("url")
	p.Unread("command")
	args := jsontext.Value(text)
	if p.Err() == nil && (!args.IsValid() || args.Kind() != '{') {
		p.Fail("tool_input", "the text is not a JSON object")
	}
	if p.Err() != nil {
		return nil
	}
	server := serverName(address, command)
	mcp := new(payload.Object).Str("server", server).Str("tool", tool)
	return new(payload.Object).Str("tool", phases.MCPToolName(server, tool)).Str("native_tool", tool).
		Raw("args", args).Raw("mcp", mcp.Value()).Value()
}

// serverName is what the server is known by: the host of its address, or its program.
func serverName(address, command string) string {
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	if words := strings.Fields(command); len(words) > 0 {
		return path.Base(words[0])
	}
	return "unknown"
}
