package kernel_test

import (
	"testing"
	"time"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// The deadline of a binding is its budget of work. By the clock on the wall a turn may take
// ten times as long, and never longer than the chain has left.
func TestTurnHasACeilingAboveItsWork(t *testing.T) {
	for name, c := range map[string]struct {
		deadline  int64 // milliseconds
		chain     time.Duration
		work, top time.Duration
	}{
		"the defaults":            {0, 0, kernel.DefaultHookTimeout, kernel.DefaultChainBudget},
		"a short one":             {20, 0, 20 * time.Millisecond, 200 * time.Millisecond},
		"a long chain":            {250, time.Minute, 250 * time.Millisecond, 2500 * time.Millisecond},
		"a chain that is shorter": {250, 100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
	} {
		var got kernel.Turn
		h := newHost(t,
			[]hook{{name: "a", spec: func(s *kernel.BindingSpec) { s.Budget = tiers.Budget{DeadlineMS: c.deadline} },
				run: func(turn kernel.Turn) (kernel.Outcome, error) {
					got = turn
					return kernel.Outcome{}, nil
				}}}, func(cfg *kernel.Config, _ *kernel.Options) { cfg.ChainBudget = c.chain })
		h.invoke(t, invocation(phases.PreTool))
		if got.Timeout != c.work || got.Ceiling != c.top {
			t.Errorf("%s: work %v, ceiling %v, want %v and %v", name, got.Timeout, got.Ceiling, c.work, c.top)
		}
	}
}
