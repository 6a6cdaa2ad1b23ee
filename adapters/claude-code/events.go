package claudecode

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// form says in which way an event is blocked.
type form int

const (
	formNone       form = iota // cannot be blocked: only observed
	formToolDeny               // hookSpecificOutput.permissionDecision deny (PreToolUse, PreModelSwitch)
	formPermission             // hookSpecificOutput.decision.behavior deny (PermissionRequest)
	formDecision               // decision block + reason
	formStop                   // continue false + stopReason; decision block and exit 2 mean "go on" here
	formOutput                 // the tool's output is replaced (PostToolUse)
	formToolError              // the error stays visible; continue false ends the run (PostToolUseFailure)
	formDecline                // hookSpecificOutput.action decline
	formPath                   // no path is answered, exit 2 (WorktreeCreate)
)

// eventInfo describes one event of Claude Code.
type eventInfo struct {
	phase   phases.Phase
	form    form
	context bool   // hookSpecificOutput.additionalContext reaches the model
	machine string // of a state transition
}

// table says what each event can express, for the logic that all adapters share. What a row does
// not name, Claude Code cannot carry, and it becomes a block.
//
// belay is registered as a command; earlier settings have it as a URL. The timeout is the one that
// it is registered with: Claude Code holds to it in every event, SessionEnd included.
var table = sync.OnceValue(func() adapters.Table {
	return adapters.Table{Runtime: "Claude Code", Events: expressions(), Spawn: spawnStep,
		Answers: []adapters.Form{adapters.FormExit, adapters.FormBody}, Timeout: 30 * time.Second, Headless: headless,
		Scans: []string{"hook_event_name", "tool_name", "source"}}
})

// Table implements adapters.Adapter.
func (adapter) Table() adapters.Table { return table() }

// headless: Claude Code names in the environment how it was started. These have no person, and it
// refuses what a hook would ask. Other ways in, such as a program that uses its SDK, may have one.
func headless(getenv func(string) string) bool {
	if getenv("CLAUDE_CODE_SESSION_ATTENDED") == "0" {
		return true
	}
	switch getenv("CLAUDE_CODE_ENTRYPOINT") {
	case "sdk-cli", "claude-code-github-action", "mcp", "bench":
		return true
	}
	return false
}

func expressions() map[string]adapters.Expresses {
	rows := map[string]adapters.Expresses{}
	for name, info := range events() {
		rows[name] = expresses(name, info)
	}
	return rows
}

func expresses(name string, info eventInfo) adapters.Expresses {
	row := adapters.Expresses{Blocks: info.form != formNone && info.form != formToolError, Context: info.context}
	switch name {
	case "PreToolUse": // the prompt of the Agent tool is one of its arguments
		row.Asks = true
		row.Carries = []string{"/args", "/child/prompt"}
	case "PermissionRequest":
		row.Asks = true
		row.Carries, row.RewriteNeedsGrant = []string{"/args"}, true
	case "PostToolUse": // the model wrote the arguments itself: what a hook redacts there is for the record
		row.Carries, row.Records = []string{"/result"}, []string{"/args", "/original_args"}
	case "WorktreeCreate":
		row.Carries = []string{"/data/worktreePath"}
	case "ElicitationResult":
		row.Carries = []string{"/messages/0/content"}
	default:
		switch info.phase {
		case phases.Audit:
			row.Records = []string{""}
		case phases.PostTool:
			row.Records = []string{"/args"}
		}
	}
	return row
}

// eventTable returns all events. Names and phases are those of
// testdata/phase-map.json; a test compares them.
func eventTable() map[string]eventInfo {
	t := map[string]eventInfo{
		"SessionStart":        {phase: phases.PrePlan, form: formNone, context: true},
		"UserPromptSubmit":    {phase: phases.PrePlan, form: formDecision, context: true},
		"UserPromptExpansion": {phase: phases.PrePlan, form: formDecision, context: true},
		"Elicitation":         {phase: phases.PreSend, form: formDecline},
		"ElicitationResult":   {phase: phases.PreSend, form: formDecline},
		"Stop":                {phase: phases.PostReceive, form: formStop},
		"SubagentStop":        {phase: phases.PostReceive, form: formStop},
		"PreToolUse":          {phase: phases.PreTool, form: formToolDeny, context: true},
		"PermissionRequest":   {phase: phases.PreTool, form: formPermission},
		"PostToolUse":         {phase: phases.PostTool, form: formOutput, context: true},
		"PostToolUseFailure":  {phase: phases.PostTool, form: formToolError, context: true},
		"PostToolBatch":       {phase: phases.PostTool, form: formDecision, context: true},
		"PreCompact":          {phase: phases.StateTransition, form: formDecision, machine: "compaction"},
		"PreModelSwitch":      {phase: phases.StateTransition, form: formToolDeny, machine: "model"},
		"ConfigChange":        {phase: phases.StateTransition, form: formDecision, machine: "config"},
		"WorktreeCreate":      {phase: phases.StateTransition, form: formPath, machine: "worktree"},
		"TaskCreated":         {phase: phases.StateTransition, form: formDecision, machine: "task"},
		"TaskCompleted":       {phase: phases.StateTransition, form: formStop, machine: "task"},
		"TeammateIdle":        {phase: phases.StateTransition, form: formStop, machine: "teammate"},
		"SubagentStart":       {phase: phases.Spawn, form: formNone, context: true},
	}
	for _, name := range []string{
		"CwdChanged", "DirectoryAdded", "FileChanged", "InstructionsLoaded", "MessageDisplay", "Notification",
		"PermissionDenied", "PostCompact", "PostModelSwitch", "SessionEnd", "Setup", "StopFailure", "WorktreeRemove",
	} {
		t[name] = eventInfo{phase: phases.Audit, form: formNone}
	}
	return t
}

// events is written once, here, and only read.
var events = sync.OnceValue(eventTable)

// Events returns the names of all events that the adapter knows, sorted. The
// slice is the caller's.
func Events() []string { return slices.Sorted(maps.Keys(events())) }

// isSpawn reports whether the tool starts a child agent. Task is the name that
// older versions gave to Agent.
func isSpawn(tool string) bool { return tool == "Agent" || tool == "Task" }
