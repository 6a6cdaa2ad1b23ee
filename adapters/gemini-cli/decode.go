package geminicli

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// mainAgent is the agent's name: Gemini CLI does not tell of an event which subagent it is of.
const mainAgent = "main"

// maxExtraBytes bounds the bytes kept of members that the adapter does not know.
// The rest is named in /metadata/caller/omitted.
const maxExtraBytes = 32 << 10

// Decode reads one payload of Gemini CLI, as it arrives on stdin. It refuses text that is not
// strict JSON, unknown events, and events in which a member that describes the action is missing or
// has another type. Members that it does not know are kept for hooks, not refused.
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
		Session: p.Name("session_id"), CWD: p.Name("cwd"), Agent: mainAgent,
	}
	ev.Session = base.Session
	list := actions(p, event, info)
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
		ev.Steps = append(ev.Steps, adapters.Step{Invocation: inv, Blockable: !info.latches()})
	}
	return ev, nil
}

// Next returns the step that follows after the verdicts: see adapters.Table. The spawn step of a
// spawn tool's call is built from the arguments as pre_tool left them.
func (adapter) Next(ev adapters.Event, verdicts []phases.Verdict) (adapters.Step, bool, error) {
	return table().Next(ev, verdicts)
}

// action is the payload of one step.
type action struct {
	phase phases.Phase
	raw   jsontext.Value
}

// actions builds the event's actions in the order in which they are asked.
func actions(p *payload.Payload, event string, info eventInfo) []action {
	one := func(o *payload.Object) []action { return []action{{info.phase, o.Value()}} }
	switch event {
	case "SessionStart":
		p.Name("source")
		p.Unread("source")
		return one(new(payload.Object).Str("kind", "session_start"))
	case "BeforeAgent":
		return one(new(payload.Object).Str("kind", "message").Str("text", p.Str("prompt")))
	case "BeforeModel", "BeforeToolSelection":
		return one(request(p))
	case "AfterModel":
		p.Optional("llm_request") // BeforeModel has it already: hooks read it once
		return one(answerTo(p))
	case "AfterAgent":
		p.Boolean("stop_hook_active")
		p.Unread("stop_hook_active")
		return one(new(payload.Object).Str("kind", "final").Str("text", p.OptStr("prompt_response")))
	case "BeforeTool":
		native, args := p.Name("tool_name"), p.Container("tool_input", '{')
		out := one(toolAction(p))
		if p.Err() == nil && isSpawn(native) {
			raw, err := spawnAction(args)
			if err != nil {
				p.Fail("tool_input", "the name or the prompt of a subagent is missing, empty or not a string")
				return nil
			}
			out = append(out, action{phases.Spawn, raw})
		}
		return out
	case "AfterTool":
		o := toolAction(p)
		result := p.Container("tool_response", '{')
		if p.Err() != nil {
			return nil
		}
		return one(o.Raw("result", result))
	}
	data := p.Take(func(string) bool { return true })
	return one(new(payload.Object).Str("kind", event).Raw("data", data))
}
