package openclaw

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// mainAgent is the agent's name where OpenClaw tells none.
const mainAgent = "main"

// maxExtraBytes bounds the bytes kept of members that no action holds. The rest is named in
// /metadata/caller/omitted.
const maxExtraBytes = 16 << 10

// Decode reads one payload of belay's plugin. It refuses text that is not strict JSON, unknown hooks,
// and hooks in which a member that describes the action is missing or has another type. Members that
// it does not know are kept for hooks, not refused: every version of OpenClaw adds some.
//
// The payload is copied before it is read: the caller may use its buffer again.
func (adapter) Decode(b []byte, opts adapters.Options) (adapters.Event, error) {
	b = bytes.Clone(b)
	p, err := payload.Parse(b, table().Limit(opts))
	if err != nil {
		return adapters.Event{}, err
	}
	hook, info, err := payload.EventOf(p, "hook", hooks(), opts)
	if err != nil {
		return adapters.Event{}, err
	}
	c := call{p: p, name: hook, event: member(p, "event", true), ctx: member(p, "ctx", false)}
	base := phases.Invocation{
		Phase: info.phase, Runtime: Runtime, User: opts.User, Scopes: opts.Scopes.Clone(), Traceparent: opts.Traceparent,
		Session: p.OptStr("session"), CWD: p.Name("directory"), Agent: p.OptStr("agent"), Run: c.ctx.OptStr("runId"),
	}
	person := false
	if v, there := p.Optional("person"); there {
		person = v.Kind() == 't'
	}
	if base.Agent == "" {
		base.Agent = c.ctx.OptStr("agentId")
	}
	if base.Agent == "" {
		base.Agent = mainAgent
	}
	c.agent = base.Agent
	list := c.actions()
	for _, err := range []error{p.Err(), c.event.Err(), c.ctx.Err()} {
		if err != nil {
			return adapters.Event{}, err
		}
	}
	base.Metadata = c.metadata()
	ev := adapters.Event{Name: hook, Payload: b, Options: opts, Session: base.Session}
	for i, a := range list {
		inv := base
		inv.Phase, inv.Action = a.phase, a.raw
		if err := inv.Validate(); err != nil {
			return adapters.Event{}, err
		}
		ev.Steps = append(ev.Steps, adapters.Step{Invocation: inv, Blockable: info.form == formReturn,
			NativeAsk: info.asks && person, Call: c.told(i),
			// What the tool process writes to a command is an event, and none that a guard reads as a command.
			UnseenInput: a.phase == phases.PreTool && hook == "before_tool_call" && nativeExec(a.raw)})
	}
	return ev, nil
}

// Next returns the step that follows after the verdicts: see adapters.Table. The spawn step of a call
// of sessions_spawn is built from the arguments as pre_tool left them.
func (adapter) Next(ev adapters.Event, verdicts []phases.Verdict) (adapters.Step, bool, error) {
	return table().Next(ev, verdicts)
}

// member reads one of the two arguments of a hook: an object.
func member(p *payload.Payload, name string, required bool) *payload.Payload {
	v, ok := p.Optional(name)
	if (ok || required) && v.Kind() != '{' {
		p.Fail(name, "a member is missing, or is not an object")
	}
	if !ok || v.Kind() != '{' {
		v = jsontext.Value("{}")
	}
	return payload.Of(p.Event(), v)
}

// action is the payload of one step.
type action struct {
	phase phases.Phase
	raw   jsontext.Value
}

// call is one call of a hook.
type call struct {
	p, event, ctx *payload.Payload
	name, agent   string
}

// actions builds the hook's actions in the order in which they are asked.
func (c *call) actions() []action {
	one := func(o *payload.Object) []action { return []action{{hooks()[c.name].phase, o.Value()}} }
	switch hooks()[c.name].phase {
	case phases.PrePlan:
		return one(new(payload.Object).Str("kind", "message").Str("text", c.message()))
	case phases.PreSend:
		return one(c.request())
	case phases.PostReceive:
		return one(c.answer())
	case phases.PreTool:
		if c.name == "before_tool_call" {
			return c.before()
		}
		return one(c.environment())
	case phases.PostTool:
		return one(c.after())
	case phases.StateTransition:
		return one(c.transition())
	case phases.Spawn:
		return one(c.subagent())
	}
	return one(new(payload.Object).Str("kind", c.name).Raw("data", c.data()))
}

// message is the text of a person's message, as each hook names it.
func (c *call) message() string {
	switch c.name {
	case "before_agent_run":
		return c.event.Str("prompt")
	case "before_agent_reply":
		return c.event.Str("cleanedBody")
	case "reply_dispatch":
		of := payload.Of(c.name, c.event.Container("ctx", '{'))
		if text := of.OptStr("BodyForAgent"); text != "" {
			return text
		}
		return of.OptStr("Body")
	}
	return c.event.Str("content")
}

// unknownProvider stands where OpenClaw does not tell which provider gets a request.
const unknownProvider = "unknown"

// request is who gets a request. What a person writes is decided before, and what tools give after:
// these hooks show both once more, and can change neither.
func (c *call) request() *payload.Object {
	provider, model := c.event.OptStr("provider"), c.event.OptStr("model")
	if provider == "" {
		provider = c.ctx.OptStr("modelProviderId")
	}
	if model == "" {
		model = c.ctx.OptStr("modelId")
	}
	if provider == "" {
		provider = unknownProvider
	}
	return new(payload.Object).Str("provider", provider).Opt("model", model)
}

// answer is a text of the model: at the end of its turn, or on its way to a person.
func (c *call) answer() *payload.Object {
	switch c.name {
	case "before_agent_finalize":
		c.event.Boolean("stopHookActive")
		c.event.Unread("stopHookActive")
		return new(payload.Object).Str("kind", "turn").Str("text", c.event.OptStr("lastAssistantMessage"))
	case "reply_payload_sending":
		v := c.event.Container("payload", '{')
		of := payload.Of(c.name, v)
		text := of.OptStr("text")
		c.event.Refuse(of.Err())
		return new(payload.Object).Str("kind", "final").Str("text", text)
	}
	return new(payload.Object).Str("kind", "final").Str("text", c.event.Str("content"))
}

// environment are the variables that a command gets beside its own; a plugin begins with none.
func (c *call) environment() *payload.Object {
	args := new(payload.Object).Str("host", c.event.OptStr("host")).Raw("env", []byte("{}"))
	return new(payload.Object).Str("tool", c.name).Raw("args", args.Value())
}

// transition is a change of the state of a session, of what is installed, or of the transcript.
func (c *call) transition() *payload.Object {
	machine, to := "session", ""
	switch c.name {
	case "before_install":
		machine, to = "install", c.event.Name("targetName")
	case "skill_proposal_evaluate":
		machine, to = "skill", "proposed"
	case "before_message_write":
		machine, to = "transcript", "written"
		data := new(payload.Object).Raw("message", c.event.Container("message", '{'))
		return new(payload.Object).Str("machine", machine).Str("to", to).Raw("data", data.Value())
	case "session_start":
		to = "started"
	case "session_end":
		to = "ended"
	case "before_reset":
		to = "reset"
	case "before_compaction":
		machine, to = "compaction", "compacting"
	case "after_compaction":
		machine, to = "compaction", "compacted"
	}
	return new(payload.Object).Str("machine", machine).Str("to", to).Raw("data", c.data())
}

// data is the hook's whole event, without the conversation: what is in it was decided before.
func (c *call) data() jsontext.Value {
	return c.event.Take(func(name string) bool { return !conversation(name) })
}

// conversation reports whether a member has the conversation or the tools once more.
func conversation(name string) bool {
	switch name {
	case "messages", "historyMessages", "systemPrompt", "tools":
		return true
	}
	return false
}

// subagent is a child that starts, runs or ends. Only an older version could be kept from it here:
// today's is kept in before_tool_call.
func (c *call) subagent() *payload.Object {
	child := c.event.OptStr("agentId")
	for _, name := range []string{"childSessionKey", "targetSessionKey"} {
		if child == "" {
			child = c.event.OptStr(name)
		}
	}
	if child == "" {
		c.event.Fail("childSessionKey", "a member is missing, or empty")
	}
	o := new(payload.Object).Str("agent", child)
	return new(payload.Object).Str("parent", c.agent).Raw("child", o.Opt("model", c.event.OptStr("resolvedModel")).Value())
}

// metadata keeps the hook's name and the members that no action holds, but for the conversation.
func (c *call) metadata() map[string]jsontext.Value {
	md := map[string]jsontext.Value{"event": payload.Quote(c.name)}
	c.event.Take(conversation)
	for _, from := range []struct {
		name string
		of   *payload.Payload
	}{{"input", c.event}, {"context", c.ctx}, {"payload", c.p}} {
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
