package replay

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
)

// Shadow compares observing hooks with the decision, from the events of one invocation: it
// returns a result for each observing hook, and runs none. An invocation whose verdict holds
// no payload, or that no hook observed, has no result.
func Shadow(verdict *phases.Event, turns []phases.Event) []*Result {
	run, ok := recording.RunOfEvent(verdict)
	if !ok {
		return nil
	}
	inv, err := run.Decode()
	if err != nil {
		return nil
	}
	var out []*Result
	for i := range turns {
		e := &turns[i]
		if e.Mode != phases.Observe || e.Invocation != verdict.Invocation || e.Pass == phases.PassAudit {
			continue
		}
		res := &Result{Invocation: inv, Base: run.Chained, Now: run.Chained, Turns: []TurnResult{{
			Hook: e.Binding, Pass: e.Pass,
			Now: &TurnSide{Digest: e.HookDigest, Decision: phases.HookDecision(e.Decision), Fuel: e.Fuel,
				MemoryPeak: e.MemoryPeak},
		}}}
		enforce(res, e)
		out = append(out, res)
	}
	return out
}

// enforce sets the verdict as it would be if the hook's turn counted.
func enforce(res *Result, e *phases.Event) {
	now := func(d phases.Decision, kind phases.Kind) {
		res.Now = recording.Verdict{Decision: d, Kind: kind, DecidedBy: e.Binding, Reason: e.Reason, Action: res.Base.Action,
			Scopes: res.Base.Scopes}
		res.differ(WhatDecision, "decision", decisionText(&res.Base), decisionText(&res.Now))
	}
	base := res.Base.Decision
	switch d := phases.HookDecision(e.Decision); {
	case d == phases.HookBlock && base != phases.Block:
		now(phases.Block, phases.KindPolicy)
	case d == phases.HookError && base != phases.Block:
		now(phases.Block, e.Kind)
	case d == phases.HookAsk && base == phases.Allow:
		now(phases.Ask, phases.KindPolicy)
	case d == phases.HookTransform && base != phases.Block:
		asked, rewrites := effectsOf(e.Output)
		what := WhatVerdict
		if rewrites {
			what = WhatRewrite
		}
		res.differ(what, where(e.Binding, e.Pass), "", asked)
	}
}

// effectsOf reads the effects of a turn, and whether they rewrite the action.
func effectsOf(output jsontext.Value) (text string, rewrites bool) {
	var doc struct {
		Effects []phases.Effect `json:"effects"`
		Rest    jsontext.Value  `json:",inline"`
	}
	if json.Unmarshal(output, &doc) != nil {
		return "(not stored)", false
	}
	rewrites = slices.ContainsFunc(doc.Effects, func(e phases.Effect) bool {
		return e.Kind == phases.EffectRewrite || e.Kind == phases.EffectRedact
	})
	return jsonOf(doc.Effects), rewrites
}
