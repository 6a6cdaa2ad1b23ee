package openclaw

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// form says in which way a hook is blocked.
type form int

const (
	formNone   form = iota // nothing can be blocked: the session is latched
	formReturn             // the value that the plugin returns keeps the action from happening
	formEnd                // the value ends the turn, and its text stays: the session is latched besides
)

// hookInfo describes one hook.
type hookInfo struct {
	phase   phases.Phase
	form    form
	carries []string // for each step, the pointer at or below which a change reaches OpenClaw
	context bool     // text for the model reaches it
	asks    bool     // OpenClaw asks its person itself
	records bool     // a change of the whole action is for the record alone
}

// hookTable returns all hooks. Names and phases are those of testdata/phase-map.json; a test compares
// them. agent_tool_result is no hook of OpenClaw's list: it is the tool-result middleware, which alone
// changes what the model reads of a result. before_agent_start and subagent_spawning are of older
// versions.
func hookTable() map[string]hookInfo {
	t := map[string]hookInfo{
		"before_agent_run":   {phase: phases.PrePlan, form: formReturn},
		"before_agent_reply": {phase: phases.PrePlan, form: formReturn},
		"inbound_claim":      {phase: phases.PrePlan, form: formReturn},
		"before_dispatch":    {phase: phases.PrePlan, form: formReturn},
		"reply_dispatch":     {phase: phases.PrePlan, form: formReturn},

		"before_model_resolve":          {phase: phases.PreSend, carries: []string{"/model"}},
		"before_prompt_build":           {phase: phases.PreSend, context: true},
		"agent_turn_prepare":            {phase: phases.PreSend, context: true},
		"heartbeat_prompt_contribution": {phase: phases.PreSend, context: true},
		"before_agent_start":            {phase: phases.PreSend, context: true},

		"before_agent_finalize": {phase: phases.PostReceive, form: formEnd},
		"message_sending":       {phase: phases.PostReceive, form: formReturn, carries: []string{"/text"}},
		"reply_payload_sending": {phase: phases.PostReceive, form: formReturn, carries: []string{"/text"}},

		"before_tool_call": {phase: phases.PreTool, form: formReturn, carries: []string{"/args", "/child/prompt"},
			asks: true},
		"resolve_exec_env": {phase: phases.PreTool, carries: []string{"/args/env"}},

		"agent_tool_result":   {phase: phases.PostTool, form: formReturn, carries: []string{"/result"}, context: true},
		"tool_result_persist": {phase: phases.PostTool, form: formReturn, carries: []string{"/result"}},
		"after_tool_call":     {phase: phases.PostTool, records: true},

		"before_install":          {phase: phases.StateTransition, form: formReturn},
		"skill_proposal_evaluate": {phase: phases.StateTransition, form: formReturn},
		"before_message_write": {phase: phases.StateTransition, form: formReturn,
			carries: []string{"/data/message"}},
		"session_start":     {phase: phases.StateTransition},
		"session_end":       {phase: phases.StateTransition},
		"before_reset":      {phase: phases.StateTransition},
		"before_compaction": {phase: phases.StateTransition},
		"after_compaction":  {phase: phases.StateTransition},

		"subagent_spawning":        {phase: phases.Spawn, form: formReturn},
		"subagent_delivery_target": {phase: phases.Spawn},
		"subagent_spawned":         {phase: phases.Spawn},
		"subagent_progress":        {phase: phases.Spawn},
		"subagent_ended":           {phase: phases.Spawn},
	}
	for _, name := range []string{"agent_end", "channel_pairing_requested", "cron_changed", "cron_reconciled",
		"gateway_start", "gateway_stop", "llm_input", "llm_output", "message_received", "message_sent",
		"model_call_ended", "model_call_started", "skill_changed", "skill_proposal_changed"} {
		t[name] = hookInfo{phase: phases.Audit, records: true}
	}
	return t
}

// hooks is written once, here, and only read.
var hooks = sync.OnceValue(hookTable)

// table says what each hook can express, for the logic that all adapters share. The plugin holds its
// own deadline, and asks OpenClaw to wait longer than that.
var table = sync.OnceValue(func() adapters.Table {
	return adapters.Table{Runtime: "OpenClaw", Events: expressions(), Spawn: spawnStep,
		Answers: []adapters.Form{adapters.FormExit, adapters.FormThrow, adapters.FormMutation},
		Timeout: 30 * time.Second, Scans: []string{"hook"}}
})

// Table implements adapters.Adapter.
func (adapter) Table() adapters.Table { return table() }

func expressions() map[string]adapters.Expresses {
	rows := map[string]adapters.Expresses{}
	for name, info := range hooks() {
		row := adapters.Expresses{Blocks: info.form == formReturn, Asks: info.asks, Carries: info.carries,
			Context: info.context}
		if info.phase == phases.PostTool { // the model wrote the arguments: a redaction is for the record
			row.Records = []string{"/args", "/original_args"}
		}
		if info.records {
			row.Records = []string{""}
		}
		rows[name] = row
	}
	return rows
}

// Events returns the names of all hooks that the adapter knows, sorted. The slice is the caller's.
func Events() []string { return slices.Sorted(maps.Keys(hooks())) }

// Registered returns the names of the hooks that belay's plugin registers, sorted: all but those of
// older versions, which the client does not know. The slice is the caller's.
func Registered() []string {
	return slices.DeleteFunc(Events(), func(name string) bool {
		return name == "before_agent_start" || name == "subagent_spawning"
	})
}
