package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belay-hooks/belay/harness/conformance"
	"github.com/belay-hooks/belay/phases"
)

// broken is a host that does one thing wrong.
type broken struct {
	inner conformance.Host
	ask   func(*conformance.Request)
	tell  func(*conformance.Request, *conformance.Outcome)
}

func (b broken) Run(ctx context.Context, r conformance.Request) (conformance.Outcome, error) {
	asked := r
	if b.ask != nil {
		b.ask(&asked)
	}
	o, err := b.inner.Run(ctx, asked)
	if err == nil && b.tell != nil {
		b.tell(&r, &o)
	}
	return o, err
}

// A host that breaks a rule is found, by the rules that it breaks.
func TestBrokenHosts(t *testing.T) {
	own := conformance.Own{Bench: bench(t)}
	turns := 0
	for name, c := range map[string]struct {
		host broken
		want []string // rules that must fail; others may
	}{
		"fails open": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Fault = "" }},
			[]string{"nonzero-fails", "unreachable-traps", "fuel-ends-loops", "ungranted-effect-poisons", "early-calls-end", "proc-exit-fails", "range-outside-ends"}},
		"keeps effects of failures": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			if o.Fault != "" {
				o.Effects = []phases.Effect{{Kind: phases.EffectBlock, Text: "no"}}
			}
		}}, []string{"failure-discards-effects"}},
		"grants everything":       {broken{ask: func(r *conformance.Request) { r.Granted = nil }}, []string{"ungranted-effect-poisons"}},
		"grants nothing":          {broken{ask: func(r *conformance.Request) { r.Granted = []string{} }}, []string{"block", "rewrite", "state", "time", "random"}},
		"lets validators rewrite": {broken{ask: func(r *conformance.Request) { r.Mutator = true }}, []string{"validator-may-not-rewrite"}},
		"has its own time":        {broken{ask: func(r *conformance.Request) { r.Time = r.Time.Add(time.Second) }}, []string{"time"}},
		"has its own random":      {broken{ask: func(r *conformance.Request) { r.Seed[0]++ }}, []string{"random"}},
		"forgets state":           {broken{ask: func(r *conformance.Request) { r.State = nil }}, []string{"state"}},
		"keeps state of failures": {broken{tell: func(r *conformance.Request, o *conformance.Outcome) {
			if o.Fault != "" {
				o.State = map[string][]byte{"k": []byte("k")}
			}
		}}, []string{"failure-discards-state"}},
		"loses the configuration": {broken{ask: func(r *conformance.Request) { r.Config = nil }}, []string{"config"}},
		"shows the action only":   {broken{ask: func(r *conformance.Request) { r.Input = r.Action }}, []string{"input-is-flat"}},
		"does not count":          {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Fuel = 0 }}, []string{"no-opinion"}},
		"counts by the clock":     {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { turns++; o.Fuel += int64(turns) }}, []string{"no-opinion", "every-turn-is-new"}},
		"uses instances again": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			if len(o.Logs) == 3 && o.Logs[0] == "0" {
				o.Logs = []string{"7", "7", "2"}
			}
		}}, []string{"every-turn-is-new"}},
		"loads anything": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Refused = "" }},
			[]string{"unknown-import", "wrong-signature", "imported-memory", "memory-is-exported", "no-phase", "phase-signature"}},
		"loads nothing": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Refused = "too large" }}, []string{"no-opinion", "block"}},
		"calls all a trap": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) {
			if o.Fault != "" {
				o.Fault = phases.KindTrap
			}
		}}, []string{"fuel-ends-call-trees", "hostcalls-cost-fuel", "stack-is-bounded", "trap-after-refused-grow-is-memory", "empty-range-beyond-the-end"}},
		"logs without bounds": {broken{tell: func(_ *conformance.Request, o *conformance.Outcome) { o.Logs = append(o.Logs, "more") }}, []string{"logs-are-bounded", "read-nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.host.inner = own
			failures, err := conformance.Verify(t.Context(), c.host)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, f := range failures {
				ids = append(ids, f.Rule.ID)
			}
			for _, w := range c.want {
				if !slices.Contains(ids, w) {
					t.Errorf("%s is not found to be broken; found are %v", w, ids)
				}
			}
		})
	}
}

// No rule is one that everything passes: each finds a wrong end, a wrong log, a wrong
// effect and a wrong write.
func TestEveryRuleCanFail(t *testing.T) {
	own := conformance.Own{Bench: bench(t)}
	for name, tell := range map[string]func(*conformance.Request, *conformance.Outcome){
		"end": func(_ *conformance.Request, o *conformance.Outcome) { o.Fault += "x"; o.Refused = "" },
		"log": func(_ *conformance.Request, o *conformance.Outcome) {
			o.Logs = append(o.Logs, "x")
			o.Refused = ""
		},
		"effect": func(_ *conformance.Request, o *conformance.Outcome) {
			o.Effects = append([]phases.Effect{{Kind: phases.EffectBlock}}, o.Effects...)
			o.Refused = ""
		},
		"write": func(_ *conformance.Request, o *conformance.Outcome) {
			o.State = map[string][]byte{fmt.Sprint(o.Fuel): nil}
			o.Refused = ""
		},
	} {
		failures, err := conformance.Verify(t.Context(), broken{inner: own, tell: tell})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, f := range failures {
			found[f.Rule.ID] = true
		}
		for _, r := range rules(t) {
			if !found[r.ID] {
				t.Errorf("%s: a wrong %s is not found", r.ID, name)
			}
		}
	}
}
