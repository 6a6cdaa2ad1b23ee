package hostcalls

import (
	"errors"
	"fmt"
	"slices"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Known returns the names of all capabilities, sorted. The slice is the caller's.
func Known() []string {
	var names []string
	for _, c := range Table() {
		if c.Capability != "" {
			names = append(names, c.Capability)
		}
	}
	slices.Sort(names)
	return names
}

// leastTier returns the least tier that can be granted the capability of the
// name, and false for a name that is not known.
func leastTier(name string) (phases.Tier, bool) {
	c, ok := Lookup(name)
	if !ok || c.Capability == "" {
		return "", false
	}
	return c.LeastTier, true
}

// parseCapability reads the text form (see tiers.ParseCapability) and knows which
// calls there are. Every error is errors.Is(err, ErrCapability).
func parseCapability(s string) (tiers.Capability, error) {
	c, err := tiers.ParseCapability(s)
	if err != nil {
		return tiers.Capability{}, capabilityError(s, "it is malformed")
	}
	if _, ok := leastTier(c.Name); ok {
		return c, nil
	}
	if _, free := Lookup(c.Name); free {
		return tiers.Capability{}, capabilityError(s, "every hook may call it, it is no capability")
	}
	return tiers.Capability{}, capabilityError(s, "no such capability")
}

// ErrCapability is the class of malformed or unknown capabilities.
var ErrCapability = errors.New("bad capability")

// capabilityProblem is an error of class ErrCapability whose text is safe to show.
type capabilityProblem struct{ text string }

func (e *capabilityProblem) Error() string { return e.text }

func (e *capabilityProblem) Unwrap() error { return ErrCapability }

func capabilityError(s, why string) error {
	if len(s) > 64 {
		s = s[:64] + "…"
	}
	return &capabilityProblem{fmt.Sprintf("capability %q: %s", s, why)}
}

// Grants is a set of capabilities. The zero value grants nothing. It is safe
// for concurrent reading. A hook's are read when it is bound, not at each turn.
type Grants struct {
	names    map[string]bool
	prefixes []string

	rewrite []string // what phases.Actor has of them
	effects map[phases.EffectKind]bool
}

// ParseGrants reads a list of capabilities; duplicates are harmless. Every error is
// errors.Is(err, ErrCapability).
func ParseGrants(list []string) (Grants, error) {
	grants := Grants{names: map[string]bool{}}
	grants.rewrite, grants.effects = phases.GrantsOf(list)
	for _, s := range list {
		c, err := parseCapability(s)
		if err != nil {
			return Grants{}, err
		}
		grants.names[c.Name] = true
		if c.Name == "rewrite" && !slices.Contains(grants.prefixes, c.Param) {
			grants.prefixes = append(grants.prefixes, c.Param)
		}
	}
	slices.Sort(grants.prefixes)
	if len(grants.prefixes) > 0 && grants.prefixes[0] == "" {
		grants.prefixes = []string{""}
	}
	return grants, nil
}

// Has reports whether the call of the name may be made at all.
func (g Grants) has(name string) bool { return g.names[name] }

// RewritePrefixes returns the JSON Pointers at or below which a rewrite is
// granted, sorted; [""] means everything that the phase permits, none means that
// rewrite is not granted. The slice is the caller's.
func (g Grants) rewritePrefixes() []string { return slices.Clone(g.prefixes) }
