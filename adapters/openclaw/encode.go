package openclaw

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// Limits of what OpenClaw shows a person who is asked, in characters.
const (
	maxTitle       = 80
	maxDescription = 512
)

// maxRetries is how often the agent is sent on at most: OpenClaw itself ends at three.
const maxRetries = 3

// Encode turns the verdicts of a hook into the answer that belay's plugin carries out: complete JSON
// with exit 0. What OpenClaw cannot carry out for this hook is a block; a block that the hook does not
// have sets Answer.Latch.
func (a adapter) Encode(ev adapters.Event, verdicts []phases.Verdict) adapters.Answer {
	_, known := hooks()[ev.Name]
	p, o, err := payload.Weigh(ev, verdicts, table(), known)
	if err != nil {
		return a.Failure(ev.Payload, ev.Options, err)
	}
	event, _ := p.Optional("event")
	var value jsontext.Value
	if o.Decision != phases.Block {
		var why string
		if value, why = valueOf(o, ev.Name, event); why != "" {
			o.Stop(why)
		}
	}
	if o.Decision == phases.Block {
		message, _ := phases.Get(event, "/message")
		ans := blockForm(ev.Name, message, o.Reason)
		if o.Latched {
			ans.Latch = ""
		}
		ans.Notes, ans.Session = o.Notes, ev.Session
		return ans
	}
	top := new(payload.Object).Str("decision", "allow")
	if value != nil {
		top.Raw("set", whole(value))
	}
	return payload.OneLine(adapters.Answer{Stdout: top.Value(), Notes: o.Notes, Session: ev.Session})
}

// valueOf is what the plugin returns to OpenClaw where the action may happen; nil: nothing. why is not
// "" when OpenClaw would not take it as it is.
func valueOf(o *adapters.Outcome, hook string, event jsontext.Value) (value jsontext.Value, why string) {
	if o.Retry != "" && hook != "before_agent_finalize" {
		return nil, "a hook wants another try, which OpenClaw cannot carry here: " + o.Retry
	}
	v := new(payload.Object)
	switch hook {
	case "before_agent_finalize":
		why = again(v, o, event)
	case "before_tool_call":
		why = arguments(v, o, event)
	case "agent_tool_result":
		why = resultOf(v, o, event)
	default:
		for _, ptr := range o.Changed[0] {
			if why = place(v, hook, ptr, o.Finals[0], event); why != "" {
				return nil, why
			}
		}
		if text := o.TakeContext(); strings.TrimSpace(text) != "" {
			v.Str("prependContext", text)
		}
	}
	if why != "" || v.Len() == 0 {
		return nil, why
	}
	return v.Value(), ""
}

const notTaken = "a hook changed something of this event that OpenClaw does not take back"

// place writes a change where the hook takes it. All changes of such a hook are in one value, so that
// it is written once.
func place(v *payload.Object, hook, ptr string, final, event jsontext.Value) (why string) {
	if v.Len() > 0 {
		return ""
	}
	get := func(at string) jsontext.Value { value, _ := phases.Get(final, at); return value }
	switch hook {
	case "before_model_resolve":
		// OpenClaw goes on with the model that it had where the name is empty.
		if model, ok := phases.GetString(final, "/model"); ptr == "/model" && ok && strings.TrimSpace(model) != "" {
			v.Raw("modelOverride", get(ptr))
			return ""
		}
	case "message_sending":
		if text := get("/text"); ptr == "/text" && text.Kind() == '"' {
			v.Raw("content", text)
			return ""
		}
	case "reply_payload_sending":
		was, _ := phases.Get(event, "/payload")
		if text := get("/text"); ptr == "/text" && text.Kind() == '"' {
			if next, err := phases.Set(was, "/text", text); err == nil {
				v.Raw("payload", next)
				return ""
			}
		}
	case "tool_result_persist", "before_message_write":
		at := "/data/message"
		if hook == "tool_result_persist" {
			at = "/result"
		}
		was, _ := phases.Get(event, "/message")
		if message := get(at); sameMessage(was, message) {
			v.Raw("message", message)
			return ""
		}
	case "resolve_exec_env": // a record of texts; OpenClaw itself leaves out those that lead a program elsewhere
		env := get("/args/env")
		for _, f := range payload.Fields(env) {
			if f.Value.Kind() != '"' {
				return notTaken
			}
			v.Raw(f.Name, f.Value)
		}
		if env.Kind() == '{' {
			return ""
		}
	}
	return notTaken
}

// sameMessage reports whether OpenClaw can use a changed message: it has its role, and a content of the
// same kind.
func sameMessage(was, is jsontext.Value) bool {
	if is.Kind() != '{' {
		return false
	}
	for _, at := range []string{"/role", "/toolCallId"} {
		a, had := phases.Get(was, at)
		b, has := phases.Get(is, at)
		if had != has || string(a) != string(b) {
			return false
		}
	}
	a, had := phases.Get(was, "/content")
	b, has := phases.Get(is, "/content")
	if had != has || had && a.Kind() != b.Kind() {
		return false
	}
	return !had || a.Kind() != '[' || blocks(b, false)
}

// blocks reports whether a content is a list of objects with a type each, whose texts are texts. For
// the middleware each is a text or a picture: OpenClaw discards a result with any other.
func blocks(content jsontext.Value, middleware bool) bool {
	for _, f := range payload.Fields(content) {
		kind, ok := phases.GetString(f.Value, "/type")
		text, has := phases.Get(f.Value, "/text")
		if !ok || kind == "text" && (!has || text.Kind() != '"') || middleware && kind != "text" && kind != "image" {
			return false
		}
	}
	return true
}

// again sends the agent on, unless it goes on already because of a hook.
func again(v *payload.Object, o *adapters.Outcome, event jsontext.Value) (why string) {
	if len(o.Changed[0]) > 0 {
		return notTaken
	}
	_ = o.TakeContext() // there is no place for it: a note tells the operator
	if o.Retry == "" {
		return ""
	}
	if active, _ := phases.Get(event, "/stopHookActive"); active.Kind() == 't' {
		o.Notes = append(o.Notes, "no retry: the agent goes on already because of a stop hook")
		return ""
	}
	retry := new(payload.Object).Str("instruction", o.Retry).Str("idempotencyKey", "belay").
		Raw("maxAttempts", []byte{'0' + maxRetries})
	v.Str("action", "revise").Str("reason", o.Retry).Raw("retry", retry.Value())
	return ""
}

// arguments writes the arguments of a call, and a question for the person. OpenClaw puts the members over
// those that the model wrote: it cannot take one out.
func arguments(v *payload.Object, o *adapters.Outcome, event jsontext.Value) (why string) {
	was, _ := phases.Get(event, "/params")
	args, _ := phases.Get(o.Finals[0], "/args")
	changed := len(o.Changed[0]) > 0
	if len(o.Changed) > 1 && len(o.Changed[1]) > 0 {
		prompt, _ := phases.Get(o.Finals[1], "/child/prompt")
		next, err := phases.Set(args, "/task", prompt)
		if err != nil || prompt.Kind() != '"' {
			return notTaken
		}
		args, changed = next, true
	}
	if args.Kind() != '{' {
		return notTaken
	}
	for _, f := range payload.Fields(was) {
		if _, there := phases.Get(args, phases.Join("", f.Name)); !there {
			return "a hook took " + phases.SafeLine(f.Name, 64) + " out of this call, and OpenClaw cannot take out an argument"
		}
	}
	if changed {
		v.Raw("params", args)
	}
	if o.Decision == phases.Ask {
		tool, _ := phases.GetString(o.Finals[0], "/native_tool")
		v.Raw("requireApproval", new(payload.Object).Str("title", cut("belay: "+phases.SafeLine(tool, maxTitle), maxTitle)).
			Str("description", cut(o.Reason, maxDescription)).Str("severity", "warning").
			Raw("allowedDecisions", []byte(`["allow-once","deny"]`)).Value())
	}
	_ = o.TakeContext() // there is no place for it: a note tells the operator
	return ""
}

// cut shortens a text to a number of characters.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// resultOf writes the result that the model reads, with the text that hooks have for it behind.
func resultOf(v *payload.Object, o *adapters.Outcome, event jsontext.Value) (why string) {
	result, _ := phases.Get(o.Finals[0], "/result")
	was, _ := phases.Get(event, "/result")
	content, there := phases.Get(result, "/content")
	_, had := phases.Get(was, "/content")
	if had && (!there || content.Kind() != '[' || !blocks(content, len(o.Changed[0]) > 0)) {
		return "a hook gave the result a shape that OpenClaw cannot use"
	}
	changed := len(o.Changed[0]) > 0
	if text := o.TakeContext(); strings.TrimSpace(text) != "" {
		list := []byte("[")
		for _, f := range payload.Fields(content) {
			list = append(append(list, f.Value...), ',')
		}
		next, err := phases.Set(result, "/content", append(append(list, textBlock(text)...), ']'))
		if err != nil {
			return "the result has no place for a text"
		}
		result, changed = next, true
	}
	if changed {
		v.Raw("result", result)
	}
	return ""
}
