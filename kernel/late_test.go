package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// An answer that comes after the hook's deadline, or when the chain's time is used up,
// does not count, an allow or a block; one that comes at the last moment does. Time in
// calls that others carry out is not the hook's.
func TestAnswersAfterTheDeadlineDoNotCount(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		took, waited time.Duration
		chain        time.Duration // of the chain; 0: enough
		ok           bool
	}{
		{took: 30 * ms, ok: true}, {took: 30*ms + 1}, {took: 67 * ms}, {took: 67 * ms, waited: 37 * ms, ok: true},
		{took: 67 * ms, waited: 36 * ms},
		{took: 20 * ms, chain: 20 * ms, ok: true}, {took: 21 * ms, chain: 20 * ms},
	} {
		for _, mode := range []phases.Mode{phases.Enforce, phases.Observe} {
			h := newHost(t, []hook{{name: "a", mode: mode, run: func(kernel.Turn) (kernel.Outcome, error) {
				return kernel.Outcome{Duration: c.took, Waited: c.waited}, nil
			}, spec: func(s *kernel.BindingSpec) { s.Budget.DeadlineMS = 30 / kernel.CeilingFactor }}},
				func(cfg *kernel.Config, o *kernel.Options) { cfg.ChainBudget = c.chain })
			name := fmt.Sprintf("%s: %v, %v of them waiting, chain %v", mode, c.took, c.waited, c.chain)
			v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
			if len(v.Hooks) != 1 || (v.Hooks[0].Kind == phases.KindDeadline) == c.ok {
				t.Errorf("%s: %+v", name, v.Hooks)
			}
			if blocked := !c.ok && mode == phases.Enforce; (v.Decision == phases.Block) != blocked || (err != nil) != blocked {
				t.Errorf("%s: %s, %v", name, v.Decision, err)
			}
		}
	}
}

// Suites and replays keep no deadlines: what a turn took by the clock is no news there.
func TestUntimedTurnsAreNeverLate(t *testing.T) {
	var given time.Duration
	h := newHost(t, []hook{{name: "a", run: func(tu kernel.Turn) (kernel.Outcome, error) {
		given = tu.Timeout
		return kernel.Outcome{Duration: time.Hour}, nil
	}}, {name: "b"}}, func(cfg *kernel.Config, o *kernel.Options) {
		cfg.ChainBudget, o.Untimed = 2*time.Hour, time.Minute
	})
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow || given >= 0 {
		t.Errorf("%+v, with a deadline of %v", v, given)
	}
}
