package kernel

import (
	"errors"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// errHookClock: InvokeOptions.HookClock is outside of what an invocation's time may be.
var errHookClock = errors.New("the clock for hooks is not between the years 1970 and 2200")

// checkClock refuses a HookClock that the input document or time_now cannot say.
func (o *InvokeOptions) checkClock() error {
	if o.HookClock != nil && (o.HookClock.Year() < 1970 || o.HookClock.Year() > 2200) {
		return errHookClock
	}
	return nil
}

// KeepTime has the hooks read the invocation's own time as the time, when it has one,
// instead of taking that for a claim. It is for an invocation that is run again or made
// up: the one at hand is decided by the host's clock.
func (o *InvokeOptions) KeepTime(inv *phases.Invocation) {
	if at := inv.Time; !at.IsZero() {
		inv.Time, o.HookClock = time.Time{}, &at
	}
}

// setClock turns the caller's time into a claim, and gives hooks the host's
// clock: a working-hours rule or a daily budget must not go by what an agent says.
func (i *invocation) setClock(inv *phases.Invocation) {
	if !inv.Time.IsZero() {
		inv.ReportedTime = inv.Time
	}
	inv.Time = i.at.Wall
	if i.options.HookClock != nil {
		inv.Time = *i.options.HookClock
	}
	inv.Time, inv.ReportedTime = inv.Time.UTC().Round(0), inv.ReportedTime.UTC().Round(0)
}
