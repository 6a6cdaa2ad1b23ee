package codex

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
	formNone       form = iota // cannot be blocked, and the person can be told (systemMessage)
	formSilent                 // cannot be blocked, and Codex reads no answer
	formToolDeny               // hookSpecificOutput.permissionDecision deny
	formPermission             // hookSpecificOutput.decision.behavior deny
	formDecision               // decision block + reason; after a tool the reason stands for the output
	formStop                   // continue false + stopReason; decision block and exit 2 mean "go on" here
	formHalt                   // continue false + stopReason; exit 2 is a failed hook, which changes nothing
)

// eventInfo describes one event of Codex.
type eventInfo struct {
	phase   phases.Phase
	form    form
	latch   bool // the block does not outlast the turn: the session has to be latched besides
	context bool // hookSpecificOutput.additionalContext reaches the model
}

// eventTable returns all events. Names and phases are those of testdata/phase-map.json; a test
// compares them.
func eventTable() map[string]eventInfo {
	return map[string]eventInfo{
		// A stop here ends the turn without a request to the model, and the next turn begins without this event.
		"SessionStart":      {phase: phases.PrePlan, form: formHalt, latch: true, context: true},
		"UserPromptSubmit":  {phase: phases.PrePlan, form: formDecision, context: true},
		"Stop":              {phase: phases.PostReceive, form: formStop},
		"SubagentStop":      {phase: phases.PostReceive, form: formStop},
		"PreToolUse":        {phase: phases.PreTool, form: formToolDeny, context: true},
		"PermissionRequest": {phase: phases.PreTool, form: formPermission},
		"PostToolUse":       {phase: phases.PostTool, form: formDecision, context: true},
		"PreCompact":        {phase: phases.StateTransition, form: formHalt},
		"SubagentStart":     {phase: phases.Spawn, form: formNone, latch: true, context: true},
		"PostCompact":       {phase: phases.Audit, form: formNone, latch: true},
		"Interrupt":         {phase: phases.Audit, form: formNone, latch: true},
		"SessionEnd":        {phase: phases.Audit, form: formSilent, latch: true},
		"PreModelRequest":   {phase: phases.Audit, form: formSilent, latch: true},
		"PostModelRequest":  {phase: phases.Audit, form: formSilent, latch: true},
	}
}

// events is written once, here, and only read.
var events = sync.OnceValue(eventTable)

// table says what each event can express, for the logic that all adapters share. What a row does
// not name, Codex cannot carry, and it becomes a block. Codex starts commands, and waits for each as
// long as it is registered with; two events it waits for 3 s at most.
var table = sync.OnceValue(func() adapters.Table {
	return adapters.Table{Runtime: "Codex", Events: expressions(), Spawn: spawnStep,
		Answers: []adapters.Form{adapters.FormExit}, Timeout: 30 * time.Second, Scans: []string{"hook_event_name"}}
})

// Table implements adapters.Adapter.
func (adapter) Table() adapters.Table { return table() }

// longest is how long Codex waits for the hooks of SessionEnd and Interrupt, whatever
// their registration says.
const longest = 3 * time.Second

func expressions() map[string]adapters.Expresses {
	rows := map[string]adapters.Expresses{}
	for name, info := range events() {
		row := adapters.Expresses{Blocks: !info.latch, Context: info.context}
		switch {
		case name == "PreToolUse": // the message of the spawn tool is one of its arguments
			row.Carries, row.RewriteNeedsGrant = []string{"/args", "/child/prompt"}, true
		case name == "PostToolUse": // the model wrote the arguments itself: what a hook redacts there is for the record
			row.Carries, row.Records = []string{"/result"}, []string{"/args", "/original_args"}
		case info.phase == phases.Audit:
			row.Records = []string{""}
		}
		if name == "SessionEnd" || name == "Interrupt" {
			row.Timeout = longest
		}
		rows[name] = row
	}
	return rows
}

// Events returns the names of all events that the adapter knows, sorted. The slice is the caller's.
func Events() []string { return slices.Sorted(maps.Keys(events())) }
