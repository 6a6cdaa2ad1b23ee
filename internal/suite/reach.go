package suite

import (
	"fmt"
	"slices"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// contradiction refuses expectations that no verdict fulfils, whatever the hook does.
func (c *Case) contradiction() error {
	w := &c.Want
	switch w.Kind {
	case "":
	case phases.KindDeadline:
		return c.errorf("/want/kind", "never happens: tests keep no deadlines, so that they come out the same everywhere")
	case phases.KindStore, phases.KindRollback:
		return c.errorf("/want/kind", "never happens: a test's store does not fail")
	case phases.KindHang:
		return c.errorf("/want/kind", "never happens: a turn that does not end ends the test")
	case phases.KindPolicy, phases.KindTrap, phases.KindFuel, phases.KindMemory, phases.KindOutput, phases.KindHostcall,
		phases.KindProtocol, phases.KindLoad, phases.KindAudit:
	default:
		return c.errorf("/want/kind", "%q is not a kind", string(w.Kind))
	}
	switch {
	case w.Kind != "" && w.Decision == phases.Allow:
		return c.errorf("/want/kind", "never happens: what is allowed has no kind")
	case w.Kind != "" && w.Kind != phases.KindPolicy && w.Decision == phases.Ask:
		return c.errorf("/want/kind", "never happens: a failure blocks, it does not ask")
	case w.ReasonContains != "" && w.Decision == phases.Allow:
		return c.errorf("/want/reason_contains", "never happens: what is allowed has no reason")
	}
	for _, p := range w.Absent {
		if _, ok := w.Action[p]; ok {
			return c.errorf("/want/absent", "%s is wanted in the action and not wanted there", p)
		}
	}
	if c.Recording != "" {
		return nil // its phase is not known yet
	}
	return c.illegal(c.Phase)
}

// illegal finds effects that the phase never permits.
func (c *Case) illegal(p phases.Phase) error {
	rules := phases.RulesFor(p)
	for _, n := range c.needs() {
		if !rules.Legal(n.effect) && !slices.ContainsFunc(n.or, rules.Legal) {
			return c.errorf(n.member, "never happens: %s is not legal in %s", n.effect, p)
		}
	}
	for i := range c.Stubs {
		if call, ok := hostcalls.Lookup(c.Stubs[i].Call); ok && !call.LegalIn(p) &&
			!slices.ContainsFunc(c.Before, func(b Input) bool { return call.LegalIn(b.Phase) }) {
			return c.errorf(fmt.Sprintf("/stubs/%d/call", i), "is never used: %s is not legal in %s", call.Name, p)
		}
	}
	for i := range c.Injected {
		if call, ok := hostcalls.Lookup(c.Injected[i].Call); ok && !call.LegalIn(p) {
			return c.errorf(fmt.Sprintf("/injected/%d/call", i), "never happens: %s is not legal in %s", call.Name, p)
		}
	}
	return nil
}

// need is an effect without which a member of want is never fulfilled.
type need struct {
	member string
	effect phases.EffectKind
	or     []phases.EffectKind // any of these will do as well
}

func (c *Case) needs() []need {
	w := &c.Want
	var out []need
	add := func(member string, e phases.EffectKind, or ...phases.EffectKind) {
		out = append(out, need{member, e, or})
	}
	for i, e := range w.Effects {
		add(fmt.Sprintf("/want/effects/%d", i), e.Kind)
	}
	if w.Decision == phases.Ask {
		add("/want/decision", phases.EffectAsk)
	}
	if w.Decision == phases.Block && w.Kind == phases.KindPolicy {
		add("/want/kind", phases.EffectBlock)
	}
	if len(w.Contexts) > 0 {
		add("/want/contexts", phases.EffectContext)
	}
	if w.Reply != "" {
		add("/want/reply_contains", phases.EffectReply)
	}
	if w.Retry != "" {
		add("/want/retry_contains", phases.EffectRetry)
	}
	if len(w.Artifacts) > 0 {
		add("/want/artifacts", phases.EffectArtifact)
	}
	if len(w.Changed) > 0 {
		add("/want/changed", phases.EffectRewrite, phases.EffectRedact)
	}
	return out
}

// reachable refuses expectations that this hook never fulfils: phases that it does not
// serve, effects and calls that it does not import.
func (c *Case) reachable(l *kernel.Loaded, phase phases.Phase) error {
	for i, in := range c.Before {
		if !slices.Contains(l.Phases, in.Phase) {
			return c.errorf(fmt.Sprintf("/before/%d/phase", i), "the hook does not serve %s, so that this changes nothing",
				in.Phase)
		}
	}
	if !slices.Contains(l.Phases, phase) {
		return c.errorf("/phase", "the hook does not serve %s: it exports %v", phase, l.Phases)
	}
	imports := func(e phases.EffectKind) bool { return slices.Contains(l.Imports, e.Capability()) }
	for _, n := range c.needs() {
		if !imports(n.effect) && !slices.ContainsFunc(n.or, imports) {
			return c.errorf(n.member, "never happens: the hook does not import %s", n.effect.Capability())
		}
	}
	for i := range c.Stubs {
		if call := c.Stubs[i].Call; !slices.Contains(l.Imports, call) {
			return c.errorf(fmt.Sprintf("/stubs/%d/call", i), "is never used: the hook does not import %s", call)
		}
	}
	for i := range c.Injected {
		if call := c.Injected[i].Call; !slices.Contains(l.Imports, call) {
			return c.errorf(fmt.Sprintf("/injected/%d/call", i), "never happens: the hook does not import %s", call)
		}
	}
	return nil
}
