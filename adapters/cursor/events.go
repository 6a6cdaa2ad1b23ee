package cursor

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
	formNone     form = iota // cannot be blocked, and the session is latched
	formContinue             // continue false + user_message
	formDeny                 // permission deny + messages
)

// eventInfo describes one event of Cursor.
type eventInfo struct {
	phase   phases.Phase
	form    form
	context bool // additional_context reaches the model
}

// latches reports whether only a latch of the session holds what the event is about.
func (i eventInfo) latches() bool { return i.form == formNone }

// eventTable returns all events. Names and phases are those of testdata/phase-map.json; a test
// compares them.
func eventTable() map[string]eventInfo {
	all := map[string]eventInfo{
		"sessionStart":         {phase: phases.PrePlan, context: true},
		"beforeSubmitPrompt":   {phase: phases.PrePlan, form: formContinue},
		"preToolUse":           {phase: phases.PreTool, form: formDeny},
		"beforeShellExecution": {phase: phases.PreTool, form: formDeny},
		"beforeMCPExecution":   {phase: phases.PreTool, form: formDeny},
		"beforeReadFile":       {phase: phases.PreTool, form: formDeny},
		"beforeTabFileRead":    {phase: phases.PreTool, form: formDeny},
		"postToolUse":          {phase: phases.PostTool, context: true},
		"stop":                 {phase: phases.PostReceive},
		"subagentStop":         {phase: phases.PostReceive},
		"subagentStart":        {phase: phases.Spawn, form: formDeny},
	}
	for _, name := range []string{"afterAgentResponse", "afterAgentThought", "afterFileEdit", "afterMCPExecution",
		"afterShellExecution", "afterTabFileEdit", "postToolUseFailure", "preCompact", "sessionEnd", "workspaceOpen"} {
		all[name] = eventInfo{phase: phases.Audit}
	}
	return all
}

// events is written once, here, and only read.
var events = sync.OnceValue(eventTable)

// table says what each event can express, for the logic that all adapters share. What a row does not
// name, Cursor cannot carry, and it becomes a block. No row asks a person: nothing tells whether one is there.
var table = sync.OnceValue(func() adapters.Table {
	return adapters.Table{Runtime: "Cursor", Events: expressions(),
		Answers: []adapters.Form{adapters.FormExit}, Timeout: 30 * time.Second, Scans: []string{"hook_event_name"}}
})

// Table implements adapters.Adapter.
func (adapter) Table() adapters.Table { return table() }

func expressions() map[string]adapters.Expresses {
	rows := map[string]adapters.Expresses{}
	for name, info := range events() {
		row := adapters.Expresses{Blocks: !info.latches(), Context: info.context}
		switch name {
		case "preToolUse": // changed arguments come along with `permission: allow`, which may spare Cursor's question
			row.Carries, row.RewriteNeedsGrant = []string{"/args"}, true
		case "postToolUse": // of an MCP tool alone; the model wrote the arguments itself
			row.Carries, row.Records = []string{"/result"}, []string{"/args"}
		}
		if info.phase == phases.Audit {
			row.Records = []string{""}
		}
		rows[name] = row
	}
	return rows
}

// Events returns the names of all events that the adapter knows, sorted. The slice is the caller's.
func Events() []string { return slices.Sorted(maps.Keys(events())) }
