package kernel

import "github.com/belay-hooks/belay/client/wire"

// The names below are for the tests of this package, which are written as its users see it.
const (
	CeilingFactor      = ceilingFactor
	DefaultChainBudget = defaultChainBudget
	DefaultFuel        = defaultFuel
	DefaultHookTimeout = defaultHookTimeout
	MaxHookTimeout     = maxHookTimeout
	MaxToolDepth       = maxToolDepth
	NoteAfterwards     = noteAfterwards
)

// LeaseRequest is leaseRequest.
type LeaseRequest = leaseRequest

// OnWire is onWire.
func (l *Latch) OnWire() wire.Latch { return l.onWire() }

// Denial is denial.
func (l *Latch) Denial() string { return l.denial() }
