package claudecode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
)

// refusal is the answer when the event is blocked by a decision.
func refusal(o *adapters.Outcome, event string, info eventInfo, p *received) adapters.Answer {
	response, _ := p.Find("tool_response")
	tool, _ := p.Find("tool_name")
	ans := blockForm(event, info, o.Reason, response, tool)
	if event == "ConfigChange" && p.OptStr("source") == "policy_settings" {
		ans.Latch = o.Reason
	}
	if event == "PostToolBatch" { // the block keeps the results from this request, and not from the next
		ans.Latch = o.Reason
	}
	if o.Latched {
		ans.Latch = ""
	}
	ans.Notes = o.Notes
	return ans
}

// blockForm is the one place where a block is written down. For forms whose exit
// status 2 would mean something else the status stays 0; Failure raises it where
// 2 blocks as well.
func blockForm(event string, info eventInfo, reason string, response, tool jsontext.Value) adapters.Answer {
	specific := new(payload.Object).Str("hookEventName", event)
	wrap := func(o *payload.Object) adapters.Answer {
		return adapters.Answer{Stdout: new(payload.Object).Raw("hookSpecificOutput", o.Value()).Value()}
	}
	switch info.form {
	case formToolDeny:
		return wrap(specific.Str("permissionDecision", "deny").Str("permissionDecisionReason", reason))
	case formPermission:
		decision := new(payload.Object).Str("behavior", "deny").Str("message", reason).Boolean("interrupt", false)
		return wrap(specific.Raw("decision", decision.Value()))
	case formDecision:
		return adapters.Answer{Stdout: new(payload.Object).Str("decision", "block").Str("reason", reason).Value()}
	case formDecline:
		return wrap(specific.Str("action", "decline"))
	case formStop:
		return adapters.Answer{Stdout: stop(reason)}
	case formOutput:
		return withheldAnswer(specific, tool, response, reason)
	case formToolError:
		return adapters.Answer{Stdout: stop(reason), Latch: reason}
	case formPath: // an answer without a path is a failure there, whatever else it says
		return adapters.Answer{Stderr: reason, Exit: 2}
	}
	return adapters.Answer{Stdout: new(payload.Object).Str("systemMessage", reason).Value(), Latch: reason}
}

// withheldAnswer replaces the tool's output. The block beside it is what the model reads as an error
// of the hook: alone it would leave the output readable.
func withheldAnswer(specific *payload.Object, tool, response jsontext.Value, reason string) adapters.Answer {
	name, _ := payload.StringOf(tool)
	r := withhold(name, response, reason)
	top := new(payload.Object)
	if r.ends {
		top = ended(top, reason)
	}
	if r.output != nil {
		top.Str("decision", "block").Str("reason", reason)
		top.Raw("hookSpecificOutput", specific.Raw(outputName(tool), r.output).Value())
	}
	ans := adapters.Answer{Stdout: top.Value()}
	if !r.holds {
		ans.Latch = reason
	}
	return ans
}

// stop ends the run.
func stop(reason string) jsontext.Value { return ended(new(payload.Object), reason).Value() }

func ended(o *payload.Object, reason string) *payload.Object {
	return o.Boolean("continue", false).Str("stopReason", reason)
}

// outputMember is the member that replaces the output of the payload's tool.
func outputMember(p *received) string {
	tool, _ := p.Find("tool_name")
	return outputName(tool)
}

// outputName: tools of MCP servers have a member of their own; each of the two
// is ignored for the tools of the other kind.
func outputName(tool jsontext.Value) string {
	name, _ := payload.StringOf(tool)
	if _, _, ok := mcpTool(name); ok {
		return "updatedMCPToolOutput"
	}
	return "updatedToolOutput"
}
