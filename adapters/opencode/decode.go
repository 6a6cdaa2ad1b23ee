package opencode

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// mainAgent is the agent's name outside of subagents.
const mainAgent = "main"

// maxExtraBytes bounds the bytes kept of members that no action holds. The rest is named in
// /metadata/caller/omitted.
const maxExtraBytes = 32 << 10

// Decode reads one payload of belay's plugin. It refuses text that is not strict JSON, unknown
// events, and events in which a member that describes the action is missing or has another type.
// Members that it does not know are kept for hooks, not refused: every version of OpenCode adds some.
//
// The payload is copied before it is read: the caller may use its buffer again.
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
	ev := adapters.Event{Name: event, Payload: b, Options: opts}
	base := phases.Invocation{
		Phase: info.phase, Runtime: Runtime, User: opts.User, Scopes: opts.Scopes.Clone(), Traceparent: opts.Traceparent,
		Session: p.OptStr("session"), CWD: p.Name("directory"), Agent: p.OptStr("agent"),
	}
	if base.Agent == "" {
		base.Agent = mainAgent
	}
	ev.Session = base.Session
	c := call{p: p, event: event, agent: base.Agent, input: member(p, "input"), output: member(p, "output")}
	list := c.actions()
	for _, err := range []error{p.Err(), c.input.Err(), c.output.Err()} {
		if err != nil {
			return adapters.Event{}, err
		}
	}
	base.Metadata = c.metadata()
	for i, a := range list {
		inv := base
		inv.Phase, inv.Action = a.phase, a.raw
		if err := inv.Validate(); err != nil {
			return adapters.Event{}, err
		}
		ev.Steps = append(ev.Steps, adapters.Step{Invocation: inv, Blockable: info.form != formNone, NativeAsk: info.asks,
			Call: c.told(i)})
	}
	return ev, nil
}

// Next returns the step that follows after the verdicts: see adapters.Table. The spawn step of a
// call of task is built from the arguments as pre_tool left them.
func (adapter) Next(ev adapters.Event, verdicts []phases.Verdict) (adapters.Step, bool, error) {
	return table().Next(ev, verdicts)
}

// member reads one of the two arguments of a hook point: an object, or nothing at all.
func member(p *payload.Payload, name string) *payload.Payload {
	v, ok := p.Optional(name)
	if !ok {
		return payload.Of(p.Event(), jsontext.Value("{}"))
	}
	if v.Kind() != '{' {
		p.Fail(name, "a member is not an object")
		return payload.Of(p.Event(), jsontext.Value("{}"))
	}
	return payload.Of(p.Event(), v)
}

// action is the payload of one step.
type action struct {
	phase phases.Phase
	raw   jsontext.Value
}

// call is one call of a hook point.
type call struct {
	p, input, output *payload.Payload
	event, agent     string
}

// actions builds the event's actions in the order in which they are asked.
func (c *call) actions() []action {
	one := func(o *payload.Object) []action { return []action{{events()[c.event].phase, o.Value()}} }
	switch c.event {
	case "chat.message":
		return one(c.message(new(payload.Object).Str("kind", "message")))
	case "command.execute.before":
		o := new(payload.Object).Str("kind", "command").Str("command", c.input.Name("command"))
		return one(c.message(o.Opt("args", c.input.OptStr("arguments"))))
	case "chat.params":
		return one(c.request().Raw("params", c.params()))
	case "chat.headers":
		return one(c.request().Raw("headers", c.output.Container("headers", '{')))
	case "experimental.chat.system.transform":
		return one(c.request().Raw("system", c.output.Container("system", '[')))
	case "experimental.provider.small_model":
		return one(c.request())
	case "experimental.chat.messages.transform":
		return one(c.messages())
	case "tool.definition":
		return one(c.definition())
	case "experimental.text.complete":
		return one(new(payload.Object).Str("kind", "turn").Str("text", c.output.Str("text")))
	case "tool.execute.before", "tool.execute.after":
		return c.tool()
	case "shell.env":
		return one(new(payload.Object).Str("tool", "shell.env").Raw("args", c.environment()))
	case "permission.ask", "permission.asked":
		return one(c.permission())
	case "experimental.session.compacting":
		return one(transition("compacting", c.output, "context", "prompt"))
	case "experimental.compaction.autocontinue":
		c.output.Boolean("enabled")
		return one(transition("autocontinue", c.output, "enabled"))
	case "config": // a configuration has keys of providers in it: only these members are told of
		data := c.input.Take(func(name string) bool {
			switch name {
			case "plugin", "plugin_origins", "permission", "tools", "share", "model", "small_model", "autoupdate":
				return true
			}
			return false
		})
		return one(new(payload.Object).Str("kind", "config").Raw("data", data))
	case "event":
		kind, data := c.busEvent()
		return one(new(payload.Object).Str("kind", kind).Raw("data", data))
	}
	return one(new(payload.Object).Str("kind", c.event))
}

// message adds the text of a prompt: its text parts, with an empty line between them. The other parts,
// such as files and agents, are its attachments.
func (c *call) message(o *payload.Object) *payload.Object {
	texts, others := partsOf(c.output.Container("parts", '['))
	var attached []byte
	for _, v := range others {
		attached = append(append(attached, ','), v...)
	}
	var all []string
	for _, t := range texts {
		all = append(all, t.text)
	}
	o.Str("text", strings.Join(all, "\n\n"))
	if len(attached) > 0 {
		attached[0] = '['
		o.Raw("attachments", append(attached, ']'))
	}
	return o
}

// textPart is a part of a prompt that has a text.
type textPart struct {
	at   int // in the list of parts
	text string
}

// partsOf tells the text parts of a prompt from the others.
func partsOf(parts jsontext.Value) (texts []textPart, others []jsontext.Value) {
	for i, f := range payload.Fields(parts) {
		kind, _ := phases.GetString(f.Value, "/type")
		text, ok := phases.GetString(f.Value, "/text")
		if kind == "text" && ok {
			texts = append(texts, textPart{i, text})
		} else {
			others = append(others, f.Value)
		}
	}
	return texts, others
}

// unknownProvider stands where OpenCode does not tell which provider gets a request.
const unknownProvider = "unknown"

// request begins the action of a request: who gets it. Nothing else of a provider is read, since its
// options have keys in them.
func (c *call) request() *payload.Object {
	model, _ := c.input.Optional("model")
	provider, _ := c.input.Optional("provider")
	return requestOf(firstText(model, "/providerID", provider, "/id"), firstText(model, "/id", model, "/modelID"))
}

func requestOf(provider, model string) *payload.Object {
	if provider == "" {
		provider = unknownProvider
	}
	return new(payload.Object).Str("provider", provider).Opt("model", model)
}

func firstText(a jsontext.Value, at string, b jsontext.Value, or string) string {
	if s, ok := phases.GetString(a, at); ok && s != "" {
		return s
	}
	s, _ := phases.GetString(b, or)
	return s
}

// paramNames are OpenCode's names of the parameters of a request, by belay's.
func paramNames() map[string]string {
	return map[string]string{"temperature": "temperature", "top_p": "topP", "top_k": "topK",
		"max_tokens": "maxOutputTokens", "options": "options"}
}

// params are the parameters of a request that have a value.
func (c *call) params() jsontext.Value {
	o := new(payload.Object)
	for _, name := range []string{"temperature", "top_p", "top_k", "max_tokens"} {
		if n := c.output.OptNumber(paramNames()[name]); n != nil {
			o.Raw(name, n)
		}
	}
	if v, ok := c.output.Optional("options"); ok {
		if v.Kind() != '{' {
			c.output.Fail("options", "a member is not an object")
		}
		o.Raw("options", v)
	}
	return o.Value()
}

// messages are all that the model gets of the conversation. The parts of a message are its content.
func (c *call) messages() *payload.Object {
	var list []byte
	provider, model := "", ""
	for i, m := range payload.Fields(c.output.Container("messages", '[')) {
		role, ok := phases.GetString(m.Value, "/info/role")
		parts, there := phases.Get(m.Value, "/parts")
		if !ok || !there || parts.Kind() != '[' {
			c.output.Fail("messages", "message %s has no role or no parts", strconv.Itoa(i))
			break
		}
		if s, ok := phases.GetString(m.Value, "/info/model/providerID"); ok {
			provider = s
		}
		if s, ok := phases.GetString(m.Value, "/info/model/modelID"); ok {
			model = s
		}
		o := new(payload.Object).Str("role", role).Raw("content", parts)
		list = append(append(list, ','), o.Value()...)
	}
	if len(list) > 0 {
		list[0] = '['
	} else {
		list = []byte("[")
	}
	return requestOf(provider, model).Raw("messages", append(list, ']'))
}

// definition is a tool as the model gets it.
func (c *call) definition() *payload.Object {
	o := new(payload.Object).Str("name", c.input.Name("toolID")).Str("description", c.output.Str("description"))
	if v, ok := c.output.Optional("parameters"); ok {
		o.Raw("parameters", v)
	}
	list := append([]byte("["), o.Value()...)
	return c.request().Raw("tools", append(list, ']'))
}

// environment are the variables that OpenCode's shell gets beside its own.
func (c *call) environment() jsontext.Value {
	return new(payload.Object).Str("cwd", c.input.Name("cwd")).Raw("env", c.output.Container("env", '{')).Value()
}

// transition is a change of the state of a conversation. Of the output it has the members that a
// plugin may change.
func transition(to string, output *payload.Payload, names ...string) *payload.Object {
	data := output.Take(func(name string) bool {
		for _, n := range names {
			if n == name {
				return true
			}
		}
		return false
	})
	return new(payload.Object).Str("machine", "compaction").Str("to", to).Raw("data", data)
}

// busEvent is an event of OpenCode's bus: its type and its properties.
func (c *call) busEvent() (kind string, data jsontext.Value) {
	v := c.input.Container("event", '{')
	if c.input.Err() != nil {
		return "", nil
	}
	e := payload.Of(c.event, v)
	kind = e.Name("type")
	data, ok := e.Optional("properties")
	if !ok {
		data = jsontext.Value("{}")
	}
	if data.Kind() != '{' {
		e.Fail("properties", "a member is not an object")
	}
	c.input.Refuse(e.Err())
	return kind, data
}

// metadata keeps the event's name and the members that no action holds. Of the input of a hook point
// it leaves out the provider and the model, which have keys in them.
func (c *call) metadata() map[string]jsontext.Value {
	md := map[string]jsontext.Value{"event": payload.Quote(c.event)}
	for _, name := range []string{"provider", "model", "message"} {
		c.input.Find(name)
	}
	if c.event == "config" { // what was not taken out of it has keys in it
		c.input.Take(func(string) bool { return true })
	}
	if kept, _ := c.input.Rest(maxExtraBytes, payload.MaxOmittedBytes); kept != nil {
		md["input"] = kept
	}
	kept, omitted := c.p.Rest(maxExtraBytes, payload.MaxOmittedBytes)
	if kept != nil {
		md["payload"] = kept
	}
	if omitted != nil {
		md["omitted"] = omitted
	}
	return md
}
