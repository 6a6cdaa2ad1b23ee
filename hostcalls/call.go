package hostcalls

import (
	"context"
	"slices"

	"github.com/belay-hooks/belay/phases"
)

// Module is the import module of guest ABI version 1.
const Module = "belay_v1"

// Errno is what a call answers when it does not succeed.
type Errno int32

const (
	Absent      Errno = -1 // no such value
	Denied      Errno = -2 // not granted
	Invalid     Errno = -3 // malformed argument
	Budget      Errno = -4 // a quota of this turn is spent
	TooLarge    Errno = -5 // beyond a size limit
	Pending     Errno = -6 // waits for a person
	Unavailable Errno = -7 // the host does not offer it here
)

// String names the errno as the SDKs do.
func (e Errno) String() string {
	names := [...]string{"ok", "absent", "denied", "invalid", "budget", "too large", "pending", "unavailable"}
	if e > 0 || int(-e) >= len(names) {
		return "unknown"
	}
	return names[-e]
}

// Param is how a group of core parameters is to be decoded.
type Param uint8

const (
	ParamI32  Param = iota // one i32: a plain number
	ParamIn                // two i32, pointer and length: bytes copied in before the handler runs
	ParamOut               // two i32, pointer and capacity: Result.Out is copied when it fits, else nothing
	ParamFill              // two i32, pointer and length: Result.Out has exactly that length and is copied
)

// ResultType is the core type of a call's result.
type ResultType uint8

const (
	ResultI32 ResultType = iota
	ResultI64
)

// Group is the family that a call belongs to.
type Group string

const (
	GroupFree     Group = "free"
	GroupEffects  Group = "effects"
	GroupAnalysis Group = "analysis"
	GroupCalls    Group = "calls"
)

// Cost is what a call is charged in fuel, beside the guest's own instructions.
// Base and PerIn are charged before the call runs, PerOut and Result.Fuel after it.
// A turn that cannot pay ends with kind fuel.
type Cost struct {
	Base   int64
	PerIn  int64 // per byte copied in
	PerOut int64 // per byte copied out
}

// Args are the decoded arguments of one call, in the order of the signature.
//
// Of a ParamIn longer than the row's MaxIn only the first MaxIn bytes are
// copied (the range check is on the whole range) and Long is set; Session.Do
// decides what that means.
type Args struct {
	In   [2][]byte // copies: the handler may keep them
	Long [2]bool   // the guest's argument was longer than MaxIn
	I32  int32     // the plain number, when the signature has one
	Cap  uint32    // capacity of the ParamOut range, length of the ParamFill range
	Fuel int64     // what the guest has left; 0 when that is not known
}

// Result is a call's answer. Code is returned to the guest: an Errno when
// negative. When the signature has a ParamOut or ParamFill, Code of a success is
// replaced by the sandbox: the full length of Out, or 0.
type Result struct {
	Code int64
	Out  []byte // for the guest's memory; the sandbox copies it and does not keep it
	Fuel int64  // charged in addition to the table's cost
}

// Handler answers one call that Session.Do has admitted. A non-nil error is a
// *phases.Fault and ends the turn. Handlers obey ctx and never block longer
// than ctx allows.
type Handler func(ctx context.Context, s *Session, a *Args) (Result, error)

// Call is one row of the table.
type Call struct {
	Name       string
	Group      Group
	Capability string         // its own name; empty for the free group
	LeastTier  phases.Tier    // least tier that can be granted the capability
	Phases     []phases.Phase // where it is legal; nil means everywhere
	Params     []Param
	Result     ResultType
	Cost       Cost
	MaxIn      [2]int // bytes copied per ParamIn, at most
	Cuts       bool   // a longer argument is cut there; otherwise it is refused with TooLarge
	Waits      bool   // may wait for what is outside of the process: files, a store, a network, a person
	Counted    bool   // counts towards the quota of gated calls (Limits.Calls)
	Replies    bool   // answers JSON in the reply buffer; Code is its length
	InInit     bool   // works during start and _initialize
	Doc        string // one line for ABI.md and `belay hook inspect`
	Handle     Handler
}

// LegalIn reports whether the call may be made in the phase.
func (c *Call) LegalIn(p phases.Phase) bool {
	return c.Phases == nil || slices.Contains(c.Phases, p)
}

// Arity is the number of i32 core parameters.
func (c *Call) Arity() int {
	n := 0
	for _, p := range c.Params {
		if p == ParamI32 {
			n++
		} else {
			n += 2
		}
	}
	return n
}
