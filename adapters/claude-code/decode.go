package claudecode

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// mainAgent is the agent's name outside of subagents.
const mainAgent = "main"

// maxExtraBytes bounds the bytes kept of members that the adapter does not know.
// The rest is named in /metadata/caller/omitted.
const maxExtraBytes = 32 << 10

// maxOmittedBytes bounds that list: no name is added behind it.
const maxOmittedBytes = 1 << 10

// Decode reads one payload of Claude Code, as it arrives on stdin or as the body
// of an HTTP hook. It refuses text that is not strict JSON, unknown events, and events
// in which a member that describes the action is missing or has another
// type. Members that it does not know are kept for hooks, not refused.
//
// The payload is copied before it is read: the caller may use its buffer again.
func (adapter) Decode(b []byte, opts adapters.Options) (adapters.Event, error) {
	b = bytes.Clone(b)
	p, err := parse(b, table.Limit(opts))
	if err != nil {
		return adapters.Event{}, err
	}
	p.event = p.name("hook_event_name")
	if p.err != nil {
		return adapters.Event{}, p.err
	}
	info, ok := events[p.event]
	if !ok {
		return adapters.Event{}, &adapters.PayloadError{
			Class: adapters.ErrUnknownEvent, Event: p.event, Member: "/hook_event_name",
			Reason: "belay does not know this event",
		}
	}
	if opts.Event != "" && opts.Event != p.event {
		return adapters.Event{}, &adapters.PayloadError{
			Class: adapters.ErrPayload, Event: p.event, Member: "/hook_event_name",
			Reason: "this is not the event that belay was registered for",
		}
	}
	ev := adapters.Event{Name: p.event, Payload: b, Options: opts}
	base := phases.Invocation{
		Phase: info.phase, Runtime: Runtime, User: opts.User, Scopes: opts.Scopes.Clone(), Traceparent: opts.Traceparent,
		Session: p.name("session_id"), CWD: p.name("cwd"), Run: p.optStr("prompt_id"), Agent: agentOf(p),
	}
	ev.Session = base.Session
	native := asksPerson(p)
	actions := p.actions(info, base.Agent, opts)
	if p.err != nil {
		return adapters.Event{}, p.err
	}
	base.Metadata = p.metadata()
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
		})
	}
	return ev, nil
}

// asksPerson reports whether Claude Code puts a question to the person. Before a
// tool it does so in the modes where it asks by itself. In the others a classifier
// may decide (auto), or the person does not want to be asked (bypassPermissions, dontAsk),
// and what becomes of a hook's question there was not measured. PermissionRequest
// tells that a question is about to be put.
func asksPerson(p *payload) bool {
	if p.event == "PermissionRequest" {
		return true
	}
	mode := p.optStr("permission_mode")
	p.unread("permission_mode")
	return p.event == "PreToolUse" && (mode == "default" || mode == "acceptEdits" || mode == "plan")
}

// agentOf names who acts: main, or TYPE/ID for a subagent. A type without an id
// is what the main thread was started as.
func agentOf(p *payload) string {
	id, kind := p.optStr("agent_id"), p.optStr("agent_type")
	switch {
	case id == "":
		return mainAgent
	case kind == "":
		return id
	}
	return kind + "/" + id
}

// blockable reports whether this very event can be blocked.
func blockable(p *payload, info eventInfo) bool {
	switch info.form {
	case formNone, formToolError:
		return false
	case formOutput: // there may be nothing that the client would surely take in the output's place
		v, _ := p.find("tool_response")
		tool, _ := p.find("tool_name")
		name, _ := stringOf(tool)
		return withhold(name, v, "").holds
	}
	if p.event == "ConfigChange" { // settings that an administrator manages cannot be refused
		return p.optStr("source") != "policy_settings"
	}
	return true
}

// metadata keeps the event's name and the members that no action holds.
func (p *payload) metadata() map[string]jsontext.Value {
	md := map[string]jsontext.Value{"event": quote(p.event)}
	var kept object
	var omitted []byte
	size := 0
	for _, m := range p.unused() {
		if size+len(m.name)+len(m.value) > maxExtraBytes {
			if len(omitted) < maxOmittedBytes {
				omitted = append(append(omitted, ','), quote(phases.SafeLine(m.name, 64))...)
			}
			continue
		}
		size += len(m.name) + len(m.value)
		kept.raw(m.name, m.value)
	}
	if size > 0 {
		md["payload"] = kept.value()
	}
	if len(omitted) > 0 {
		omitted[0] = '['
		md["omitted"] = append(omitted, ']')
	}
	return md
}

// action is the payload of one step.
type action struct {
	phase    phases.Phase
	raw      jsontext.Value
	embedded bool // a command that stands in a file, and is no call of the model
}

// actions builds the event's actions in the order in which they are asked.
func (p *payload) actions(info eventInfo, agent string, opts adapters.Options) []action {
	one := func(raw jsontext.Value) []action { return []action{{phase: info.phase, raw: raw}} }
	switch p.event {
	case "SessionStart":
		p.name("source")
		p.unread("source")
		return one(new(object).str("kind", "session_start").value())
	case "UserPromptSubmit":
		return one(new(object).str("kind", "message").str("text", p.str("prompt")).value())
	case "UserPromptExpansion":
		out := one(new(object).str("kind", "command").str("text", p.str("prompt")).
			str("command", p.name("command_name")).opt("args", p.optStr("command_args")).value())
		return append(out, p.expansion(opts)...)
	case "Elicitation":
		return one(p.elicitation())
	case "ElicitationResult":
		return one(p.elicitationResult())
	case "Stop", "SubagentStop":
		p.boolean("stop_hook_active")
		p.unread("stop_hook_active")
		return one(new(object).str("kind", "final").str("text", p.optStr("last_assistant_message")).value())
	case "PreToolUse", "PermissionRequest":
		tool, args := p.name("tool_name"), p.container("tool_input", '{')
		if p.err != nil {
			return nil
		}
		out := one(toolAction(tool, p.optStr("tool_use_id"), args).value())
		if p.event == "PreToolUse" && isSpawn(tool) {
			raw, err := spawnAction(agent, args)
			if err != nil {
				p.err = err
				return nil
			}
			out = append(out, action{phase: phases.Spawn, raw: raw})
		}
		if p.event == "PreToolUse" && tool == "Skill" {
			out = append(out, p.skill(opts, fields(args))...)
		}
		return out
	case "PostToolUse":
		o := toolAction(p.name("tool_name"), p.optStr("tool_use_id"), p.container("tool_input", '{'))
		o.raw("result", p.required("tool_response"))
		return one(p.duration(o).value())
	case "PostToolUseFailure":
		o := toolAction(p.name("tool_name"), p.optStr("tool_use_id"), p.container("tool_input", '{'))
		o.str("result", p.str("error")).boolean("is_error", true)
		return one(p.duration(o).value())
	case "PostToolBatch":
		return p.batch()
	case "SubagentStart":
		p.name("agent_id")
		return one(new(object).raw("child", new(object).str("agent", p.name("agent_type")).value()).value())
	}
	if info.phase == phases.Audit {
		data := new(object)
		for _, m := range p.members {
			m.used = true
			data.raw(m.name, m.value)
		}
		return one(new(object).str("kind", p.event).raw("data", data.value()).value())
	}
	return one(p.transition(info))
}

// unread gives a member that was only checked back to the metadata.
func (p *payload) unread(name string) {
	for _, m := range p.members {
		if m.name == name {
			m.used = false
		}
	}
}

// duration adds how long the tool ran, when it is told.
func (p *payload) duration(o *object) *object {
	if v := p.optNumber("duration_ms"); v != nil {
		o.raw("duration_ms", v)
	}
	return o
}

// transition builds the action of a change of state. Everything that the event
// has beside the envelope stands in data.
func (p *payload) transition(info eventInfo) jsontext.Value {
	var from, to string
	switch p.event {
	case "PreCompact":
		to = p.name("trigger")
	case "PreModelSwitch":
		from, to = p.optStr("from_model"), p.name("to_model")
	case "ConfigChange":
		to = p.name("source")
	case "WorktreeCreate":
		to = p.name("name")
	case "TaskCreated":
		p.name("task_id")
		to = "created"
	case "TaskCompleted":
		p.name("task_id")
		from, to = "created", "completed"
	case "TeammateIdle":
		p.name("teammate_name")
		from, to = "working", "idle"
	}
	data := new(object)
	for _, m := range p.members {
		if !envelopeMember(m.name) {
			m.used = true
			data.raw(m.name, m.value)
		}
	}
	return new(object).str("machine", info.machine).opt("from", from).str("to", to).raw("data", data.value()).value()
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
