package sandbox

import (
	"time"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// Defaults of a [RunRequest].
const (
	DefaultFuel    int64 = 100 << 20
	DefaultSlice   int64 = 1 << 20
	DefaultTimeout       = 250 * time.Millisecond
	// CallTimeout is what one call of the group calls may take; that time is not
	// counted against the deadline.
	CallTimeout = 30 * time.Second
)

// RunRequest is one turn of one hook.
type RunRequest struct {
	Phase   phases.Phase
	Session *hostcalls.Session // answers the hostcalls; used by this run only
	Fuel    int64              // budget for start, _initialize and the phase; 0 means DefaultFuel
	Slice   int64              // fuel between two looks at the deadline; 0 means DefaultSlice
	// Timeout is how long the guest may run, hostcalls of the group calls not counted;
	// 0 means DefaultTimeout, < 0 none.
	Timeout time.Duration
}

// Report tells what one run took. It is complete also when the run failed.
// Everything but Duration is the same for the same module, input and answers,
// unless the run ended at a deadline.
type Report struct {
	Fuel       int64
	MemoryPeak int64 // bytes of guest memory
	Hostcalls  int   // calls of belay_v1 functions
	Duration   time.Duration
	ReturnCode int32 // what the phase function returned
}
