package claudecode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// callOf returns what the event tells of a call that another event tells of, too. PermissionRequest
// names no call. PostToolBatch has the arguments as the model wrote them, also of calls that never
// ran, so that they say nothing.
func callOf(p *received, a action) *adapters.Call {
	id := p.OptStr("tool_use_id")
	switch {
	case id == "" || a.embedded:
		return nil
	case a.phase == phases.Spawn:
		args, _ := p.Find("tool_input")
		return &adapters.Call{ID: id, Args: args, Prompt: "/prompt", Awaited: true}
	case p.Event() == "PreToolUse":
		return &adapters.Call{ID: id, Awaited: true}
	case p.Event() == "PostToolUse", p.Event() == "PostToolUseFailure":
		tool, _ := p.Find("tool_name")
		name, _ := payload.StringOf(tool)
		response, _ := p.Find("tool_response")
		return &adapters.Call{ID: id, May: changedByClient(name, response), Awaited: true}
	}
	return nil
}

// changedByClient names the members of a tool's arguments that Claude Code itself changes between
// PreToolUse and PostToolUse: what it asks the person for. Defaults, paths and aliases of members are
// settled before PreToolUse already, as 18 captured calls showed.
func changedByClient(tool string, response jsontext.Value) []string {
	switch tool {
	case "AskUserQuestion":
		return []string{"answers", "annotations", "response"}
	case "ExitPlanMode":
		return []string{"plan", "planFilePath"}
	}
	if by, ok := phases.Get(response, "/userModified"); !ok || by.Kind() != 't' {
		return nil
	}
	switch tool { // the person has edited the change before accepting it
	case "Edit":
		return []string{"old_string", "new_string", "replace_all"}
	case "Write":
		return []string{"content"}
	}
	return nil
}
