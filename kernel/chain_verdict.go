package kernel

import (
	"maps"
	"slices"

	"github.com/belay-hooks/belay/phases"
)

// require blocks when a hook that the operator wants to have run did not.
func (c *chain) require() {
	for _, r := range c.i.snap.require {
		view := c.words.View()
		if !slices.Contains(r.phases, view.Phase) {
			continue
		}
		if (view.Phase == phases.PreTool || view.Phase == phases.PostTool) && !r.tools.Match(view.Tool()) {
			continue
		}
		for _, name := range r.hooks {
			if !c.acted[name] {
				f := phases.NewFault(phases.KindLoad, "a required hook did not run: "+name, nil)
				c.words.Fail(kernelName, f)
				c.fault = f
				return
			}
		}
	}
}

// verdict returns what the chain came to, and the failure that blocked it, if any.
func (c *chain) verdict(run RunState) (phases.Verdict, error) {
	v := c.words.Result()
	v.PolicyRevision = c.i.snap.revision
	v.Notes = append(slices.Clone(c.notes), v.Notes...)
	if c.reports != nil {
		v.Hooks = c.reports
	}
	if l := c.latched; l != nil {
		blockVerdict(&v, l.Kind, l.DecidedBy, l.Denial())
		v.Enforced = phases.EnforcedLatched
		return v, nil
	}
	c.holdScopes(&v)
	c.pickRetry(&v, run)
	if c.fault != nil && v.Decision == phases.Block {
		return v, c.fault
	}
	return v, nil
}

// holdScopes blocks an action that is outside of its scopes, or of which that cannot be
// told, unless the caller holds it to them. The invocation's own scopes restrict like
// those that a hook narrowed.
func (c *chain) holdScopes(v *phases.Verdict) {
	inv := c.i.inv
	inv.Scopes = phases.Scopes{} // what runs the action can reach everything, as far as belay knows
	switch {
	case v.Decision == phases.Block:
		return
	case c.i.call != nil: // the tool of a hook: only the kernel holds it to its scopes
		inv.Scopes = c.i.call.reach
	case c.i.o.HoldsScopes:
		return
	}
	if err := phases.CheckScopes(inv, v.Action, v.Scopes); err != nil {
		f := faultOf(err, phases.KindPolicy, "the action is outside of its scopes")
		blockVerdict(v, f.Kind, kernelName, f.Text)
		c.outside = true
	}
}

// noteScopes says in the verdict who holds an action to scopes that restrict it, since
// the kernel has taken the caller's word for it.
func (c *chain) noteScopes(v *phases.Verdict) {
	switch {
	case c.i.o.OnBehalf:
	case c.outside:
		v.Notes = append(v.Notes,
			"a caller that holds actions to their scopes itself says so (holds_scopes); this one did not")
	case c.i.o.HoldsScopes && v.Decision != phases.Block && !v.Scopes.Contains(phases.Scopes{}):
		v.Notes = append(v.Notes, "the caller says that it holds the action to its scopes (holds_scopes)")
	}
}

// pickRetry takes the first wish for a retry that the run has not used up.
func (c *chain) pickRetry(v *phases.Verdict, run RunState) {
	c.retries = run.Retries
	if v.Retry == nil {
		return
	}
	v.Retry = nil
	for _, r := range c.words.Retries() {
		if run.Retries[r.Hook] >= r.Max {
			v.Notes = append(v.Notes, "retry of "+r.Hook+" used up in this run")
			continue
		}
		v.Retry = &r
		c.retries = maps.Clone(run.Retries)
		if c.retries == nil {
			c.retries = map[string]int{}
		}
		c.retries[r.Hook]++
		c.retried = true
		return
	}
}
