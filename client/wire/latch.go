package wire

import (
	"time"

	"github.com/belay-hooks/belay/phases"
)

// Latch is a session in which everything that can be blocked is, or what Scope says.
type Latch struct {
	Runtime    string      `json:"runtime"`
	Session    string      `json:"session"`
	Reason     string      `json:"reason"`
	Kind       phases.Kind `json:"kind"` // of the verdict
	DecidedBy  string      `json:"decided_by"`
	Invocation string      `json:"invocation"` // the invocation that could not be blocked
	Since      time.Time   `json:"since"`

	ID    string           `json:"id,omitzero"`    // of the event that latched; "" in latches of older versions
	Cause phases.LatchKind `json:"cause"`          // the kind of the latch
	Event string           `json:"event,omitzero"` // id of the refusal or verdict; "" when it was not recorded
	Scope string           `json:"scope"`          // session, unnamed (what names no session) or runtime (all)
	Ends  phases.LatchEnd  `json:"ends,omitzero"`  // what ends it beside a person
}

// Session names a session of a runtime.
type Session struct {
	Runtime string `json:"runtime"`
	Session string `json:"session"`
}
