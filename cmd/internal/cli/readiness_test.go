package cli

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// `belay status` exits with 1 while belay is NOT READY, in text and as JSON, and says why.
func TestReadinessIsTheExitStatus(t *testing.T) {
	blocked := wire.Hook{Name: "guard", Mode: phases.Enforce, Problem: "the hook guard could not be loaded: no"}
	disabled := blocked
	disabled.Disabled = true
	watching := blocked
	watching.Mode = phases.Observe
	for name, c := range map[string]struct {
		st    wire.Status
		hooks []wire.Hook
		want  string // "": ready
	}{
		"ready":        {wire.Status{Healthy: true}, []wire.Hook{{Name: "guard"}}, ""},
		"not healthy":  {wire.Status{}, nil, "every action is blocked"},
		"latched":      {wire.Status{Healthy: true, Latches: []wire.Latch{{}}}, nil, "1 session latched"},
		"older":        {wire.Status{Healthy: true, Problems: []string{"belay.yaml:1"}}, nil, "NOT AS CONFIGURED"},
		"trust policy": {wire.Status{Healthy: true, TrustProblem: "x"}, nil, "trust.yaml cannot be used"},
		"hook":         {wire.Status{Healthy: true}, []wire.Hook{blocked}, "guard cannot run, and blocks its phases"},
		"hooks":        {wire.Status{Healthy: true}, []wire.Hook{blocked, watching}, "guard, guard cannot run"},
		"observed":     {wire.Status{Healthy: true}, []wire.Hook{watching}, "guard, which observes, cannot run"},
		"disabled":     {wire.Status{Healthy: true}, []wire.Hook{disabled}, ""},
	} {
		reasons := notReady(&c.st, c.hooks)
		if (len(reasons) == 0) != (c.want == "") || !strings.Contains(strings.Join(reasons, "; "), c.want) {
			t.Errorf("%s: %q", name, reasons)
		}
		if err := readiness(reasons); (err == nil) != (c.want == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
