package replay

import (
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
)

// Mode says which differences count.
type Mode string

const (
	Exact    Mode = "exact"    // anything: every call, answer, effect, and all fuel
	Decision Mode = "decision" // all that the caller acts upon
	Budget   Mode = "budget"   // that, and fuel or memory that changed
)

// Valid reports whether the mode is one of the three.
func (m Mode) Valid() bool { return m == Exact || m == Decision || m == Budget }

// Subjects of a difference.
const (
	WhatDecision  = "decision"
	WhatRewrite   = "rewrite" // the final action
	WhatVerdict   = "verdict" // anything else that the caller acts upon
	WhatInput     = "input"   // of a hook
	WhatCall      = "call"
	WhatMissing   = "missing call"
	WhatExtra     = "extra call"
	WhatReordered = "reordered call"
	WhatAnswer    = "answer" // a request that the recording has no answer to
	WhatOutcome   = "outcome"
	WhatFuel      = "fuel"
	WhatMemory    = "memory"
	WhatTurn      = "turn" // a turn too many, too few, or out of place
	WhatPartial   = "incomplete"
)

// Difference is one difference from the recording, whose side is Want.
type Difference struct {
	What  string
	Where string // hook and pass, a call, or a member of the verdict
	Want  string
	Got   string
}

// TurnResult is one turn of either side.
type TurnResult struct {
	Hook       string
	Pass       phases.Pass
	Base, Now  *TurnSide // nil: there was no such turn
	NotCompare bool      // its recording ended at a deadline, which has no fuel to compare
}

// TurnSide is the decision of a turn, with its fuel and memory.
type TurnSide struct {
	Digest     string
	Decision   phases.HookDecision
	Fuel       int64
	MemoryPeak int64
}

// Result is one invocation that was replayed.
type Result struct {
	Invocation  phases.Invocation
	Base, Now   recording.Verdict
	Differences []Difference
	Turns       []TurnResult
	Unknown     []string // requests of the candidate that the recording has no answer to
}

// Same reports whether nothing differs.
func (r *Result) Same() bool { return len(r.Differences) == 0 }

func (r *Result) differ(what, where, want, got string) {
	r.Differences = append(r.Differences, Difference{What: what, Where: where, Want: want, Got: got})
}
