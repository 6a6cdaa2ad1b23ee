package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/meter"
	"github.com/belay-hooks/belay/phases"
)

// Defaults of a [RunRequest].
const (
	DefaultFuel    int64 = 100 << 20
	DefaultSlice   int64 = 1 << 20
	DefaultTimeout       = 250 * time.Millisecond
	// stopsInSlice is how often a run comes to where a collector can stop it in a slice.
	stopsInSlice = 4
	// CallTimeout is what one counted hostcall may take; that time is not counted
	// against the deadline.
	CallTimeout = 30 * time.Second
)

// RunRequest is one turn of one hook.
type RunRequest struct {
	Phase   phases.Phase
	Session *hostcalls.Session // answers the hostcalls; of this run only
	Fuel    int64              // budget for start, _initialize and the phase together; 0 means DefaultFuel
	Slice   int64              // fuel between two looks at the deadline; 0 means DefaultSlice
	// Timeout is how long the run may work: processor time of the guest and of handlers,
	// counted hostcalls and waiting for a processor excluded. 0 means DefaultTimeout, < 0
	// none (for exact replay). Where the platform does not tell the time of a thread, the
	// clock on the wall counts.
	Timeout time.Duration
	// Ceiling is how long the run may take by the clock on the wall, counted hostcalls
	// excluded: 0 means CeilingFactor times Timeout.
	Ceiling time.Duration
}

// Report tells what one run took. It is filled in also when the run failed.
// Everything but Duration, Waited and Worked is the same for the same module, input and answers of
// the host, whatever the engine and the slice, unless the run ended at a deadline.
type Report struct {
	Fuel       int64
	MemoryPeak int64         // bytes of guest memory
	Hostcalls  int           // calls of belay_v1 functions, refused ones included
	Duration   time.Duration // without the reset of its instance
	Waited     time.Duration // of Duration, in counted hostcalls
	Worked     time.Duration // what counts against RunRequest.Timeout
	ReturnCode int32         // what the phase function returned; 0 when it did not
}

// Run calls the phase's export on an instance in which nothing but start and
// _initialize has left anything. A nil error means that the
// export returned 0 and that no effect was refused: the session's effects may be
// committed. Every other end is a *phases.Fault, and nothing of the session's
// effects counts:
//
//	trap      the module trapped or aborted
//	fuel      the budget is spent
//	deadline  timeout or ceiling passed, or ctx ended, also when the export returned after that
//	memory    trapped after memory.grow was refused at the cap; calls nested too
//	          deeply; the host has no memory left
//	output    an effect was refused, the export returned another value than 0, or
//	          the guest called proc_exit
//	hostcall  a bad pointer, a call that is not allowed during start or
//	          _initialize, a handler that failed
//	load      the module does not serve the phase or is closed
//
// Its text is a fixed sentence; its cause is a *Detail. Safe for concurrent use,
// each run with a session of its own.
func (m *Module) Run(ctx context.Context, req RunRequest) (Report, error) {
	var rep Report
	if !m.enter() {
		return rep, phases.NewFault(phases.KindLoad, textClosed, ErrClosed)
	}
	defer m.leave()
	if !m.serves(req.Phase) {
		return rep, phases.NewFault(phases.KindLoad, textNoPhase, &Detail{Reason: "no export for the phase"})
	}
	if req.Session == nil || req.Fuel < 0 || req.Slice < 0 {
		return rep, phases.NewFault(phases.KindProtocol, textHostcall,
			&Detail{Reason: "run without a session or with a negative budget"})
	}
	from := time.Now()
	inv, _ := m.invocations.Get().(*invocation)
	if inv == nil {
		inv = new(invocation)
	}
	inv.begin(ctx, m, &req, from)
	inv.work.begin(from, inv.slice)
	ended := false
	defer func() {
		inv.work.end()
		if ended { // what a defect's panic leaves behind is used no more
			m.giveBack(inv)
		}
	}()
	f := inv.run(req.Phase, &rep)
	inv.close()
	if inv.until.IsZero() { // it has not begun
		inv.until = time.Now()
	}
	rep.Worked = inv.work.done(inv.until)
	rep.Hostcalls = req.Session.Hostcalls()
	rep.Duration, rep.Waited = inv.until.Sub(from), inv.work.paused
	ended = true
	if f != nil {
		return rep, f
	}
	return rep, nil
}

func (m *Module) serves(p phases.Phase) bool {
	for _, have := range m.info.Phases {
		if have == p {
			return true
		}
	}
	return false
}

// giveBack has another run use inv.
func (m *code) giveBack(inv *invocation) {
	*inv = invocation{}
	m.invocations.Put(inv)
}

func newInvocation(ctx context.Context, m *Module, req *RunRequest, now time.Time) *invocation {
	inv := new(invocation)
	inv.begin(ctx, m, req, now)
	return inv
}

// begin makes inv, which is empty, that of a run.
func (inv *invocation) begin(ctx context.Context, m *Module, req *RunRequest, now time.Time) {
	inv.ctx, inv.module, inv.session = ctx, m, req.Session
	inv.account, inv.slice = meter.Account{Limit: req.Fuel, Slice: req.Slice}, req.Slice
	if req.Fuel == 0 {
		inv.account.Limit = DefaultFuel
	}
	if req.Slice == 0 {
		inv.account.Slice, inv.slice = DefaultSlice/stopsInSlice, DefaultSlice
	}
	inv.work.budget = max(cmp.Or(req.Timeout, DefaultTimeout), 0)
	if ceiling := cmp.Or(max(req.Ceiling, 0), CeilingFactor*inv.work.budget); ceiling > 0 {
		inv.deadline = now.Add(ceiling)
	}
}

// run acquires an instance, brings it to the state after initialisation, calls
// the phase, and says how it ended.
func (inv *invocation) run(p phases.Phase, rep *Report) *phases.Fault {
	if why := inv.lateAt(inv.work.from); why != nil {
		return phases.NewFault(phases.KindDeadline, textDeadline, &Detail{Reason: "too late to start", Err: why})
	}
	ctx := inv.callContext()
	inst, err := inv.module.instances.acquire(ctx, inv)
	if err != nil {
		f := phases.FaultOf(err)
		if f == nil { // never nothing: that would be a hook without objections
			f = phases.NewFault(phases.KindTrap, textInstantiate, &Detail{Reason: "no instance", Err: err})
		}
		return f
	}
	inv.inst = inst
	code, f := inv.call(ctx, p)
	inv.until = time.Now()
	late := inv.lateAt(inv.until)
	used, over := inv.account.Settle(inst.fuelLeft())
	rep.Fuel, rep.MemoryPeak, rep.ReturnCode = used, inst.peak(), code
	inv.module.hits.take(inst, len(inv.module.metered.Regions))
	inv.module.instances.release(inst, f == nil, inv.until)
	switch {
	case f != nil:
		return f
	case late != nil: // the last stretch ends without a look at the deadline
		return phases.NewFault(phases.KindDeadline, textDeadline, &Detail{Reason: "it answered too late", Err: late})
	case over != nil:
		return phases.NewFault(phases.KindFuel, textFuel, &Detail{Reason: "spent at the last stretch", Err: over})
	case inv.session.Poison() != nil:
		return inv.session.Poison()
	case code != 0:
		return phases.NewFault(phases.KindOutput, textFailed,
			&Detail{Reason: fmt.Sprintf("%s returned %d", p, code), Fail: escape(inv.session.FailText(), maxFail)})
	}
	return nil
}

// call runs start and _initialize, unless the instance comes with them done, and
// then the phase. One budget covers all three.
func (inv *invocation) call(ctx context.Context, p phases.Phase) (int32, *phases.Fault) {
	inv.session.BeginInit()
	if done := inv.inst.initial; done != nil {
		inv.skipInit(ctx, done)
	} else {
		inv.init = true
		for _, name := range [...]string{meter.ExportStart, exportInitialize} {
			if _, f := inv.callExport(ctx, name, false); f != nil {
				return 0, f
			}
		}
		inv.module.instances.initialized(inv)
		inv.init = false
	}
	inv.session.EndInit()
	return inv.callExport(ctx, string(p), true)
}

// callExport calls an export without parameters.
func (inv *invocation) callExport(ctx context.Context, name string, required bool) (code int32, f *phases.Fault) {
	fn := inv.inst.function(name)
	switch {
	case fn == nil && required:
		return 0, phases.NewFault(phases.KindLoad, textNoPhase,
			&Detail{Reason: "the metered module has no export for " + name})
	case fn == nil:
		return 0, nil
	}
	defer func() {
		// The engine recovers by itself; what gets here is a defect of its own.
		if p := recover(); p != nil {
			code, f = 0, inv.fault(fmt.Errorf("panic: %v", p))
		}
	}()
	inv.stack[0] = 0
	if err := fn.CallWithStack(ctx, inv.stack[:]); err != nil {
		return 0, inv.fault(err)
	}
	return int32(low32(inv.stack[0])), nil
}
