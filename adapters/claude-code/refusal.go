package claudecode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
)

// refusal is the answer when the event is blocked by a decision.
func refusal(o *adapters.Outcome, event string, info eventInfo, p *payload) adapters.Answer {
	response, _ := p.find("tool_response")
	tool, _ := p.find("tool_name")
	ans := blockForm(event, info, o.Reason, response, tool)
	if event == "ConfigChange" && p.optStr("source") == "policy_settings" {
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
	specific := new(object).str("hookEventName", event)
	wrap := func(o *object) adapters.Answer {
		return adapters.Answer{Stdout: new(object).raw("hookSpecificOutput", o.value()).value()}
	}
	switch info.form {
	case formToolDeny:
		return wrap(specific.str("permissionDecision", "deny").str("permissionDecisionReason", reason))
	case formPermission:
		decision := new(object).str("behavior", "deny").str("message", reason).boolean("interrupt", false)
		return wrap(specific.raw("decision", decision.value()))
	case formDecision:
		return adapters.Answer{Stdout: new(object).str("decision", "block").str("reason", reason).value()}
	case formDecline:
		return wrap(specific.str("action", "decline"))
	case formStop:
		return adapters.Answer{Stdout: stop(reason)}
	case formOutput:
		return withheldAnswer(specific, tool, response, reason)
	case formToolError:
		return adapters.Answer{Stdout: stop(reason), Latch: reason}
	case formPath: // an answer without a path is a failure there, whatever else it says
		return adapters.Answer{Stderr: reason, Exit: 2}
	}
	return adapters.Answer{Stdout: new(object).str("systemMessage", reason).value(), Latch: reason}
}

// withheldAnswer replaces the tool's output. The block beside it is what the model reads as an error
// of the hook: alone it would leave the output readable.
func withheldAnswer(specific *object, tool, response jsontext.Value, reason string) adapters.Answer {
	name, _ := stringOf(tool)
	r := withhold(name, response, reason)
	top := new(object)
	if r.ends {
		top = ended(top, reason)
	}
	if r.output != nil {
		top.str("decision", "block").str("reason", reason)
		top.raw("hookSpecificOutput", specific.raw(outputName(tool), r.output).value())
	}
	ans := adapters.Answer{Stdout: top.value()}
	if !r.holds {
		ans.Latch = reason
	}
	return ans
}

// stop ends the run.
func stop(reason string) jsontext.Value { return ended(new(object), reason).value() }

func ended(o *object, reason string) *object {
	return o.boolean("continue", false).str("stopReason", reason)
}

// outputMember is the member that replaces the output of the payload's tool.
func outputMember(p *payload) string {
	tool, _ := p.find("tool_name")
	return outputName(tool)
}

// outputName: tools of MCP servers have a member of their own; each of the two
// is ignored for the tools of the other kind.
func outputName(tool jsontext.Value) string {
	name, _ := stringOf(tool)
	if _, _, ok := mcpTool(name); ok {
		return "updatedMCPToolOutput"
	}
	return "updatedToolOutput"
}
