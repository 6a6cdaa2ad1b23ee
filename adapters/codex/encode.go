package codex

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// Encode turns the verdicts of an event into Codex's answer. A decision is complete JSON with exit
// 0. What Codex cannot carry out for this event is a block; a block that the event does not have, or
// that does not outlast the turn, sets Answer.Latch.
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
// the outcome, and the answer does not count.
func permission(o *adapters.Outcome, event string, p *payload.Payload) adapters.Answer {
	if o.Decision == phases.Block {
		return adapters.Answer{}
	}
	top, specific := new(payload.Object), new(payload.Object).Str("hookEventName", event)
	decided := false
	switch event {
	case "PreToolUse":
		args, changed, err := finalArgs(o, p)
		if err != "" {
			o.Stop(err)
			return adapters.Answer{}
		}
		if changed { // a permission alone would be a failed hook: without a change there is nothing to say
			specific.Str("permissionDecision", "allow").Str("permissionDecisionReason", o.Reason).Raw("updatedInput", args)
			decided = true
		}
	case "PermissionRequest":
		if o.Grant {
			specific.Raw("decision", new(payload.Object).Str("behavior", "allow").Value())
			decided = true
		}
	case "PostToolUse":
		if len(o.Changed[0]) > 0 {
			final, _ := phases.Get(o.Finals[0], "/result")
			top.Str("decision", "block").Str("reason", outputText(final))
		}
	case "Stop", "SubagentStop":
		if o.Retry != "" {
			if p.Boolean("stop_hook_active") {
				o.Notes = append(o.Notes, "no retry: the agent goes on already because of a stop hook")
				break
			}
			top.Str("decision", "block").Str("reason", o.Retry)
		}
	}
	if text := o.TakeContext(); strings.TrimSpace(text) != "" {
		specific.Str("additionalContext", text)
		decided = true
	}
	if decided {
		top.Raw("hookSpecificOutput", specific.Value())
	}
	return adapters.Answer{Stdout: top.Value(), Notes: o.Notes}
}

// outputText is what the model reads in place of a tool's output: a text as it is, anything else as
// JSON. Codex shows the original when the reason is empty.
func outputText(final jsontext.Value) string {
	text, ok := payload.StringOf(final)
	if !ok {
		text = string(final)
	}
	if strings.TrimSpace(text) == "" {
		return adapters.Reason("", "", "nothing is left of this output")
	}
	return text
}

// finalArgs returns the arguments that are to run: pre_tool's, with the prompt of the spawn step. why
// is not "" when Codex would not take them as they are.
func finalArgs(o *adapters.Outcome, p *payload.Payload) (args jsontext.Value, changed bool, why string) {
	args, _ = phases.Get(o.Finals[0], "/args")
	changed = len(o.Changed[0]) > 0
	native := p.OptStr("tool_name")
	if changed && isText(native) {
		for _, ptr := range o.Changed[0] {
			if ptr != "/args/command" {
				return nil, false, "a hook changed something of this call that Codex does not take back"
			}
		}
		if _, ok := phases.GetString(args, "/command"); !ok {
			return nil, false, "a hook made the command something else than a text"
		}
	}
	if len(o.Changed) > 1 && len(o.Changed[1]) > 0 {
		prompt, ok := phases.Get(o.Finals[1], "/child/prompt")
		_, items := phases.Get(args, "/items")
		if !ok || items || !o.Grant {
			return nil, false, "a hook changed the subagent's prompt, which Codex cannot carry here"
		}
		var err error
		if args, err = phases.Set(args, "/message", prompt); err != nil {
			return nil, false, "the final arguments cannot be written down"
		}
		changed = true
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

// blockForm is the one place where a block is written down. Every object of it is closed on Codex's
// side: a member that Codex does not know undoes the block.
func blockForm(event string, info eventInfo, reason string) adapters.Answer {
	specific := new(payload.Object).Str("hookEventName", event)
	top := new(payload.Object)
	switch info.form {
	case formToolDeny:
		specific.Str("permissionDecision", "deny").Str("permissionDecisionReason", reason)
		top.Raw("hookSpecificOutput", specific.Value())
	case formPermission:
		decision := new(payload.Object).Str("behavior", "deny").Str("message", reason)
		top.Raw("hookSpecificOutput", specific.Raw("decision", decision.Value()).Value())
	case formDecision:
		top.Str("decision", "block").Str("reason", reason)
	case formStop, formHalt:
		top.Boolean("continue", false).Str("stopReason", reason)
	case formNone:
		top.Str("systemMessage", reason)
	case formSilent:
		return adapters.Answer{Stderr: reason, Exit: 2, Latch: reason}
	}
	ans := adapters.Answer{Stdout: top.Value()}
	if info.latch {
		ans.Latch = reason
	}
	return ans
}
