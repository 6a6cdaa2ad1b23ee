package claudecode

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// mainAgent is the agent's name outside of subagents.
const mainAgent = "main"

// maxExtraBytes bounds the bytes kept of members that the adapter does not know.
// The rest is named in /metadata/caller/omitted.
const maxExtraBytes = 32 << 10

// Decode reads one payload of Claude Code, as it arrives on stdin or as the body
// of an HTTP hook. It refuses text that is not strict JSON, unknown events, and events
// in which a member that describes the action is missing or has another
// type. Members that it does not know are kept for hooks, not refused.
//
// The payload is copied before it is read: the caller may use its buffer again.
func (adapter) Decode(b []byte, opts adapters.Options) (adapters.Event, error) {
	b = bytes.Clone(b)
	p, err := receive(b, table().Limit(opts))
	if err != nil {
		return adapters.Event{}, err
	}
	event, info, err := payload.EventOf(p.Payload, "hook_event_name", events(), opts)
	if err != nil {
		return adapters.Event{}, err
	}
	ev := adapters.Event{Name: event, Payload: b, Options: opts}
	base := phases.Invocation{
		Phase: info.phase, Runtime: Runtime, User: opts.User, Scopes: opts.Scopes.Clone(), Traceparent: opts.Traceparent,
		Session: p.Name("session_id"), CWD: p.Name("cwd"), Run: p.OptStr("prompt_id"), Agent: agentOf(p),
	}
	ev.Session = base.Session
	native := asksPerson(p)
	actions := p.actions(info, base.Agent, opts)
	if p.Err() != nil {
		return adapters.Event{}, p.Err()
	}
	results := resultsOf(p, base.Agent, opts)
	base.Metadata = p.Metadata(maxExtraBytes)
	for _, a := range actions {
		inv := base
		inv.Phase, inv.Action = a.phase, a.raw
		if err := inv.Validate(); err != nil {
			return adapters.Event{}, err
		}
		ev.Steps = append(ev.Steps, adapters.Step{
			Invocation: inv,
			Blockable:  blockable(p, info),
			NativeAsk:  native,
			Call:       callOf(p, a),
			Results:    results,
		})
		results = nil // the first step tells it
	}
	return ev, nil
}

// asksPerson reports whether Claude Code puts a question to the person. Before a
// tool it does so in the modes where it asks by itself. In the others a classifier
// may decide (auto), or the person does not want to be asked (bypassPermissions, dontAsk),
// and what becomes of a hook's question there was not measured. PermissionRequest
// tells that a question is about to be put.
func asksPerson(p *received) bool {
	if p.Event() == "PermissionRequest" {
		return true
	}
	mode := p.OptStr("permission_mode")
	p.Unread("permission_mode")
	return p.Event() == "PreToolUse" && (mode == "default" || mode == "acceptEdits" || mode == "plan")
}

// agentOf names who acts: main, or TYPE/ID for a subagent. A type without an id
// is what the main thread was started as.
func agentOf(p *received) string {
	id, kind := p.OptStr("agent_id"), p.OptStr("agent_type")
	switch {
	case id == "":
		return mainAgent
	case kind == "":
		return id
	}
	return kind + "/" + id
}

// blockable reports whether this very event can be blocked.
func blockable(p *received, info eventInfo) bool {
	switch info.form {
	case formNone, formToolError:
		return false
	case formOutput: // there may be nothing that the client would surely take in the output's place
		v, _ := p.Find("tool_response")
		tool, _ := p.Find("tool_name")
		name, _ := payload.StringOf(tool)
		return withhold(name, v, "").holds
	}
	if p.Event() == "ConfigChange" { // settings that an administrator manages cannot be refused
		return p.OptStr("source") != "policy_settings"
	}
	return true
}

// action is the payload of one step.
type action struct {
	phase    phases.Phase
	raw      jsontext.Value
	embedded bool // a command that stands in a file, and is no call of the model
}

// actions builds the event's actions in the order in which they are asked.
func (p *received) actions(info eventInfo, agent string, opts adapters.Options) []action {
	one := func(raw jsontext.Value) []action { return []action{{phase: info.phase, raw: raw}} }
	switch p.Event() {
	case "SessionStart":
		p.Name("source")
		p.Unread("source")
		return one(new(payload.Object).Str("kind", "session_start").Value())
	case "UserPromptSubmit":
		return one(new(payload.Object).Str("kind", "message").Str("text", p.Str("prompt")).Value())
	case "UserPromptExpansion":
		out := one(new(payload.Object).Str("kind", "command").Str("text", p.Str("prompt")).
			Str("command", p.Name("command_name")).Opt("args", p.OptStr("command_args")).Value())
		return append(out, p.expansion(opts)...)
	case "Elicitation":
		return one(p.elicitation())
	case "ElicitationResult":
		return one(p.elicitationResult())
	case "Stop", "SubagentStop":
		p.Boolean("stop_hook_active")
		p.Unread("stop_hook_active")
		return one(new(payload.Object).Str("kind", "final").Str("text", p.OptStr("last_assistant_message")).Value())
	case "PreToolUse", "PermissionRequest":
		tool, args := p.Name("tool_name"), p.Container("tool_input", '{')
		if p.Err() != nil {
			return nil
		}
		out := one(toolAction(tool, p.OptStr("tool_use_id"), args).Value())
		if p.Event() == "PreToolUse" && isSpawn(tool) {
			raw, err := spawnAction(agent, args)
			if err != nil {
				p.Refuse(err)
				return nil
			}
			out = append(out, action{phase: phases.Spawn, raw: raw})
		}
		if p.Event() == "PreToolUse" && isSpawn(tool) {
			out = append(out, p.preloaded(opts, payload.Fields(args))...)
		}
		if p.Event() == "PreToolUse" && tool == "Skill" {
			out = append(out, p.skill(opts, payload.Fields(args))...)
		}
		return out
	case "PostToolUse":
		o := toolAction(p.Name("tool_name"), p.OptStr("tool_use_id"), p.Container("tool_input", '{'))
		o.Raw("result", p.Required("tool_response"))
		return one(p.duration(o).Value())
	case "PostToolUseFailure":
		o := toolAction(p.Name("tool_name"), p.OptStr("tool_use_id"), p.Container("tool_input", '{'))
		o.Str("result", p.Str("error")).Boolean("is_error", true)
		return one(p.duration(o).Value())
	case "PostToolBatch":
		return p.batch()
	case "SubagentStart":
		p.Name("agent_id")
		return one(new(payload.Object).Raw("child", new(payload.Object).Str("agent", p.Name("agent_type")).Value()).Value())
	}
	if info.phase == phases.Audit {
		data := p.Take(func(string) bool { return true })
		return one(new(payload.Object).Str("kind", p.Event()).Raw("data", data).Value())
	}
	return one(p.transition(info))
}

// duration adds how long the tool ran, when it is told.
func (p *received) duration(o *payload.Object) *payload.Object {
	if v := p.OptNumber("duration_ms"); v != nil {
		o.Raw("duration_ms", v)
	}
	return o
}

// transition builds the action of a change of state. Everything that the event
// has beside the envelope stands in data.
func (p *received) transition(info eventInfo) jsontext.Value {
	var from, to string
	switch p.Event() {
	case "PreCompact":
		to = p.Name("trigger")
	case "PreModelSwitch":
		from, to = p.OptStr("from_model"), p.Name("to_model")
	case "ConfigChange":
		to = p.Name("source")
	case "WorktreeCreate":
		to = p.Name("name")
	case "TaskCreated":
		p.Name("task_id")
		to = "created"
	case "TaskCompleted":
		p.Name("task_id")
		from, to = "created", "completed"
	case "TeammateIdle":
		p.Name("teammate_name")
		from, to = "working", "idle"
	}
	data := p.Take(func(name string) bool { return !envelopeMember(name) })
	return new(payload.Object).Str("machine", info.machine).Opt("from", from).Str("to", to).Raw("data", data).Value()
}

// envelopeMember names what every event has beside its own members.
func envelopeMember(name string) bool {
	switch name {
	case "session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "hook_event_name",
		"agent_id", "agent_type", "effort":
		return true
	}
	return false
}
