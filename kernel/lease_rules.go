package kernel

import (
	"errors"
	"time"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// LeaseRule answers requests for leases in a person's place. It fits a request
// that it contains in every dimension.
type LeaseRule struct {
	Capability string
	Scope      leases.Scope
	MaxTTL     time.Duration // 0 means leases.DefaultMaxTTL
	MaxUses    int64         // 0 means 1
	Agents     string        // RE2 over the agent's name; "" means every agent
	Decision   LeaseDecision
}

// LeaseDecision is the answer of a rule.
type LeaseDecision string

const (
	LeaseGrant LeaseDecision = "grant"
	LeaseDeny  LeaseDecision = "deny"
	LeaseAsk   LeaseDecision = "ask" // put it to a person, as without a rule
)

type leaseRule struct {
	LeaseRule
	n      int
	agents *phases.Matcher
}

func (r LeaseRule) compile(n int) (leaseRule, error) {
	if err := errors.Join(leases.CheckCapability(r.Capability), r.Scope.Validate()); err != nil {
		return leaseRule{}, err
	}
	if r.MaxTTL < 0 || r.MaxTTL > leases.MaxLifetime || r.MaxUses < 0 || r.MaxUses > leases.MaxUses {
		return leaseRule{}, errors.New("max_ttl or max_uses is out of range")
	}
	switch r.Decision {
	case LeaseGrant, LeaseDeny, LeaseAsk:
	default:
		return leaseRule{}, errors.New("decision must be grant, deny or ask")
	}
	if r.MaxTTL == 0 {
		r.MaxTTL = leases.DefaultMaxTTL
	}
	r.MaxUses = max(r.MaxUses, 1)
	agents, err := phases.CompileNames(r.Agents)
	return leaseRule{LeaseRule: r, n: n, agents: agents}, err
}

// fits reports whether the rule answers the request. A denial fits every request that overlaps
// it: asking for more than the denied scope does not avoid it.
func (r *leaseRule) fits(q *leases.Request, agent string) bool {
	if !r.agents.Match(agent) {
		return false
	}
	if r.Decision == LeaseDeny {
		capability := phases.Scope{r.Capability}.Intersect(phases.ScopeTool, phases.Scope{q.Capability})
		both := r.Scope.Narrow(*q.Scope)
		return len(capability) > 0 && len(both.Paths) > 0 && len(both.Hosts) > 0 && len(both.Tools) > 0 && len(both.Args) > 0
	}
	l := leases.Lease{Capability: r.Capability}
	return l.CoversCapability(q.Capability) && r.Scope.Contains(*q.Scope) && q.Parent == "" &&
		time.Duration(max(q.TTLS, q.MaxTTLS))*time.Second <= r.MaxTTL && max(q.MaxUses, 1) <= r.MaxUses
}
