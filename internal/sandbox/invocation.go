package sandbox

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/meter"
	"github.com/belay-hooks/belay/phases"
)

// invocation is the state of one run. Host functions find it in the context of
// the call, never in the instance: one compiled host module serves all runs. The
// module uses it again for another run, so that nothing keeps it beyond its own.
type invocation struct {
	ctx      context.Context // the caller's
	module   *Module
	session  *hostcalls.Session
	account  meter.Account
	inst     *instance
	deadline time.Time // the ceiling on the wall; zero: none
	until    time.Time // when the guest had ended; zero: it has not
	work     work
	init     bool       // start or _initialize is running
	initial  initRecord // what they did to the session
	slice    int64      // fuel after which the run gives way and looks at the deadline
	yielded  int64      // the end of the slice that was used when it last did
	stdio    [2]lineBuffer

	// hookCtx carries the deadline to handlers; remade when the deadline moves.
	hookCtx *deadlineContext

	// What would have to be allocated for each call otherwise. No handler sees guestCtx.
	guestCtx runContext
	args     hostcalls.Args // of the hostcall under way
	stack    [1]uint64

	// ended is the fault with which the host ended the guest. It is kept here, too,
	// so that nothing depends on how the engine wraps a panic.
	ended *phases.Fault
}

type invocationKey struct{}

// runContext is the context of the calls into the guest.
type runContext struct {
	context.Context // the caller's
	inv             *invocation
}

// Value implements context.Context. The engine asks for keys of its own in each call; what a caller may have put under
// them is not for hooks.
func (c *runContext) Value(key any) any {
	if key == (invocationKey{}) {
		return c.inv
	}
	return nil
}

func (inv *invocation) callContext() context.Context {
	inv.guestCtx = runContext{inv.ctx, inv}
	return &inv.guestCtx
}

func invocationOf(ctx context.Context) *invocation {
	if c, ok := ctx.(*runContext); ok { // as the engine hands it over; what wraps it finds the same by its key
		return c.inv
	}
	inv, _ := ctx.Value(invocationKey{}).(*invocation)
	if inv == nil {
		// Only a call into the instance that did not come from Run could get here.
		panic(phases.NewFault(phases.KindHostcall, textHostcall, errors.New("call outside of a run")))
	}
	return inv
}

// end ends the guest. It does not return.
func (inv *invocation) end(f *phases.Fault) {
	if inv.ended == nil {
		inv.ended = f
	}
	panic(inv.ended)
}

func (inv *invocation) endf(k phases.Kind, text, why string) {
	inv.end(phases.NewFault(k, text, &Detail{Reason: why}))
}

// refill is the body of the yield import and of every charge that leaves the
// counter below zero. It is the only place where a guest gives way: the
// scheduler and the garbage collector get their turn, and the deadline is kept.
// A collector that waits stops the run here each time, in the host's code. To give
// way to others takes as long as a short run, since the thread goes with the
// goroutine; so a run does it once for each slice that it has used, not before.
func (inv *invocation) refill(left int64) int64 {
	next, err := inv.account.Refill(left)
	if err != nil {
		inv.inst.setFuel(next)
		inv.end(phases.NewFault(phases.KindFuel, textFuel, err))
	}
	more := inv.account.Used(next) - inv.yielded
	if more < inv.slice {
		return next
	}
	inv.yielded += more - more%inv.slice // counted from where it looked, a guest would reach two slices without a look
	runtime.Gosched()
	if why := inv.late(); why != nil {
		inv.inst.setFuel(next)
		inv.end(phases.NewFault(phases.KindDeadline, textDeadline, why))
	}
	return next
}

// late says why the run must stop now, or nil.
func (inv *invocation) late() error { return inv.lateAt(time.Now()) }

func (inv *invocation) lateAt(now time.Time) error {
	if err := inv.ctx.Err(); err != nil {
		return context.Cause(inv.ctx)
	}
	if !inv.deadline.IsZero() && !now.Before(inv.deadline) {
		return context.DeadlineExceeded
	}
	if inv.work.spent(now) {
		return errWork
	}
	return nil
}

// charge takes n from the guest's counter during a hostcall; the metering pass
// reloads it when the call returns.
func (inv *invocation) charge(n int64) {
	left := inv.inst.fuelLeft()
	if n = min(max(n, 0), 1<<56); left-n >= 0 {
		inv.inst.setFuel(left - n)
		return
	}
	inv.inst.setFuel(inv.refill(left - n))
}

// handlerContext is the context for handlers that count against the deadline.
func (inv *invocation) handlerContext() context.Context {
	if inv.deadline.IsZero() {
		return inv.ctx
	}
	if inv.hookCtx == nil {
		inv.hookCtx = &deadlineContext{Context: inv.ctx, at: inv.deadline}
	}
	return inv.hookCtx
}

// outside runs f, a call that reaches beyond the host, and moves the deadline
// on by its duration.
func (inv *invocation) outside(f func(context.Context)) {
	ctx, cancel := context.WithTimeout(inv.ctx, CallTimeout)
	defer cancel()
	took := inv.work.pause(func() { f(ctx) })
	if inv.deadline.IsZero() {
		return
	}
	inv.deadline = inv.deadline.Add(took)
	inv.endHookCtx()
}

func (inv *invocation) endHookCtx() {
	if inv.hookCtx != nil {
		inv.hookCtx.end()
		inv.hookCtx = nil
	}
}

// close gives back what the run holds besides its instance.
func (inv *invocation) close() {
	inv.endHookCtx()
	for fd := range inv.stdio {
		inv.stdio[fd].flush(inv, fd+1)
	}
}

// memory is the guest's memory as it is now. Slices of it must not outlive the
// host function that asked.
func (inv *invocation) memory() api.Memory { return inv.inst.memory }
