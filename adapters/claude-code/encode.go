package claudecode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// Encode turns the verdicts of an event into Claude Code's answer. A decision is
// complete JSON with exit 0. What Claude Code cannot carry out for this event is
// a block; a block that the event does not have sets Answer.Latch.
func (a Adapter) Encode(ev adapters.Event, verdicts []phases.Verdict) adapters.Answer {
	info, known := events[ev.Name]
	p, err := parse(ev.Payload, max(ev.Options.Limit(), len(ev.Payload)))
	if !known || err != nil {
		return a.Failure(ev.Payload, ev.Options, misfit(ev, "the event was not decoded"))
	}
	o, err := weigh(ev, verdicts)
	if err != nil {
		return a.Failure(ev.Payload, ev.Options, err)
	}
	if !o.block {
		o.express(ev.Name, info, p)
	}
	var ans adapters.Answer
	if o.block {
		ans = o.refusal(ev.Name, info, p)
	} else {
		ans = o.permission(ev.Name, info, p)
	}
	ans.Session = ev.Session
	return oneLine(ans)
}

// oneLine takes the line breaks of the payload's own formatting out of the answer.
func oneLine(ans adapters.Answer) adapters.Answer {
	v := jsontext.Value(ans.Stdout)
	if len(v) > 0 && v.Compact() == nil {
		ans.Stdout = v
	}
	return ans
}

// express turns into a block what the event's answer has no words for.
func (o *outcome) express(event string, info eventInfo, p *payload) {
	switch event {
	case "PreToolUse", "PermissionRequest":
		if !o.only(0, "/args") || (len(o.changed) > 1 && !o.only(1, "/child/prompt")) {
			o.stop("a hook changed something of this call that Claude Code cannot carry")
			return
		}
		if event == "PermissionRequest" && !o.grant && len(o.changed[0]) > 0 {
			if o.ask {
				o.stop("a hook changed this call, which Claude Code cannot show when it asks: " + o.reason)
			} else {
				o.stop("a hook changed this call, which Claude Code takes here only together with a permission that no hook gave")
			}
		}
	case "PostToolUse":
		o.keepResult(0)
	case "WorktreeCreate":
		if !o.only(0, "/data/worktreePath") {
			o.stop("a hook changed something that Claude Code cannot carry here")
		}
	case "ElicitationResult":
		if !o.only(0, "/messages/0/content") {
			o.stop("a hook changed something that Claude Code cannot carry here")
		}
	default:
		for i := range o.changed {
			if len(o.changed[i]) == 0 {
				continue
			}
			if info.phase == phases.Audit || (info.phase == phases.PostTool && o.only(i, "/args")) {
				continue // redactions of the record
			}
			o.stop("a hook changed the " + subject(info.phase) + ", which Claude Code cannot carry here")
			return
		}
	}
}

// subject names what a hook may change in the phase.
func subject(p phases.Phase) string {
	switch p {
	case phases.PrePlan:
		return "prompt"
	case phases.PreSend:
		return "request"
	case phases.PostReceive:
		return "answer"
	case phases.PostTool:
		return "tool's output"
	case phases.Spawn:
		return "subagent's start"
	}
	return "event"
}

// permission is the answer when nothing stops the event.
func (o *outcome) permission(event string, info eventInfo, p *payload) adapters.Answer {
	specific := new(object).str("hookEventName", event)
	bare := len(specific.b)
	switch event {
	case "PreToolUse":
		switch { // no decision leaves Claude Code's own rules in force
		case o.ask:
			specific.str("permissionDecision", "ask").str("permissionDecisionReason", o.reason)
		case o.grant:
			specific.str("permissionDecision", "allow").str("permissionDecisionReason", o.reason)
		}
		if args, changed, err := o.finalArgs(); err != nil {
			o.stop("the final arguments cannot be written down")
			return o.refusal(event, info, p)
		} else if changed {
			specific.raw("updatedInput", args)
		}
	case "PermissionRequest":
		if o.grant && !o.ask {
			decision := new(object).str("behavior", "allow")
			if len(o.changed[0]) > 0 {
				args, _ := phases.Get(o.finals[0], "/args")
				decision.raw("updatedInput", args)
			}
			specific.raw("decision", decision.value())
		}
	case "PostToolUse":
		if len(o.changed[0]) > 0 {
			original, _ := p.find("tool_response")
			final, _ := phases.Get(o.finals[0], "/result")
			if !sameShape(original, final) {
				o.stop("a hook gave this output another shape, which Claude Code would ignore")
				return o.refusal(event, info, p)
			}
			specific.raw(outputMember(p), final)
		}
	case "ElicitationResult":
		if len(o.changed[0]) > 0 {
			original, _ := p.find("content")
			final, _ := phases.Get(o.finals[0], "/messages/0/content")
			content, err := unparts(original, final)
			if err != nil {
				o.stop("a hook gave the answer another form")
				return o.refusal(event, info, p)
			}
			specific.str("action", p.optStr("action")).raw("content", content)
		}
	case "WorktreeCreate":
		path, ok := phases.GetString(o.finals[0], "/data/worktreePath")
		if !ok || path == "" {
			o.stop("no hook named a path, and belay itself makes no worktrees")
			return o.refusal(event, info, p)
		}
		specific.str("worktreePath", path)
	case "Stop", "SubagentStop":
		if o.retry != "" {
			if p.boolean("stop_hook_active") {
				o.notes = append(o.notes, "no retry: the agent goes on already because of a stop hook")
				break
			}
			return adapters.Answer{Stdout: new(object).str("decision", "block").str("reason", o.retry).value(), Notes: o.notes}
		}
	}
	if text := o.context(); text != "" {
		if info.context {
			specific.str("additionalContext", text)
		} else {
			o.notes = append(o.notes, "contexts were not delivered: "+event+" has no place for them")
		}
	}
	top := new(object)
	if len(specific.b) > bare {
		top.raw("hookSpecificOutput", specific.value())
	}
	return adapters.Answer{Stdout: top.value(), Notes: o.notes}
}

// finalArgs returns the arguments that are to run: pre_tool's, with the prompt
// of the spawn step. Claude Code replaces the input as a whole.
func (o *outcome) finalArgs() (args jsontext.Value, changed bool, err error) {
	args, _ = phases.Get(o.finals[0], "/args")
	changed = len(o.changed[0]) > 0
	if len(o.changed) > 1 && len(o.changed[1]) > 0 {
		prompt, ok := phases.Get(o.finals[1], "/child/prompt")
		if !ok {
			return nil, false, errParts
		}
		if args, err = phases.Set(args, "/prompt", prompt); err != nil {
			return nil, false, err
		}
		changed = true
	}
	return args, changed, nil
}

// keepResult forgets what a hook redacted in the arguments of a call that has
// run: that is for the record, the model wrote them itself.
func (o *outcome) keepResult(i int) {
	var kept []string
	for _, c := range o.changed[i] {
		switch {
		case phases.Covers("/args", c) || phases.Covers("/original_args", c):
		case phases.Covers("/result", c):
			kept = append(kept, c)
		default:
			o.stop("a hook changed something of this call that Claude Code cannot carry")
		}
	}
	o.changed[i] = kept
}
