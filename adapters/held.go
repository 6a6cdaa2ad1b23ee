package adapters

import (
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// maxHeldBytes bounds the text of a call that a refusal repeats. `belay approvals show` has all of it.
const maxHeldBytes = 200

// heldReason is the reason of a refusal while an ask waits in belay's own queue: which approval, for
// which call, why, and how a person decides it. The text is safe to show.
func heldReason(inv *phases.Invocation, v *phases.Verdict) string {
	id := phases.SafeLine(v.Approval.ID, phases.MaxIDBytes)
	return "waiting for approval " + id + " of " + heldSubject(inv) + ": " + askReason(v) +
		"; a person decides it: `belay approvals show " + id + "`, then `belay approvals approve " + id +
		"` or `belay approvals deny " + id + "`; try the same again once it is approved"
}

// heldSubject names what waits: the tool and its command, or what else the event is about.
func heldSubject(inv *phases.Invocation) string {
	text := func(ptr string) string {
		s, _ := phases.GetString(inv.Action, ptr)
		return strings.TrimSpace(phases.SafeLine(s, phases.MaxReasonBytes))
	}
	with := func(what, detail string) string {
		if detail == "" {
			return what
		}
		if len(detail) > maxHeldBytes {
			detail = phases.SafeLine(detail, maxHeldBytes) + "…"
		}
		return what + " “" + detail + "”"
	}
	tool := text("/native_tool")
	if tool == "" {
		tool = text("/tool")
	}
	switch inv.Phase {
	case phases.PreTool:
		if found, _ := inv.Lines(); len(found.Lines) > 0 {
			return with(tool, strings.TrimSpace(phases.SafeLine(found.Lines[0].Text, phases.MaxReasonBytes)))
		}
		for _, name := range []string{"command", "cmd", "script", "code", "file_path", "notebook_path", "path", "url",
			"skill"} {
			if detail := text("/args/" + name); detail != "" {
				return with(tool, detail)
			}
		}
		return tool
	case phases.PostTool: // the reason may become that of a latch, which logs and notes repeat: no arguments
		return "the output of " + tool
	case phases.Spawn:
		return with("a subagent", text("/child/agent"))
	case phases.StateTransition:
		return with("a change of "+text("/machine"), text("/to"))
	case phases.PrePlan:
		switch text("/kind") {
		case "session_start":
			return "the start of this session"
		case "command":
			return with("the command", "/"+text("/command"))
		}
	}
	return "this " + subject(inv.Phase)
}
