package hostcalls

import (
	"context"

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
// Base and PerIn are charged before the handler runs, PerOut and Result.Fuel after it.
type Cost struct {
	Base   int64
	PerIn  int64 // per byte copied in
	PerOut int64 // per byte copied out
}

// Args are the decoded arguments of one call, in the order of the signature.
type Args struct {
	In  [2][]byte // copies: the handler may keep them
	I32 int32     // the plain number, when the signature has one
	Cap uint32    // capacity of the ParamOut range, length of the ParamFill range
}

// Result is a handler's answer. Code is returned to the guest: an Errno when
// negative. When the signature has a ParamOut or ParamFill, Code of a success is
// replaced by the sandbox: the full length of Out, or 0.
type Result struct {
	Code int64
	Out  []byte
	Fuel int64 // charged in addition to the table's cost
}

// Handler answers one call. A non-nil error is a *phases.Fault and ends the
// turn. Handlers obey ctx, keep no reference to Args.In beyond what they copy,
// and never block longer than ctx allows.
type Handler func(ctx context.Context, s *Session, a *Args) (Result, error)

// Call is one row of the table.
type Call struct {
	Name       string
	Group      Group
	Capability string         // empty for the free group
	LeastTier  phases.Tier    // least tier that can be granted the capability
	Phases     []phases.Phase // where it is legal; nil means everywhere
	Params     []Param
	Result     ResultType
	Cost       Cost
	MaxIn      [2]int // bytes per ParamIn; beyond it the call answers TooLarge without copying
	Counted    bool   // counts towards the quota of gated calls
	InInit     bool   // works during start and _initialize
	Doc        string // one line for ABI.md and `belay hook inspect`
	Handle     Handler
}
