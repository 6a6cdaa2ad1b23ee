package kernel

import (
	"maps"
	"slices"

	"github.com/belay-hooks/belay/phases"
)

// require blocks when a hook that the operator wants to have run did not.
func (c *chain) require() {
	for _, r := range c.invocation.snap.require {
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

// verdict returns the verdict of the hooks, and the failure that blocked it, if any.
func (c *chain) verdict(run RunState) (phases.Verdict, error) {
	verdict := c.words.Result()
	verdict.PolicyRevision = c.invocation.snap.revision
	verdict.Notes = append(slices.Clone(c.notes), verdict.Notes...)
	if c.reports != nil {
		verdict.Hooks = c.reports
	}
	if l := c.latched; l != nil {
		blockVerdict(&verdict, l.Kind, l.DecidedBy, l.denial())
		verdict.Enforced = phases.EnforcedLatched
		return verdict, nil
	}
	c.holdScopes(&verdict)
	c.pickRetry(&verdict, run)
	if c.fault != nil && verdict.Decision == phases.Block {
		return verdict, c.fault
	}
	return verdict, nil
}

// holdScopes blocks an action that is outside of its scopes, or of which that cannot be
// told, unless the caller holds it to them. The invocation's own scopes restrict like
// those that a hook narrowed.
func (c *chain) holdScopes(verdict *phases.Verdict) {
	inv := c.invocation.inv
	inv.Scopes = phases.Scopes{} // what runs the action can reach everything, as far as belay knows
	switch {
	case verdict.Decision == phases.Block:
		return
	case c.invocation.call != nil: // the tool of a hook: only the kernel holds it to its scopes
		inv.Scopes = c.invocation.call.reach
	case c.invocation.options.HoldsScopes:
		return
	}
	if err := phases.CheckScopes(inv, verdict.Action, verdict.Scopes); err != nil {
		f := faultOf(err, phases.KindPolicy, "the action is outside of its scopes")
		blockVerdict(verdict, f.Kind, kernelName, f.Text)
		c.outside = true
	}
}

// noteScopes says in the verdict who holds an action to scopes that restrict it, since
// the kernel has taken the caller's word for it.
func (c *chain) noteScopes(verdict *phases.Verdict) {
	switch {
	case c.invocation.options.OnBehalf:
	case c.outside:
		verdict.Notes = append(verdict.Notes,
			"a caller that holds actions to their scopes itself says so (holds_scopes); this one did not")
	case c.invocation.options.HoldsScopes && verdict.Decision != phases.Block && !verdict.Scopes.Contains(phases.Scopes{}):
		verdict.Notes = append(verdict.Notes, "the caller says that it holds the action to its scopes (holds_scopes)")
	}
}

// pickRetry takes the first wish for a retry that the run has not used up.
func (c *chain) pickRetry(verdict *phases.Verdict, run RunState) {
	c.retries = run.Retries
	if verdict.Retry == nil {
		return
	}
	verdict.Retry = nil
	for _, r := range c.words.Retries() {
		if run.Retries[r.Hook] >= r.Max {
			verdict.Notes = append(verdict.Notes, "retry of "+r.Hook+" used up in this run")
			continue
		}
		verdict.Retry = &r
		c.retries = maps.Clone(run.Retries)
		if c.retries == nil {
			c.retries = map[string]int{}
		}
		c.retries[r.Hook]++
		c.retried = true
		return
	}
}
