package geminicli

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
	formNone  form = iota // cannot be blocked, and the person can be told (systemMessage)
	formTools             // cannot be blocked: the request goes out, and the model is told to call no tool
	formDeny              // decision deny + reason; after a tool the reason stands for the output
	formStop              // continue false + stopReason; decision deny and exit 2 mean "go on" here
)

// eventInfo describes one event of Gemini CLI.
type eventInfo struct {
	phase   phases.Phase
	form    form
	context bool // hookSpecificOutput.additionalContext reaches the model
}

// latches reports whether only a latch of the session holds what the event is about.
func (i eventInfo) latches() bool { return i.form == formNone || i.form == formTools }

// eventTable returns all events. Names and phases are those of testdata/phase-map.json; a test
// compares them.
func eventTable() map[string]eventInfo {
	return map[string]eventInfo{
		"SessionStart":        {phase: phases.PrePlan, form: formNone, context: true},
		"BeforeAgent":         {phase: phases.PrePlan, form: formDeny, context: true},
		"BeforeModel":         {phase: phases.PreSend, form: formDeny},
		"BeforeToolSelection": {phase: phases.PreSend, form: formTools},
		"AfterModel":          {phase: phases.PostReceive, form: formDeny},
		"BeforeTool":          {phase: phases.PreTool, form: formDeny},
		"AfterTool":           {phase: phases.PostTool, form: formDeny, context: true},
		"AfterAgent":          {phase: phases.PostReceive, form: formStop},
		"Notification":        {phase: phases.Audit, form: formNone},
		"PreCompress":         {phase: phases.Audit, form: formNone},
		"SessionEnd":          {phase: phases.Audit, form: formNone},
	}
}

// events is written once, here, and only read.
var events = sync.OnceValue(eventTable)

// table says what each event can express, for the logic that all adapters share. What a row does
// not name, Gemini CLI cannot carry, and it becomes a block. No row asks a person: the payload does
// not tell whether there is one, and a headless run whose hook asks never ends.
var table = sync.OnceValue(func() adapters.Table {
	return adapters.Table{Runtime: "Gemini CLI", Events: expressions(), Spawn: spawnStep,
		Answers: []adapters.Form{adapters.FormExit}, Timeout: 30 * time.Second, Scans: []string{"hook_event_name"}}
})

// Table implements adapters.Adapter.
func (adapter) Table() adapters.Table { return table() }

func expressions() map[string]adapters.Expresses {
	rows := map[string]adapters.Expresses{}
	for name, info := range events() {
		row := adapters.Expresses{Blocks: !info.latches(), Context: info.context}
		switch name {
		case "BeforeTool": // the prompt of the spawn tool is one of its arguments
			row.Carries = []string{"/args", "/child/prompt"}
		case "AfterTool": // the model wrote the arguments itself: what a hook redacts there is for the record
			row.Carries, row.Records = []string{"/result"}, []string{"/args", "/original_args"}
		case "BeforeModel":
			row.Carries, row.CarriesMore = []string{"/messages"}, []string{"/model", "/params/temperature",
				"/params/topP", "/params/topK", "/params/maxOutputTokens"}
		case "AfterModel":
			row.Carries = []string{"/text"}
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
