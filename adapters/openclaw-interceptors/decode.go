package openclawinterceptors

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// mainAgent is the agent's name where the host tells none.
const mainAgent = "main"

// spawnTool is the tool that starts a subagent.
const spawnTool = "sessions_spawn"

// maxExtraBytes bounds the bytes kept of members that no action holds.
const maxExtraBytes = 16 << 10

// Decode reads one payload. It refuses text that is not strict JSON, unknown events, and events in
// which a member that describes the action is missing or has another type. The payload is copied
// before it is read.
func (adapter) Decode(b []byte, opts adapters.Options) (adapters.Event, error) {
	b = bytes.Clone(b)
	p, err := payload.Parse(b, table().Limit(opts))
	if err != nil {
		return adapters.Event{}, err
	}
	event, info, err := payload.EventOf(p, "event", events(), opts)
	if err != nil {
		return adapters.Event{}, err
	}
	c := call{p: p, event: event, input: object(p, "input"), output: object(p, "output")}
	base := phases.Invocation{Phase: info.phase, Runtime: Runtime, User: opts.User, Scopes: opts.Scopes.Clone(),
		Traceparent: opts.Traceparent, Session: p.OptStr("session"), CWD: p.Name("directory"),
		Agent: c.input.OptStr("agentId")}
	if base.Session == "" {
		base.Session = c.input.OptStr("sessionKey")
	}
	if base.Agent == "" {
		base.Agent = mainAgent
	}
	c.agent = base.Agent
	list := c.actions()
	for _, err := range []error{p.Err(), c.input.Err(), c.output.Err()} {
		if err != nil {
			return adapters.Event{}, err
		}
	}
	base.Metadata = c.metadata()
	ev := adapters.Event{Name: event, Payload: b, Options: opts, Session: base.Session}
	for i, a := range list {
		inv := base
		inv.Action = a
		if i > 0 {
			inv.Phase = phases.Spawn
		}
		if err := inv.Validate(); err != nil {
			return adapters.Event{}, err
		}
		ev.Steps = append(ev.Steps, adapters.Step{Invocation: inv, Blockable: info.blocks, Call: c.told(i)})
	}
	return ev, nil
}

// Next returns the step that follows after the verdicts: see adapters.Table.
func (adapter) Next(ev adapters.Event, verdicts []phases.Verdict) (adapters.Step, bool, error) {
	return table().Next(ev, verdicts)
}

// object reads one of the two arguments of a handler.
func object(p *payload.Payload, name string) *payload.Payload {
	v := p.Container(name, '{')
	if p.Err() != nil {
		v = jsontext.Value("{}")
	}
	return payload.Of(p.Event(), v)
}

// call is one call of a handler.
type call struct {
	p, input, output *payload.Payload
	event, agent     string
}

// actions builds the event's actions in the order in which they are asked.
func (c *call) actions() []jsontext.Value {
	switch c.event {
	case "message.before":
		return []jsontext.Value{new(payload.Object).Str("kind", "message").Str("text", c.output.Str("message")).Value()}
	case "params.before":
		provider := c.output.OptStr("provider")
		if provider == "" {
			provider = "unknown"
		}
		o := new(payload.Object).Str("provider", provider).Opt("model", c.output.OptStr("model"))
		params := new(payload.Object).Opt("think_level", c.output.OptStr("thinkLevel")).
			Opt("reasoning_level", c.output.OptStr("reasoningLevel"))
		if n := c.output.OptNumber("temperature"); n != nil {
			params.Raw("temperature", n)
		}
		return []jsontext.Value{o.Raw("params", params.Value()).Value()}
	}
	return c.tool()
}

// tool builds the actions of a call, before it or after it.
func (c *call) tool() []jsontext.Value {
	native := c.input.Name("toolName")
	name, _ := phases.NormalizeTool(Runtime, native)
	o := new(payload.Object).Str("tool", name).Str("native_tool", native).Opt("call_id", c.input.OptStr("toolCallId"))
	if c.event == "tool.after" {
		args, ok := c.input.Optional("args")
		if !ok {
			args = jsontext.Value("{}")
		}
		failed, _ := c.input.Optional("isError")
		result := c.output.Required("result")
		if c.output.Err() != nil || c.input.Err() != nil {
			return nil
		}
		return []jsontext.Value{o.Raw("args", args).Raw("result", result).Boolean("is_error", failed.Kind() == 't').Value()}
	}
	args := c.output.Container("args", '{')
	if c.output.Err() != nil || c.input.Err() != nil {
		return nil
	}
	out := []jsontext.Value{o.Raw("args", args).Value()}
	if name == spawnTool {
		raw, err := spawnAction(c.agent, args)
		if err != nil {
			c.output.Fail("args", "the task of a subagent is missing, empty or not a string")
			return nil
		}
		out = append(out, raw)
	}
	return out
}

// told is what the host tells twice of one call, by its id.
func (c *call) told(step int) *adapters.Call {
	id := c.input.OptStr("toolCallId")
	if c.event != "tool.before" || id == "" { // after it the arguments are not told
		return nil
	}
	if step > 0 {
		return &adapters.Call{ID: id, Args: c.output.Required("args"), Prompt: "/task"}
	}
	return &adapters.Call{ID: id}
}

var errSpawn = errors.New("openclaw-interceptors: the arguments of sessions_spawn have no task")

func spawnAction(agent string, args jsontext.Value) (jsontext.Value, error) {
	p := payload.Of("tool.before", args)
	kind, task := p.OptStr("agentId"), p.OptStr("task")
	if p.Err() != nil {
		return nil, p.Err()
	}
	if task == "" {
		return nil, errSpawn
	}
	if kind == "" {
		kind = agent
	}
	child := new(payload.Object).Str("agent", kind).Str("prompt", task)
	return new(payload.Object).Str("parent", agent).Raw("child", child.Value()).Value(), nil
}

func spawnStep(spawn adapters.Step, args jsontext.Value) (adapters.Step, error) {
	raw, err := spawnAction(spawn.Invocation.Agent, args)
	if err != nil {
		return adapters.Step{}, err
	}
	return payload.Respawn(spawn, raw, args), nil
}

// metadata keeps the event's name and the members that no action holds.
func (c *call) metadata() map[string]jsontext.Value {
	md := map[string]jsontext.Value{"event": payload.Quote(c.event)}
	for _, from := range []struct {
		name string
		of   *payload.Payload
	}{{"input", c.input}, {"output", c.output}, {"payload", c.p}} {
		kept, omitted := from.of.Rest(maxExtraBytes, payload.MaxOmittedBytes)
		if kept != nil {
			md[from.name] = kept
		}
		if omitted != nil && md["omitted"] == nil {
			md["omitted"] = omitted
		}
	}
	return md
}
