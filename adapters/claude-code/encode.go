package claudecode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// Encode turns the verdicts of an event into Claude Code's answer. A decision is
// complete JSON with exit 0. What Claude Code cannot carry out for this event is
// a block; a block that the event does not have sets Answer.Latch.
func (a adapter) Encode(ev adapters.Event, verdicts []phases.Verdict) adapters.Answer {
	info, known := events()[ev.Name]
	p, o, err := payload.Weigh(ev, verdicts, table(), known)
	if err != nil {
		return a.Failure(ev.Payload, ev.Options, err)
	}
	var ans adapters.Answer
	if o.Decision == phases.Block {
		ans = refusal(o, ev.Name, info, &received{p})
	} else {
		ans = permission(o, ev.Name, info, &received{p})
	}
	ans.Session = ev.Session
	return payload.OneLine(ans)
}

// permission is the answer when nothing stops the event.
func permission(o *adapters.Outcome, event string, info eventInfo, p *received) adapters.Answer {
	specific := new(payload.Object).Str("hookEventName", event)
	bare := specific.Len()
	switch event {
	case "PreToolUse":
		switch { // no decision leaves Claude Code's own rules in force
		case o.Decision == phases.Ask:
			specific.Str("permissionDecision", "ask").Str("permissionDecisionReason", o.Reason)
		case o.Grant:
			specific.Str("permissionDecision", "allow").Str("permissionDecisionReason", o.Reason)
		}
		if args, changed, err := finalArgs(o); err != nil {
			o.Stop("the final arguments cannot be written down")
			return refusal(o, event, info, p)
		} else if changed {
			specific.Raw("updatedInput", args)
		}
	case "PermissionRequest":
		if o.Grant {
			decision := new(payload.Object).Str("behavior", "allow")
			if len(o.Changed[0]) > 0 {
				args, _ := phases.Get(o.Finals[0], "/args")
				decision.Raw("updatedInput", args)
			}
			specific.Raw("decision", decision.Value())
		}
	case "PostToolUse":
		if len(o.Changed[0]) > 0 {
			original, _ := p.Find("tool_response")
			final, _ := phases.Get(o.Finals[0], "/result")
			if !sameShape(original, final) {
				o.Stop("a hook gave this output another shape, which Claude Code would ignore")
				return refusal(o, event, info, p)
			}
			specific.Raw(outputMember(p), final)
		}
	case "ElicitationResult":
		if len(o.Changed[0]) > 0 {
			original, _ := p.Find("content")
			final, _ := phases.Get(o.Finals[0], "/messages/0/content")
			content, err := unparts(original, final)
			if err != nil {
				o.Stop("a hook gave the answer another form")
				return refusal(o, event, info, p)
			}
			specific.Str("action", p.OptStr("action")).Raw("content", content)
		}
	case "WorktreeCreate":
		path, ok := phases.GetString(o.Finals[0], "/data/worktreePath")
		if !ok || path == "" {
			o.Stop("no hook named a path, and belay itself makes no worktrees")
			return refusal(o, event, info, p)
		}
		specific.Str("worktreePath", path)
	case "Stop", "SubagentStop":
		if o.Retry != "" {
			if p.Boolean("stop_hook_active") {
				o.Notes = append(o.Notes, "no retry: the agent goes on already because of a stop hook")
				break
			}
			return adapters.Answer{Stdout: new(payload.Object).Str("decision", "block").Str("reason", o.Retry).Value(),
				Notes: o.Notes}
		}
	}
	if text := o.TakeContext(); text != "" {
		specific.Str("additionalContext", text)
	}
	top := new(payload.Object)
	if specific.Len() > bare {
		top.Raw("hookSpecificOutput", specific.Value())
	}
	return adapters.Answer{Stdout: top.Value(), Notes: o.Notes}
}

// finalArgs returns the arguments that are to run: pre_tool's, with the prompt
// of the spawn step. Claude Code replaces the input as a whole.
func finalArgs(o *adapters.Outcome) (args jsontext.Value, changed bool, err error) {
	args, _ = phases.Get(o.Finals[0], "/args")
	changed = len(o.Changed[0]) > 0
	if len(o.Changed) > 1 && len(o.Changed[1]) > 0 {
		prompt, ok := phases.Get(o.Finals[1], "/child/prompt")
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
