package codex

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// callOf returns what the event tells of a call that another event tells of, too. Codex names a call by
// tool_use_id in PreToolUse and PostToolUse alone: PermissionRequest has no such member.
//
// Codex itself changes nothing of a call between the two, so that Call.May stays empty: the pairs in
// testdata/calls, which version 0.169.0 sent for each of its functions, have the same tool_input. What
// differs was changed by another hook. A command that yields keeps its id until it has ended.
func callOf(p *payload.Payload, event string, phase phases.Phase, args jsontext.Value) *adapters.Call {
	id := p.OptStr("tool_use_id")
	switch {
	case id == "":
		return nil
	case phase == phases.Spawn:
		return spawnCall(id, args)
	case event == "PreToolUse", event == "PostToolUse":
		return &adapters.Call{ID: id}
	}
	return nil
}

// spawnCall tells of the call that starts a subagent, whose message is the child's prompt. The prompt of
// one with items is more than the message, and no hook changes it.
func spawnCall(id string, args jsontext.Value) *adapters.Call {
	c := &adapters.Call{ID: id, Args: args, Prompt: "/message"}
	if _, items := phases.Get(args, "/items"); items {
		c.Prompt = ""
	}
	return c
}
