package kernel

import (
	"bytes"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// The kernel decides on memory of its own. A caller may use its buffer again while it waits for
// the answer or after it: that must not change the judged, recorded and released values. The
// kernel copies everything that comes in before anything reads it, and everything that it
// releases on the way out.

// own returns an invocation and its options that share no memory with the caller's.
func own(inv phases.Invocation, options InvokeOptions) (phases.Invocation, InvokeOptions) {
	return inv.Clone(), options.owned()
}

func (o InvokeOptions) owned() InvokeOptions {
	o.Credential = strings.Clone(o.Credential)
	if o.ParentScopes != nil {
		s := o.ParentScopes.Clone()
		o.ParentScopes = &s
	}
	if o.HookClock != nil {
		at := *o.HookClock
		o.HookClock = &at
	}
	o.Call, o.Results = o.Call.clone(), o.Results.clone()
	if o.Seed != nil {
		seed := *o.Seed
		o.Seed = &seed
	}
	return o
}

func (r Refusal) owned() Refusal {
	r.Invocation, r.Raw = r.Invocation.Clone(), bytes.Clone(r.Raw)
	return r
}

func (q LeaseCheck) owned() LeaseCheck {
	q.Token, q.Capability = strings.Clone(q.Token), strings.Clone(q.Capability)
	if q.Action != nil {
		inv := q.Action.Clone()
		q.Action = &inv
	}
	return q
}

func ownRequest(r leases.Request) leases.Request {
	r.ID, r.Parent, r.Capability = strings.Clone(r.ID), strings.Clone(r.Parent), strings.Clone(r.Capability)
	if r.Scope != nil {
		s := r.Scope.Clone()
		r.Scope = &s
	}
	return r
}

func ownDecision(d approvals.Decision) approvals.Decision {
	d.Signature = slices.Clone(d.Signature)
	return d
}

// owned returns a hook's answer, on memory of the kernel's own: a Loader's hooks
// may answer out of buffers that their next turn uses again.
func (o Outcome) owned() Outcome {
	if o.Effects != nil {
		report := phases.HookReport{Effects: o.Effects}
		o.Effects = phases.Verdict{Hooks: []phases.HookReport{report}}.Clone().Hooks[0].Effects
	}
	o.StateReads, o.StateWrites = slices.Clone(o.StateReads), slices.Clone(o.StateWrites)
	for n := range o.StateWrites {
		o.StateWrites[n].Value = bytes.Clone(o.StateWrites[n].Value)
	}
	o.Wishes, o.Logs, o.Notes = slices.Clone(o.Wishes), slices.Clone(o.Logs), slices.Clone(o.Notes)
	for n := range o.Wishes {
		o.Wishes[n].Request = bytes.Clone(o.Wishes[n].Request)
	}
	return o
}

// released returns the verdict that leaves the kernel. It shares no memory with the record, and
// holds an action only where the action may run as it stands: the record keeps an action that is
// blocked or waits for a person.
func released(v phases.Verdict) phases.Verdict {
	v = v.Clone()
	v.Withhold()
	return v
}
