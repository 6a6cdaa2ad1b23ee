package geminicli

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// Encode turns the verdicts of an event into Gemini CLI's answer. A decision is complete JSON with
// exit 0. What Gemini CLI cannot carry out for this event is a block; a block that the event does not
// have sets Answer.Latch.
func (a adapter) Encode(ev adapters.Event, verdicts []phases.Verdict) adapters.Answer {
	info, known := events()[ev.Name]
	p, o, err := payload.Weigh(ev, verdicts, table(), known)
	if err != nil {
		return a.Failure(ev.Payload, ev.Options, err)
	}
	ans := permission(o, ev.Name, p)
	if o.Decision == phases.Block {
		ans = refusal(o, ev.Name, info)
	}
	ans.Session = ev.Session
	return payload.OneLine(ans)
}

// permission is the answer when nothing stops the event. Where the answer cannot be written it stops
// the outcome, and the answer does not count. It never says `allow`: the absence of a decision is one,
// and leaves what other hooks and the client's own policy say. A grant spares no question here.
func permission(o *adapters.Outcome, event string, p *payload.Payload) adapters.Answer {
	if o.Decision == phases.Block {
		return adapters.Answer{}
	}
	top, specific := new(payload.Object), new(payload.Object).Str("hookEventName", event)
	bare := specific.Len()
	changed := len(o.Changed[0]) > 0
	switch event {
	case "BeforeTool":
		args, rewritten, why := finalArgs(o, p)
		if why != "" {
			o.Stop(why)
			return adapters.Answer{}
		}
		if rewritten {
			specific.Raw("tool_input", args)
		}
	case "AfterTool":
		if changed {
			result, _ := phases.Get(o.Finals[0], "/result")
			text := outputText(result)
			if more := strings.TrimSpace(o.TakeContext()); more != "" { // the client reads no context beside a deny
				text += "\n\n" + more
			}
			return adapters.Answer{Stdout: new(payload.Object).Str("decision", "deny").Str("reason", text).Value(),
				Notes: o.Notes}
		}
	case "BeforeModel":
		if changed {
			req, why := changedRequest(p, o.Finals[0], o.Changed[0])
			if why != "" {
				o.Stop(why)
				return adapters.Answer{}
			}
			specific.Raw("llm_request", req)
		}
	case "AfterModel":
		if changed {
			text, _ := phases.GetString(o.Finals[0], "/text")
			specific.Raw("llm_response", changedAnswer(p, text))
		}
	case "AfterAgent":
		if o.Retry != "" {
			if p.Boolean("stop_hook_active") {
				o.Notes = append(o.Notes, "no retry: the agent goes on already because of a stop hook")
				break
			}
			top.Str("decision", "deny").Str("reason", o.Retry)
		}
	}
	if text := o.TakeContext(); strings.TrimSpace(text) != "" {
		specific.Str("additionalContext", text)
	}
	if specific.Len() > bare {
		top.Raw("hookSpecificOutput", specific.Value())
	}
	if event == "BeforeToolSelection" { // any object replaces the client's own selection of tools
		return adapters.Answer{Notes: o.Notes}
	}
	return adapters.Answer{Stdout: top.Value(), Notes: o.Notes}
}

// outputText is what the model reads in place of a tool's output, as far as Gemini CLI would show it:
// the error's message, else llmContent, a text as it is, anything else as JSON.
func outputText(result jsontext.Value) string {
	text, ok := phases.GetString(result, "/error/message")
	if !ok || strings.TrimSpace(text) == "" {
		content, there := phases.Get(result, "/llmContent")
		if !there {
			content = result
		}
		if text, ok = payload.StringOf(content); !ok {
			content = content.Clone()
			_ = content.Compact() // the payload was read as strict JSON
			text = string(content)
		}
	}
	if strings.TrimSpace(text) == "" {
		return adapters.Reason("", "", "nothing is left of this output")
	}
	return text
}

// finalArgs returns the arguments that are to run: pre_tool's, with the prompt of the spawn step. All
// of them are written, because some paths of the client put them over the former ones, and others in
// their place: one that is missing would come back. why is not "" when Gemini CLI would not take them
// as they are.
func finalArgs(o *adapters.Outcome, p *payload.Payload) (args jsontext.Value, changed bool, why string) {
	args, _ = phases.Get(o.Finals[0], "/args")
	changed = len(o.Changed[0]) > 0
	if len(o.Changed) > 1 && len(o.Changed[1]) > 0 {
		prompt, ok := phases.Get(o.Finals[1], "/child/prompt")
		if !ok {
			return nil, false, "a hook took the subagent's prompt away"
		}
		var err error
		if args, err = phases.Set(args, "/prompt", prompt); err != nil {
			return nil, false, "the final arguments cannot be written down"
		}
		changed = true
	}
	first, _ := p.Find("tool_input")
	for _, f := range payload.Fields(first) {
		if _, there := phases.Get(args, phases.Join("", f.Name)); !there {
			return nil, false, "a hook took an argument away, which Gemini CLI would put back"
		}
	}
	return args, changed, ""
}

// refusal is the answer when the event is blocked by a decision.
func refusal(o *adapters.Outcome, event string, info eventInfo) adapters.Answer {
	ans := blockForm(event, info, o.Reason)
	if o.Latched {
		ans.Latch = ""
	}
	ans.Notes = o.Notes
	return ans
}

// blockForm is the one place where a block is written down.
func blockForm(event string, info eventInfo, reason string) adapters.Answer {
	top := new(payload.Object)
	ans := adapters.Answer{}
	switch info.form {
	case formDeny:
		top.Str("decision", "deny").Str("reason", reason)
	case formStop:
		top.Boolean("continue", false).Str("stopReason", reason)
	case formTools: // the model is asked for no call; the client itself would run one
		choice := new(payload.Object).Str("mode", "NONE").Value()
		top.Raw("hookSpecificOutput",
			new(payload.Object).Str("hookEventName", event).Raw("toolConfig", choice).Value())
	case formNone:
		top.Str("systemMessage", reason)
	}
	ans.Stdout = top.Value()
	if info.latches() {
		ans.Latch = reason
	}
	return ans
}
