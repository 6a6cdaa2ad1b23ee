package codex

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

// Decode reads one payload of Codex, as it arrives on stdin. It refuses text that is
// not strict JSON, unknown events, and events in which a member that describes the
// action is missing or has another type. Members that it does not know are kept for
// hooks, not refused: every version of Codex adds some.
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
	base := phases.Invocation{
		Phase: info.phase, Runtime: Runtime, User: opts.User, Scopes: opts.Scopes.Clone(), Traceparent: opts.Traceparent,
		Session: p.Name("session_id"), CWD: p.Name("cwd"), Run: p.OptStr("turn_id"), Agent: agentOf(p),
	}
	ev.Session = base.Session
	list := actions(p, event, info, base.Agent)
	if p.Err() != nil {
		return adapters.Event{}, p.Err()
	}
	base.Metadata = p.Metadata(maxExtraBytes)
	for _, a := range list {
		inv := base
		inv.Phase, inv.Action = a.phase, a.raw
		if err := inv.Validate(); err != nil {
			return adapters.Event{}, err
		}
		ev.Steps = append(ev.Steps, adapters.Step{Invocation: inv, Blockable: !info.latch,
			UnseenInput: inv.Phase == phases.PreTool && p.OptStr("tool_name") == "Bash", // write_stdin is no event
			Call:        callOf(p, event, a.phase, a.args)})
	}
	return ev, nil
}

// Next returns the step that follows after the verdicts: see adapters.Table. The spawn step of a
// spawn tool's call is built from the arguments as pre_tool left them.
func (adapter) Next(ev adapters.Event, verdicts []phases.Verdict) (adapters.Step, bool, error) {
	return table().Next(ev, verdicts)
}

// agentOf names who acts: main, or TYPE/ID for a subagent.
func agentOf(p *payload.Payload) string {
	id, kind := p.OptStr("agent_id"), p.OptStr("agent_type")
	switch {
	case id == "":
		return mainAgent
	case kind == "":
		return id
	}
	return kind + "/" + id
}

// action is the payload of one step.
type action struct {
	phase phases.Phase
	raw   jsontext.Value
	args  jsontext.Value // of a spawn
}

// actions builds the event's actions in the order in which they are asked.
func actions(p *payload.Payload, event string, info eventInfo, agent string) []action {
	one := func(o *payload.Object) []action { return []action{{phase: info.phase, raw: o.Value()}} }
	checked := func(name string) string {
		s := p.Name(name)
		p.Unread(name)
		return s
	}
	switch event {
	case "SessionStart":
		checked("source")
		return one(new(payload.Object).Str("kind", "session_start"))
	case "UserPromptSubmit":
		return one(new(payload.Object).Str("kind", "message").Str("text", p.Str("prompt")))
	case "Stop", "SubagentStop":
		p.Boolean("stop_hook_active")
		p.Unread("stop_hook_active")
		return one(new(payload.Object).Str("kind", "final").Str("text", p.OptStr("last_assistant_message")))
	case "PreToolUse", "PermissionRequest":
		tool, callID, args := call(p)
		if p.Err() != nil {
			return nil
		}
		out := one(toolAction(tool, callID, args))
		if event == "PreToolUse" && isSpawn(tool) {
			raw, err := spawnAction(agent, args)
			if err != nil {
				p.Fail("tool_input", "the message of a subagent is missing, empty or not a string")
				return nil
			}
			out = append(out, action{phases.Spawn, raw, args})
		}
		return out
	case "PostToolUse":
		tool, callID, args := call(p)
		result := p.Required("tool_response")
		if p.Err() != nil {
			return nil
		}
		return one(toolAction(tool, callID, args).Raw("result", result))
	case "SubagentStart":
		p.Name("agent_id")
		return one(new(payload.Object).Raw("child", new(payload.Object).Str("agent", p.Name("agent_type")).Value()))
	case "PreCompact":
		to := p.Name("trigger")
		data := p.Take(func(name string) bool { return !envelopeMember(name) })
		return one(new(payload.Object).Str("machine", "compaction").Str("to", to).Raw("data", data))
	}
	data := p.Take(func(string) bool { return true })
	return one(new(payload.Object).Str("kind", event).Raw("data", data))
}

// envelopeMember names what every event has beside its own members.
func envelopeMember(name string) bool {
	switch name {
	case "session_id", "turn_id", "transcript_path", "cwd", "model", "permission_mode", "hook_event_name",
		"agent_id", "agent_type":
		return true
	}
	return false
}
