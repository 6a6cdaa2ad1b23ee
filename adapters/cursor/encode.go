package cursor

import (
	"strings"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// Encode turns the verdicts of an event into Cursor's answer: complete JSON with exit 0. What Cursor
// cannot carry out for this event is a block; a block that the event does not have sets Answer.Latch.
func (a adapter) Encode(ev adapters.Event, verdicts []phases.Verdict) adapters.Answer {
	info, known := events()[ev.Name]
	p, o, err := payload.Weigh(ev, verdicts, table(), known)
	if err != nil {
		return a.Failure(ev.Payload, ev.Options, err)
	}
	ans := permission(o, ev.Name, info, p)
	if o.Decision == phases.Block {
		ans = blockForm(info, o.Reason)
		if o.Latched {
			ans.Latch = ""
		}
		ans.Notes = o.Notes
	}
	ans.Session = ev.Session
	return ans
}

// permission is the answer when nothing stops the event. Where the answer cannot be written it stops the
// outcome, and the answer does not count. It says `permission: allow` only with a grant: that may spare
// Cursor's own question.
func permission(o *adapters.Outcome, event string, info eventInfo, p *payload.Payload) adapters.Answer {
	if o.Decision == phases.Block {
		return adapters.Answer{}
	}
	top := new(payload.Object)
	changed := len(o.Changed[0]) > 0
	switch {
	case info.form == formContinue:
		top.Boolean("continue", true)
	case event == "preToolUse" && (o.Grant || changed):
		top.Str("permission", "allow")
		if changed {
			args, ok := phases.Get(o.Finals[0], "/args")
			if !ok || args.Kind() != '{' {
				o.Stop("a hook took the arguments away")
				return adapters.Answer{}
			}
			top.Raw("updated_input", args)
		}
	case event == "postToolUse" && changed:
		result, ok := phases.Get(o.Finals[0], "/result")
		if name, _ := p.Find("tool_name"); !isMCP(name) || !ok || result.Kind() != '{' {
			o.Stop("a hook changed this output, which Cursor takes back of a tool of an MCP server alone, as an object")
			return adapters.Answer{}
		}
		top.Raw("updated_mcp_tool_output", result)
	case info.form == formDeny && o.Grant:
		top.Str("permission", "allow")
	case info.phase == phases.PostReceive && o.Retry != "":
		if count, ok := p.Find("loop_count"); ok && string(count) != "0" {
			o.Notes = append(o.Notes, "no retry: the agent goes on already because of a hook")
			break
		}
		top.Str("followup_message", o.Retry)
	}
	if text := o.TakeContext(); strings.TrimSpace(text) != "" {
		top.Str("additional_context", text)
	}
	return answer(top, o.Notes)
}

// isMCP reports whether a tool's name, as JSON, is that of a server's tool.
func isMCP(name []byte) bool {
	text, ok := payload.StringOf(name)
	return ok && strings.HasPrefix(text, "MCP:")
}

// blockForm is the one place where a block is written down.
func blockForm(info eventInfo, reason string) adapters.Answer {
	top := new(payload.Object)
	switch info.form {
	case formContinue:
		top.Boolean("continue", false).Str("user_message", reason)
	case formDeny:
		top.Str("permission", "deny").Str("user_message", reason).Str("agent_message", reason)
	}
	ans := answer(top, nil)
	if info.latches() {
		ans.Latch = reason
	}
	return ans
}

// answer writes the object on one line.
func answer(top *payload.Object, notes []string) adapters.Answer {
	v := top.Value()
	if err := v.Compact(); err != nil { // it is made of values that were read as JSON
		return adapters.Answer{Stderr: "belay: the answer cannot be written", Exit: 2}
	}
	return adapters.Answer{Stdout: v, Notes: notes}
}
