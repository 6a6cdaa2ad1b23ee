package phases

import "slices"

// Phase names the moment in an agent's life at which a hook is asked.
type Phase string

// The eight phases, in the order in which a turn usually passes through them.
const (
	PrePlan         Phase = "pre_plan"         // a message arrived, nothing is planned yet
	PreSend         Phase = "pre_send"         // a request is about to go to the model
	PostReceive     Phase = "post_receive"     // the model answered
	PreTool         Phase = "pre_tool"         // a tool is about to run
	PostTool        Phase = "post_tool"        // a tool has run
	StateTransition Phase = "state_transition" // a stage, session, configuration… is about to change
	Spawn           Phase = "spawn"            // a child agent is about to start
	Audit           Phase = "audit"            // the record is about to be stored
)

// Phases returns all phases in canonical order. The slice is the caller's.
func Phases() []Phase {
	return []Phase{PrePlan, PreSend, PostReceive, PreTool, PostTool, StateTransition, Spawn, Audit}
}

// Valid reports whether p is one of the eight phases.
func (p Phase) Valid() bool { return slices.Contains(Phases(), p) }
