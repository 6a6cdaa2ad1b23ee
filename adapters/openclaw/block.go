package openclaw

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// blockForm is the one place where a block is written down: the decision with its reason, and at the
// path "" the value that keeps the action from happening. The plugin has the same forms for when it
// reaches no belay; testdata/golden/blocks.json holds both to each other. message is the one that
// before_message_write and tool_result_persist are about.
func blockForm(hook string, message jsontext.Value, reason string) adapters.Answer {
	top := new(payload.Object).Str("decision", "block").Str("reason", reason)
	if v := blockValue(hook, message, reason); v != nil {
		top.Raw("set", whole(v))
	}
	ans := adapters.Answer{Stdout: top.Value()}
	if hooks()[hook].form != formReturn {
		ans.Latch = reason
	}
	return payload.OneLine(ans)
}

// whole is a list of one change, which is the value itself.
func whole(v jsontext.Value) jsontext.Value {
	o := new(payload.Object).Str("path", "").Raw("value", v).Value()
	return append(append(jsontext.Value("["), o...), ']')
}

// blockValue is what the plugin returns to OpenClaw for a block; nil: the hook has no such value.
func blockValue(hook string, message jsontext.Value, reason string) jsontext.Value {
	o := new(payload.Object)
	switch hook {
	case "before_tool_call", "before_install":
		o.Boolean("block", true).Str("blockReason", reason)
	case "before_agent_run":
		o.Str("outcome", "block").Str("reason", reason).Str("message", reason)
	case "before_agent_reply", "inbound_claim":
		o.Boolean("handled", true).Raw("reply", textObject("text", reason))
	case "before_dispatch":
		o.Boolean("handled", true).Str("text", reason)
	case "reply_dispatch":
		o.Boolean("handled", true).Boolean("queuedFinal", false).
			Raw("counts", []byte(`{"tool":0,"block":0,"final":0}`))
	case "before_agent_finalize":
		o.Str("action", "finalize").Str("reason", reason)
	case "message_sending":
		o.Boolean("cancel", true).Str("cancelReason", reason)
	case "reply_payload_sending":
		o.Boolean("cancel", true).Str("reason", reason)
	case "skill_proposal_evaluate":
		o.Str("decision", "block").Str("summary", reason)
	case "subagent_spawning":
		o.Str("status", "error").Str("error", reason)
	case "agent_tool_result":
		content := append(append([]byte("["), textBlock(reason)...), ']')
		o.Raw("result", new(payload.Object).Raw("content", content).Raw("details", []byte(`{"status":"blocked"}`)).Value())
	case "tool_result_persist", "before_message_write":
		o.Raw("message", withheld(message, reason))
	default:
		return nil
	}
	return o.Value()
}

func textObject(name, text string) jsontext.Value { return new(payload.Object).Str(name, text).Value() }

func textBlock(text string) jsontext.Value {
	return new(payload.Object).Str("type", "text").Str("text", text).Value()
}

// envelope reports whether a member of a message says which message it is, and has nothing of what it says.
func envelope(name string) bool {
	switch name {
	case "role", "toolCallId", "toolName", "isError", "timestamp", "api", "provider", "model", "usage", "stopReason",
		"responseId", "idempotencyKey", "customType", "display":
		return true
	}
	return false
}

// withheld is a message without what it said: the reason stands in place of its content. The calls of
// tools keep their names and ids, since a transcript with results of no call cannot be sent again.
func withheld(message jsontext.Value, reason string) jsontext.Value {
	o := new(payload.Object)
	var calls []byte
	array := true
	role := ""
	for _, f := range payload.Fields(message) {
		switch {
		case f.Name == "content":
			array = f.Value.Kind() == '['
			for _, part := range payload.Fields(f.Value) {
				kind, _ := phases.GetString(part.Value, "/type")
				id, _ := phases.GetString(part.Value, "/id")
				name, _ := phases.GetString(part.Value, "/name")
				if array && kind == "toolCall" {
					call := new(payload.Object).Str("type", kind).Str("id", id).Str("name", name).Raw("arguments", []byte("{}"))
					calls = append(append(calls, ','), call.Value()...)
				}
			}
		case envelope(f.Name):
			o.Raw(f.Name, f.Value)
			if f.Name == "role" {
				role, _ = payload.StringOf(f.Value)
			}
		}
	}
	if role == "" {
		o = new(payload.Object).Str("role", "user")
	}
	if array {
		return o.Raw("content", append(append(append([]byte("["), textBlock(reason)...), calls...), ']')).Value()
	}
	return o.Str("content", reason).Value()
}
