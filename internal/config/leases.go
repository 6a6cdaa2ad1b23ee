package config

import (
	"fmt"
	"regexp"
	"time"

	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// RequireLease blocks an action of the phases (and, in pre_tool, of the tools)
// unless its agent holds a lease that covers it.
type RequireLease struct {
	Phases     []phases.Phase `json:"phases,omitzero"` // default: pre_tool
	Tools      phases.Scope   `json:"tools,omitzero"`  // exact, ns:* or *; default: all
	Capability string         `json:"capability"`      // such as tool:exec; tool:* stands for tool: and the tool's name
}

// LeaseRule answers a request for a lease in a person's place.
type LeaseRule struct {
	Capability string       `json:"capability"`
	Scope      leases.Scope `json:"scope,omitzero"`    // default: everything
	MaxTTL     string       `json:"max_ttl,omitzero"`  // such as 5m; default 1h
	MaxUses    int64        `json:"max_uses,omitzero"` // default 1
	Agents     string       `json:"agents,omitzero"`   // RE2 over the agent's name, unanchored; default: all
	Decision   string       `json:"decision"`          // grant, deny or ask
}

// Leases bound what hooks may lend.
type Leases struct {
	MaxTTL string `json:"max_ttl,omitzero"` // the longest lease that a hook may make, such as 30m; 1s…720h; default 1h
}

func leaseTTL(s string) (time.Duration, bool) {
	if s == "" {
		return 0, true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= time.Second && d <= leases.MaxLifetime
}

func (f *File) validateLeases(c checker) error {
	for i, r := range f.RequireLease {
		at := fmt.Sprintf("/require_lease/%d", i)
		if err := leases.CheckCapability(r.Capability); err != nil {
			return c.errorf(at+"/capability", "%v", err)
		}
		if err := r.Tools.Validate(phases.ScopeTool); err != nil {
			return c.errorf(at+"/tools", "%v", err)
		}
		if r.Phases != nil && len(r.Phases) == 0 || r.Tools != nil && len(r.Tools) == 0 {
			return c.errorf(at, "an empty list matches nothing: leave it out")
		}
		for j, p := range r.Phases {
			if !p.Valid() || p == phases.Audit {
				return c.errorf(fmt.Sprintf("%s/phases/%d", at, j), "%q is not a phase that can be blocked", string(p))
			}
		}
	}
	for i, r := range f.LeaseRules {
		at := fmt.Sprintf("/lease_rules/%d", i)
		if err := leases.CheckCapability(r.Capability); err != nil {
			return c.errorf(at+"/capability", "%v", err)
		}
		if err := r.Scope.Validate(); err != nil {
			return c.errorf(at+"/scope", "%v", err)
		}
		if _, ok := leaseTTL(r.MaxTTL); !ok {
			return c.errorf(at+"/max_ttl", "is a duration such as 5m, from 1s to %v", leases.MaxLifetime)
		}
		if r.MaxUses < 0 || r.MaxUses > leases.MaxUses {
			return c.errorf(at+"/max_uses", "must be between 1 and %d", leases.MaxUses)
		}
		if _, err := regexp.Compile(r.Agents); err != nil {
			return c.errorf(at+"/agents", "not an RE2 pattern")
		}
		switch r.Decision {
		case "grant", "deny", "ask":
		default:
			return c.errorf(at+"/decision", "must be grant, deny or ask")
		}
	}
	if _, ok := leaseTTL(f.Leases.MaxTTL); !ok {
		return c.errorf("/leases/max_ttl", "is a duration such as 30m, from 1s to %v", leases.MaxLifetime)
	}
	return nil
}

// TTL returns max_ttl; 0 means the default. Preconditions: the file was parsed.
func (r *LeaseRule) TTL() time.Duration { d, _ := leaseTTL(r.MaxTTL); return d }

// TTL returns max_ttl; 0 means the default. Preconditions: the file was parsed.
func (l *Leases) TTL() time.Duration { d, _ := leaseTTL(l.MaxTTL); return d }
