package openclawinterceptors

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// eventInfo describes one event.
type eventInfo struct {
	phase   phases.Phase
	blocks  bool
	carries []string // for each step, the pointer at or below which a change reaches the host
	more    []string // further ones of the first step
	context bool     // text for the model reaches it
}

func eventTable() map[string]eventInfo {
	return map[string]eventInfo{
		"message.before": {phase: phases.PrePlan, carries: []string{"/text"}, context: true},
		"params.before":  {phase: phases.PreSend, carries: []string{"/params"}, more: []string{"/model"}},
		"tool.before":    {phase: phases.PreTool, blocks: true, carries: []string{"/args", "/child/prompt"}},
		"tool.after":     {phase: phases.PostTool, blocks: true, carries: []string{"/result"}},
	}
}

// events is written once, here, and only read.
var events = sync.OnceValue(eventTable)

// table says what each event can express, for the logic that all adapters share.
var table = sync.OnceValue(func() adapters.Table {
	return adapters.Table{Runtime: "OpenClaw's interceptors", Events: expressions(), Spawn: spawnStep,
		Answers: []adapters.Form{adapters.FormExit, adapters.FormMutation}, Timeout: 30 * time.Second,
		Scans: []string{"event"}}
})

// Table implements adapters.Adapter.
func (adapter) Table() adapters.Table { return table() }

func expressions() map[string]adapters.Expresses {
	rows := map[string]adapters.Expresses{}
	for name, info := range events() {
		row := adapters.Expresses{Blocks: info.blocks, Carries: info.carries, CarriesMore: info.more, Context: info.context}
		if info.phase == phases.PostTool {
			row.Records = []string{"/args", "/original_args"}
		}
		rows[name] = row
	}
	return rows
}

// Events returns the names of all events that the adapter knows, sorted. The slice is the caller's.
func Events() []string { return slices.Sorted(maps.Keys(events())) }
