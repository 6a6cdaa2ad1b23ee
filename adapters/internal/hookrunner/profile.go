// Package hookrunner is the compatibility profile of OpenClaw's hook runner (version 2026.9.6): which hooks there are,
// how it merges the values that several plugins return, how long it waits, and what it does when a plugin fails.
// The tests of adapters/openclaw hold belay's answers against it. Where OpenClaw goes on after a failure, belay's
// answer is closed: Hook.Belay says how.
package hookrunner

import "time"

// Kind says how the runner calls the handlers of a hook.
type Kind string

// The kinds of hooks.
const (
	Modify   Kind = "modify"   // one after the other, by priority; the values are merged
	Claim    Kind = "claim"    // one after the other; the first that says handled wins
	Gate     Kind = "gate"     // as Modify; the first block stops the chain
	Observe  Kind = "observe"  // all at once; values are ignored
	Sync     Kind = "sync"     // one after the other, each with the last one's message; promises are ignored
	Evaluate Kind = "evaluate" // all at once; each value counts alone
)

// Rule says how the runner merges one member of the values.
type Rule string

// The rules. prev is the value so far, in the order of the handlers.
const (
	FirstDefined    Rule = "first-defined" // the first that is not undefined
	LastDefined     Rule = "last-defined"  // the last
	StickyTrue      Rule = "sticky-true"   // true once one says true; where Hook.Stops, the chain ends
	Concat          Rule = "concat"        // texts with an empty line between them
	Frozen          Rule = "last-defined, frozen by requireApproval"
	Intersect       Rule = "intersect"        // lists of tools
	MostRestrictive Rule = "most-restrictive" // the first block; what is no decision is one
	FinalizeFirst   Rule = "finalize > revise > continue"
	Findings        Rule = "concat lists"
	Pipeline        Rule = "pipeline" // each handler gets what the one before has made
	LastWins        Rule = "later members win"
)

// Failure says what follows when a handler throws, or takes too long.
type Failure string

// Failures.
const (
	FailsClosed Failure = "closed" // the action does not happen
	FailsOpen   Failure = "open"   // the runner logs it, and goes on with the others' values
)

// Belay says how belay's plugin answers where no decision could be made.
type Belay string

// Belay's answers. None of them throws into a hook that fails open.
const (
	Returns Belay = "returns the block" // a value that the runner's rules keep, whatever other plugins return
	Latches Belay = "latches"           // the hook has no such value: the session is closed
)

// Hook is the profile of one hook.
type Hook struct {
	Kind    Kind
	Members map[string]Rule // of the returned value, without those that the runner ignores
	Stops   string          // the member whose true ends the chain; "" where none does
	Wait    time.Duration   // for each handler, unless it is registered with another; 0: without an end
	Fails   Failure
	Belay   Belay
}

// Hooks returns the profile of each hook, by its name. The map is the caller's.
func Hooks() map[string]Hook {
	const s15, s30 = 15 * time.Second, 30 * time.Second
	context := map[string]Rule{"prependContext": Concat, "appendContext": Concat}
	claim := map[string]Rule{"handled": FirstDefined}
	block := map[string]Rule{"block": StickyTrue, "blockReason": LastDefined}
	message := map[string]Rule{"message": Pipeline}
	t := map[string]Hook{
		"before_agent_run": {Gate, map[string]Rule{"outcome": MostRestrictive}, "outcome", s15, FailsClosed, Returns},
		"before_tool_call": {Gate, map[string]Rule{"params": Frozen, "block": StickyTrue, "blockReason": LastDefined,
			"requireApproval": FirstDefined}, "block", s15, FailsClosed, Returns},
		"before_install": {Gate, map[string]Rule{"findings": Findings, "block": block["block"],
			"blockReason": block["blockReason"]}, "block", s15, FailsClosed, Returns},

		"before_model_resolve": {Modify, map[string]Rule{"modelOverride": FirstDefined, "providerOverride": FirstDefined},
			"", 0, FailsOpen, Latches},
		"agent_turn_prepare":            {Modify, context, "", 0, FailsOpen, Latches},
		"heartbeat_prompt_contribution": {Modify, context, "", 0, FailsOpen, Latches},
		"before_prompt_build": {Modify, map[string]Rule{"systemPrompt": FirstDefined, "prependContext": Concat,
			"appendContext": Concat, "prependSystemContext": Concat, "appendSystemContext": Concat, "toolsAllow": Intersect},
			"", s15, FailsOpen, Latches},
		"before_agent_finalize": {Modify, map[string]Rule{"action": FinalizeFirst, "reason": Concat, "retry": FirstDefined},
			"", s15, FailsOpen, Latches},
		"message_sending": {Gate, map[string]Rule{"content": LastDefined, "cancel": StickyTrue, "cancelReason": LastDefined},
			"cancel", s15, FailsOpen, Returns},
		"reply_payload_sending": {Gate, map[string]Rule{"payload": Pipeline, "cancel": StickyTrue, "reason": LastDefined},
			"cancel", s15, FailsOpen, Returns},
		"resolve_exec_env":         {Modify, map[string]Rule{"*": LastWins}, "", s15, FailsOpen, Latches},
		"subagent_delivery_target": {Modify, map[string]Rule{"origin": FirstDefined}, "", 0, FailsOpen, Latches},
		"skill_proposal_evaluate": {Evaluate, map[string]Rule{"decision": StickyTrue}, "", 120 * time.Second, FailsOpen,
			Returns},

		"before_agent_reply": {Claim, claim, "handled", 0, FailsOpen, Returns},
		"inbound_claim":      {Claim, claim, "handled", 0, FailsOpen, Returns},
		"before_dispatch":    {Claim, claim, "handled", 0, FailsOpen, Returns},
		"reply_dispatch":     {Claim, claim, "handled", 0, FailsOpen, Returns},

		"tool_result_persist": {Sync, message, "", 0, FailsOpen, Returns},
		"before_message_write": {Sync, map[string]Rule{"message": Pipeline, "block": StickyTrue}, "block", 0, FailsOpen,
			Returns},
	}
	for name, wait := range map[string]time.Duration{"agent_end": s30, "before_compaction": s30, "after_compaction": s30,
		"skill_changed": s30, "skill_proposal_changed": s30, "channel_pairing_requested": 2 * time.Second,
		"gateway_stop": 5 * time.Second, "after_tool_call": 0, "before_reset": 0, "cron_changed": 0, "cron_reconciled": 0,
		"gateway_start": 0, "llm_input": 0, "llm_output": 0, "message_received": 0, "message_sent": 0, "model_call_ended": 0,
		"model_call_started": 0, "session_end": 0, "session_start": 0, "subagent_ended": 0, "subagent_progress": 0,
		"subagent_spawned": 0} {
		t[name] = Hook{Kind: Observe, Wait: wait, Fails: FailsOpen, Belay: Latches}
	}
	return t
}
