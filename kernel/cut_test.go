package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// What a rewrite takes out of an action is in the log only where the binding does not redact.
func TestWhatARewriteTakesOut(t *testing.T) {
	for _, redacts := range []bool{false, true} {
		h := newHost(t,
			[]hook{{name: "m", mutates: preTool, caps: []string{"rewrite:/args"}, spec: func(s *kernel.BindingSpec) {
				s.Redacts = &redacts
			},
				run: effects(rewrite("/args/command", `"ls"`))}})
		inv := invocation(phases.PreTool)
		inv.Action = []byte(`{"tool":"exec","args":{"command":"ls the-words-of-bob"}}`)
		if v := h.invoke(t, inv); v.Decision != phases.Allow || !strings.Contains(string(v.Action), `"ls"`) {
			t.Fatalf("%+v", v)
		}
		all, err := json.Marshal(h.events(t, wire.Query{}))
		if err != nil {
			t.Fatal(err)
		}
		if logged := strings.Contains(string(all), "the-words-of-bob"); logged == redacts {
			t.Errorf("redacts %v, logged %v: %s", redacts, logged, all)
		}
	}
}

// Observers of the audit have the chain's time again, though the hooks before them took theirs.
func TestObserversOfTheAuditHaveTheirTime(t *testing.T) {
	var left time.Duration
	slow := hook{name: "aud", phases: onAudit, run: func(kernel.Turn) (kernel.Outcome, error) {
		return kernel.Outcome{Duration: 200 * time.Millisecond}, nil
	}}
	seer := hook{name: "seer", mode: phases.Observe, phases: onAudit, run: func(turn kernel.Turn) (kernel.Outcome, error) {
		left = turn.Timeout
		return kernel.Outcome{}, nil
	}}
	h := newHost(t, []hook{slow, seer}, func(c *kernel.Config, _ *kernel.Options) {
		c.ChainBudget = 220 * time.Millisecond
	})
	h.allowed(t, invocation(phases.PreTool))
	if left < 100*time.Millisecond {
		t.Errorf("%v left", left)
	}
}
