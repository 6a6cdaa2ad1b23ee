package sandbox

import (
	"bytes"
	"context"

	"github.com/belay-hooks/belay/hostcalls"
)

// Bounds of what initialisation may leave in a session for its instance to be used by other runs: a run repeats it all.
const (
	maxInitSteps = 64
	maxInitBytes = 32 << 10
)

// initStep is one thing that start or _initialize did to the session: a hostcall, or a line that they printed.
type initStep struct {
	call *hostcalls.Call // nil: a line
	args hostcalls.Args
	line hostcalls.LogEntry
}

// initRecord collects what start and _initialize do to the session of one run.
type initRecord struct {
	steps []initStep
	bytes int
	over  bool // more than is repeated
}

func (r *initRecord) add(s initStep) {
	r.bytes += len(s.args.In[0]) + len(s.args.In[1]) + len(s.line.Text)
	if r.over = r.over || r.bytes > maxInitBytes || len(r.steps) == maxInitSteps; r.over {
		r.steps = nil
		return
	}
	r.steps = append(r.steps, s)
}

func (r *initRecord) called(c *hostcalls.Call, a *hostcalls.Args) {
	step := initStep{call: c, args: *a}
	for i := range a.In {
		step.args.In[i] = bytes.Clone(a.In[i])
	}
	r.add(step)
}

// initialState is the state that start and _initialize leave behind, in which each run on a pooled instance begins.
// Nothing but users is changed once it is made.
type initialState struct {
	image   *image
	users   int      // of the image beside the module; the pool's mutex guards it
	globals []uint64 // the guest's, in the order of meter.Output.Globals
	grew    uint64   // meter.ExportGrowFailed
	fuel    int64    // that they used
	session hostcalls.AfterInit
	steps   []initStep
	stdio   [2][]byte // begun lines
}

// afterInit takes the state of a run whose start and _initialize have just ended; nil where another run could find
// another one.
func (inv *invocation) afterInit(globals []uint64) *initialState {
	session, ok := inv.session.AfterInit()
	switch {
	case !ok || inv.initial.over:
		return nil
	case len(inv.initial.steps) > 0 && !inv.module.engine.ownTable: // handlers that nothing is known of
		return nil
	}
	s := &initialState{globals: globals, grew: inv.inst.grew.Get(), fuel: inv.account.Used(inv.inst.fuelLeft()),
		session: session, steps: inv.initial.steps}
	for fd := range inv.stdio {
		s.stdio[fd] = bytes.Clone(inv.stdio[fd].b)
	}
	return s
}

// fits reports whether start and _initialize would leave the state behind in this run, too. A budget that they use up
// must end the run where it does.
func (inv *invocation) fits(s *initialState) bool {
	return s.fuel <= inv.account.Limit && inv.session.RepeatsInit(&s.session)
}

// skipInit does to the run whatever start and _initialize would have done to it beside its instance.
func (inv *invocation) skipInit(ctx context.Context, s *initialState) {
	for i := range s.steps {
		step := &s.steps[i]
		if step.call == nil {
			inv.session.Log(step.line.Level, step.line.Text)
			continue
		}
		args := step.args
		// These calls change the session alone, and their answers are in the instance already.
		_, _ = inv.session.Do(ctx, step.call, &args)
	}
	inv.session.SkipInit(&s.session)
	for fd := range s.stdio {
		inv.stdio[fd].b = append(inv.stdio[fd].b, s.stdio[fd]...)
	}
	inv.yielded = s.fuel
	inv.inst.setFuel(inv.account.Skip(s.fuel))
}
