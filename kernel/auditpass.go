package kernel

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// auditPass shows the record, which the kernel has redacted already, to the audit
// hooks, one after the other, and takes over what they redact further. In an
// invocation of phase audit the record that they see is the event that the
// runtime reported. An error means that the record may not be stored as it is;
// it is a *phases.Fault. The turns are returned in any case.
func (c *chain) auditPass(ctx context.Context, verdict *phases.Verdict, rec *audit.Record) ([]audit.Turn, error) {
	inv := c.invocation.inv
	inv.Phase, inv.Metadata = phases.Audit, nil // what the caller sent is redacted inside the record only
	var hooks, observers []*binding
	for _, b := range c.invocation.snap.index.hooks(&inv, nil) {
		switch {
		case c.invocation.inv.Phase != phases.Audit && b.fault != nil && b.phases == nil &&
			(c.words.Stopped() || b.mode == phases.Observe):
			// It could not be loaded: it has blocked the action already, or been reported.
		case b.mode == phases.Observe:
			observers = append(observers, b)
		default:
			hooks = append(hooks, b)
		}
	}
	if len(hooks)+len(observers) == 0 {
		return nil, nil
	}
	action, err := auditAction(&c.invocation.inv, rec)
	if err != nil {
		return nil, err
	}
	inv.Action = action
	words, err := phases.NewChain(inv, nil, phases.Scopes{})
	if err != nil {
		return nil, phases.NewFault(phases.KindAudit, "the record could not be shown to the audit hooks", err)
	}
	pass := &auditing{chain: c, words: words, left: c.auditBudget()}
	for _, b := range hooks {
		if err := pass.turn(ctx, b); err != nil {
			return pass.turns, err
		}
	}
	if err := pass.apply(&c.invocation.inv, verdict, rec); err != nil {
		return pass.turns, err
	}
	if !c.invocation.parentBudget.nested() {
		pass.left = c.invocation.snap.budget
	}
	for _, b := range observers {
		_ = pass.turn(ctx, b) // failures of observing hooks never block
	}
	return pass.turns, nil
}

// auditAction builds the action of the audit phase.
func auditAction(inv *phases.Invocation, rec *audit.Record) (jsontext.Value, error) {
	action := phases.AuditAction{Kind: "verdict"}
	if inv.Phase == phases.Audit {
		redacted, ok := phases.Get(rec.Verdict.Input, "/action")
		if !ok {
			return nil, phases.NewFault(phases.KindAudit, "the record holds no action", nil)
		}
		return redacted, nil
	}
	data, err := rec.Document()
	if err != nil {
		return nil, err
	}
	action.Data = data
	return json.Marshal(&action)
}

// auditing is the audit pass of one attempt. It is used by one goroutine.
type auditing struct {
	chain *chain
	words *phases.Chain
	left  time.Duration
	masks []string // pointers that enforcing hooks have redacted, relative to /data
	turns []audit.Turn
}

// turn runs one audit hook. The error is a *phases.Fault of kind audit: an enforcing hook has
// failed, and the values that it would have redacted are unknown.
func (a *auditing) turn(ctx context.Context, binding *binding) error {
	result := a.chain.call(ctx, binding, phases.PassAudit, a.left, inputOf(a.words, binding))
	a.left -= result.took()
	a.chain.invocation.parentBudget.spend(result.took(), result.outcome.Fuel)
	if result.fault != nil && binding.mode != phases.Observe {
		// The failed hook saw the values that it was there to redact, and its last words may quote
		// them: from here on the record holds only digests and the kernel's own words.
		result.outcome.FailText, result.outcome.Logs, result.outcome.LogsDropped = "", nil, 0
	}
	t := phases.Turn{By: binding.actor(phases.Audit), Pass: phases.PassAudit, Effects: result.outcome.Effects,
		Fault:    result.fault,
		FailText: result.outcome.FailText}
	res := a.words.Add(t)
	var notes []string
	if binding.loaded != nil {
		notes = append(notes, binding.loaded.Notes...)
	}
	notes = append(append(notes, result.outcome.Notes...), res.Notes...)
	rep := a.chain.report(binding, phases.PassAudit, result, res, notes)
	a.turns = append(a.turns, auditTurn(binding, rep, result))
	a.chain.invocation.observation.hookDone(result.start, &a.turns[len(a.turns)-1].Report)
	a.chain.invocation.recorder.turn(binding, phases.PassAudit, &result, &rep)
	if res.Decision == phases.HookError && binding.mode != phases.Observe {
		f := phases.NewFault(phases.KindAudit, "an audit hook failed: "+res.Reason, nil)
		if result.fault != nil { // a nil *Fault is no nil error
			f.Cause = result.fault
		}
		return f
	}
	for _, e := range result.outcome.Effects { // those of observers come after apply
		a.masks = append(a.masks, strings.TrimPrefix(e.Path, "/data"))
	}
	return nil
}

// apply redacts what the enforcing hooks have named.
func (a *auditing) apply(inv *phases.Invocation, verdict *phases.Verdict, rec *audit.Record) error {
	if len(a.masks) == 0 {
		return nil
	}
	final := a.words.View().Action
	if inv.Phase != phases.Audit {
		data, _ := phases.Get(final, "/data")
		return rec.Apply(data, a.masks)
	}
	input, err := phases.Set(rec.Verdict.Input, "/action", final)
	if err != nil {
		return phases.NewFault(phases.KindAudit, "what the audit hooks covered could not be recorded", err)
	}
	rec.Verdict.Input = input
	verdict.Action = final
	for _, m := range a.masks {
		verdict.Changed = append(verdict.Changed, "/data"+m)
		rec.Verdict.Masked = append(rec.Verdict.Masked, "/input/action/data"+m)
	}
	slices.Sort(verdict.Changed)
	verdict.Changed = slices.Compact(verdict.Changed)
	return nil
}
