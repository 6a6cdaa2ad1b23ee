package claudecode

import (
	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// Next returns the step that follows after the verdicts. A block ends the event, and
// so does an ask that waits in belay's own queue.
// The spawn step of an Agent call is built from the arguments as pre_tool left
// them, so that it judges what will run.
func (Adapter) Next(ev adapters.Event, verdicts []phases.Verdict) (adapters.Step, bool, error) {
	if len(verdicts) > len(ev.Steps) {
		return adapters.Step{}, false, misfit(ev, "there are more verdicts than steps")
	}
	for i := range verdicts {
		if v := &verdicts[i]; v.Decision == phases.Block || waits(ev.Steps[i], v) {
			return adapters.Step{}, false, nil // nothing of the event runs now, and the verdict holds no action
		}
	}
	i := len(verdicts)
	if i == len(ev.Steps) {
		return adapters.Step{}, false, nil
	}
	step, err := stepAt(ev, i, verdicts)
	return step, err == nil, err
}

// waits reports whether a person has to decide before anything may run, and Claude Code
// does not ask that person itself.
func waits(step adapters.Step, v *phases.Verdict) bool {
	return v.Decision == phases.Ask && (v.Approval != nil || !step.NativeAsk)
}

// stepAt returns step i after the verdicts of the steps before it.
func stepAt(ev adapters.Event, i int, verdicts []phases.Verdict) (adapters.Step, error) {
	step := ev.Steps[i]
	if step.Invocation.Phase != phases.Spawn || i == 0 {
		return step, nil
	}
	args, ok := phases.Get(verdicts[i-1].Action, "/args")
	if !ok || args.Kind() != '{' {
		return adapters.Step{}, misfit(ev, "the verdict has no arguments")
	}
	raw, err := spawnAction(step.Invocation.Agent, args)
	if err != nil {
		return adapters.Step{}, err
	}
	step.Invocation.Action = raw
	if err := step.Invocation.Validate(); err != nil {
		return adapters.Step{}, err
	}
	return step, nil
}

func misfit(ev adapters.Event, reason string) error {
	return &adapters.PayloadError{Class: adapters.ErrVerdicts, Event: ev.Name, Reason: reason}
}
