package adapters

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Outcome is what the verdicts of one event add up to, before an adapter writes it in the event's
// own form. It holds nothing that the event cannot express, but for contexts: see TakeContext.
type Outcome struct {
	// Decision is Block, Ask (the runtime is to ask the person itself), or Allow.
	Decision phases.Decision
	Grant    bool   // the runtime may spare its own question; never beside an Ask or a Block
	Reason   string // safe to show; not empty for a Block, an Ask and a Grant
	Latched  bool   // the kernel has latched the session already
	Retry    string // what the agent is told when it is sent on, or ""
	// Finals has the final action of each step, and Changed the pointers at which it really differs
	// and the runtime can carry it. Both are complete unless Decision is Block.
	Finals  []jsontext.Value
	Changed [][]string
	Notes   []string // for operators

	event    string
	row      Expresses
	contexts []string
	puts     []string // for each step, what hooks put into the prompt, as putInto tells it; "": nothing
}

// Weigh combines the verdicts of an event. The error is of class ErrVerdicts or a
// *phases.DecodeError: they do not fit the event, which Failure answers.
func (t Table) Weigh(ev Event, verdicts []phases.Verdict) (*Outcome, error) {
	o := &Outcome{Decision: phases.Allow, event: ev.Name, row: t.Events[ev.Name]}
	if len(verdicts) == 0 || len(verdicts) > len(ev.Steps) {
		return nil, misfit(ev, "there is no verdict for each step")
	}
	for i := range verdicts {
		v := &verdicts[i]
		if v.Decision == phases.Block {
			o.end(blockReason(v))
			o.Latched = v.Enforced == phases.EnforcedLatched
			return o, nil
		}
		step, err := t.stepAt(ev, i, verdicts)
		if err != nil {
			return nil, err
		}
		if err := o.add(t.Runtime, ev, step, v); err != nil {
			return nil, err
		}
		if o.Decision == phases.Block {
			return o, nil
		}
	}
	if len(verdicts) < len(ev.Steps) {
		return nil, misfit(ev, "there is no verdict for each step")
	}
	o.express(t.Runtime, ev.Steps[0].Invocation.Phase)
	return o, nil
}

// add counts a verdict that is not a block.
func (o *Outcome) add(runtime string, ev Event, step Step, v *phases.Verdict) error {
	inv := &step.Invocation
	if v.Phase != inv.Phase {
		return misfit(ev, "a verdict is of another phase")
	}
	if v.Decision != phases.Allow && v.Decision != phases.Ask {
		return misfit(ev, "a verdict has no decision")
	}
	if waits(step, v) {
		if v.Approval == nil {
			o.Stop("a person has to decide, and " + runtime + " cannot ask here: " + askReason(v))
			return nil
		}
		// The person decides in belay's own queue, and has not yet.
		o.Stop(heldReason(inv, v))
		return nil
	}
	if _, err := phases.DecodeAction(inv.Phase, v.Action); err != nil {
		return err
	}
	o.Finals = append(o.Finals, v.Action)
	o.Changed = append(o.Changed, phases.Diff(inv.Action, v.Action))
	o.puts = append(o.puts, putInto(inv, v))
	o.contexts = append(o.contexts, v.Contexts...)
	if v.Decision == phases.Ask { // the runtime's own prompt shows the final action
		if o.Decision != phases.Ask {
			o.Decision, o.Grant, o.Reason = phases.Ask, false, ""
		}
		o.Reason = join(o.Reason, askReason(v))
	}
	if v.Grant != nil {
		if inv.Phase != phases.PreTool {
			return misfit(ev, "a grant outside of pre_tool")
		}
		if o.Decision != phases.Ask {
			o.Grant = true
			o.Reason = Reason(v.Grant.Hook, v.Grant.Reason, "granted")
		}
	}
	if v.Reply != nil {
		o.end(Reason(v.Reply.Hook, v.Reply.Text, "answered without the model"))
		return nil
	}
	if v.Retry != nil {
		if inv.Phase != phases.PostReceive {
			return misfit(ev, "a retry outside of post_receive")
		}
		o.Retry = Reason(v.Retry.Hook, v.Retry.Instruction, "try again")
	}
	// For tools the kernel has checked the final action where the runtime has no place for scopes
	// (Step.CarriesScopes is false). What a child or a later state does cannot be checked now, so
	// there a clamp cannot hold.
	if inv.Phase != phases.PreTool && !step.CarriesScopes && clamped(v) && !v.Scopes.Equal(inv.Scopes) {
		o.Stop("a hook narrowed the scopes, which " + runtime + " cannot carry to " + laterUse(inv.Phase))
	}
	return nil
}

// express turns into a block what the event has no words for.
func (o *Outcome) express(runtime string, first phases.Phase) {
	row := o.row
	for i := range o.Changed {
		var kept []string
		for _, ptr := range o.Changed[i] {
			switch {
			case row.Carried(i, ptr):
				kept = append(kept, ptr)
			case slices.ContainsFunc(row.Records, func(record string) bool { return phases.Covers(record, ptr) }):
			default:
				o.Stop("a hook changed " + inexpressible(runtime, row, first) + o.puts[i])
				return
			}
		}
		o.Changed[i] = kept
	}
	if row.RewriteNeedsGrant && !o.Grant && len(o.Changed[0]) > 0 {
		if o.Decision == phases.Ask {
			o.Stop("a hook changed this call, which " + runtime + " cannot show when it asks: " + o.Reason)
		} else {
			o.Stop("a hook changed this call, which " + runtime +
				" takes here only together with a permission that no hook gave")
		}
	}
}

// inexpressible names a change that the event cannot carry.
func inexpressible(runtime string, row Expresses, p phases.Phase) string {
	switch {
	case len(row.Carries) == 0:
		return "the " + subject(p) + ", which " + runtime + " cannot carry here"
	case p == phases.PreTool || p == phases.PostTool:
		return "something of this call that " + runtime + " cannot carry"
	}
	return "something that " + runtime + " cannot carry here"
}

// subject names what a hook may change in the phase.
func subject(p phases.Phase) string {
	switch p {
	case phases.PrePlan:
		return "prompt"
	case phases.PreSend:
		return "request"
	case phases.PostReceive:
		return "answer"
	case phases.PostTool:
		return "tool's output"
	case phases.Spawn:
		return "subagent's start"
	}
	return "event"
}

// laterUse names what acts later within the scopes of an event of the phase.
func laterUse(p phases.Phase) string {
	if p == phases.Spawn {
		return "a subagent"
	}
	return "a change of state"
}

// clamped reports whether an enforcing hook asked for a clamp.
func clamped(v *phases.Verdict) bool {
	return slices.ContainsFunc(v.Hooks, func(h phases.HookReport) bool {
		return h.Mode != phases.Observe && slices.ContainsFunc(h.Effects, func(e phases.Effect) bool {
			return e.Kind == phases.EffectClamp
		})
	})
}

// Stop makes the outcome a block for a reason of belay's own, such as a final action that the
// adapter cannot write in the runtime's form. The first reason stays.
func (o *Outcome) Stop(reason string) { o.end("belay: " + reason) }

// end makes the outcome a block. The first reason stays.
func (o *Outcome) end(reason string) {
	if o.Decision == phases.Block {
		return
	}
	o.Decision, o.Grant, o.Retry = phases.Block, false, ""
	o.contexts = nil
	o.Reason = reason
}

// TakeContext returns the text that hooks have for the model, where the event has a place for it.
// Where it has none the text is "" and a note tells the operator: nothing is let through by that.
func (o *Outcome) TakeContext() string {
	text := strings.Join(o.contexts, "\n\n")
	if text != "" && !o.row.Context {
		o.Notes = append(o.Notes, "contexts were not delivered: "+o.event+" has no place for them")
		return ""
	}
	return text
}
