package opencode

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
	formThrow form = iota // the plugin throws: the step fails
	formSet               // the plugin puts the reason, or an end, in place of what was to come
	formReply             // the plugin rejects the permission
	formNone              // nothing can be blocked: the session is latched
)

// eventInfo describes one hook point.
type eventInfo struct {
	phase   phases.Phase
	form    form
	carries []string // for each step, the pointer at or below which a change reaches OpenCode
	context bool     // text for the model reaches it
	asks    bool     // OpenCode asks its person itself
}

// eventTable returns all hook points. Names and phases are those of testdata/phase-map.json; a test
// compares them. permission.asked is the event of the bus that stands in place of permission.ask,
// which OpenCode never calls.
func eventTable() map[string]eventInfo {
	return map[string]eventInfo{
		"chat.message":                         {phase: phases.PrePlan, carries: []string{"/text"}, context: true},
		"command.execute.before":               {phase: phases.PrePlan, carries: []string{"/text"}},
		"chat.params":                          {phase: phases.PreSend, carries: []string{"/params"}},
		"chat.headers":                         {phase: phases.PreSend, carries: []string{"/headers"}},
		"experimental.chat.messages.transform": {phase: phases.PreSend, carries: []string{"/messages"}},
		"experimental.chat.system.transform": {phase: phases.PreSend, carries: []string{"/system"},
			context: true},
		"experimental.provider.small_model": {phase: phases.PreSend},
		"tool.definition":                   {phase: phases.PreSend},
		"experimental.text.complete":        {phase: phases.PostReceive, form: formSet, carries: []string{"/text"}},
		"tool.execute.before":               {phase: phases.PreTool, carries: []string{"/args", "/child/prompt"}},
		"shell.env":                         {phase: phases.PreTool, carries: []string{"/args/env"}},
		"permission.ask":                    {phase: phases.PreTool, form: formReply, asks: true},
		"permission.asked":                  {phase: phases.PreTool, form: formReply, asks: true},
		"tool.execute.after":                {phase: phases.PostTool, carries: []string{"/result"}, context: true},
		"experimental.session.compacting":   {phase: phases.StateTransition, carries: []string{"/data"}},
		"experimental.compaction.autocontinue": {phase: phases.StateTransition, form: formSet,
			carries: []string{"/data"}},
		"config":  {phase: phases.Audit, form: formNone},
		"dispose": {phase: phases.Audit, form: formNone},
		"event":   {phase: phases.Audit, form: formNone},
	}
}

// events is written once, here, and only read.
var events = sync.OnceValue(eventTable)

// table says what each event can express, for the logic that all adapters share. The plugin holds
// its own deadline: OpenCode waits for a plugin without an end.
var table = sync.OnceValue(func() adapters.Table {
	return adapters.Table{Runtime: "OpenCode", Events: expressions(), Spawn: spawnStep,
		Answers: []adapters.Form{adapters.FormExit, adapters.FormThrow, adapters.FormMutation},
		Timeout: 30 * time.Second, Scans: []string{"event"}}
})

// Table implements adapters.Adapter.
func (adapter) Table() adapters.Table { return table() }

func expressions() map[string]adapters.Expresses {
	rows := map[string]adapters.Expresses{}
	for name, info := range events() {
		row := adapters.Expresses{Blocks: info.form != formNone, Asks: info.asks, Carries: info.carries,
			Context: info.context}
		switch info.phase {
		case phases.PostTool: // the model wrote the arguments itself: what a hook redacts there is for the record
			row.Records = []string{"/args", "/original_args"}
		case phases.Audit:
			row.Records = []string{""}
		}
		rows[name] = row
	}
	return rows
}

// Events returns the names of all events that the adapter knows, sorted. The slice is the caller's.
func Events() []string { return slices.Sorted(maps.Keys(events())) }
