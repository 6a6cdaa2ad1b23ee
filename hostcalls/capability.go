package hostcalls

import (
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

// LeastTier returns the least tier that can be granted the capability of the
// name, and false for a name that is not known.
func LeastTier(name string) (phases.Tier, bool) {
	c, ok := Lookup(name)
	if !ok || c.Capability == "" {
		return "", false
	}
	return c.LeastTier, true
}

// ParseCapability reads the text form (see tiers.ParseCapability) and knows which
// calls there are. Every error is errors.Is(err, ErrCapability).
func ParseCapability(s string) (tiers.Capability, error) {
	c, err := tiers.ParseCapability(s)
	if err != nil {
		return tiers.Capability{}, capabilityError(s, "it is malformed")
	}
	if _, ok := LeastTier(c.Name); ok {
		return c, nil
	}
	if _, free := Lookup(c.Name); free {
		return tiers.Capability{}, capabilityError(s, "every hook may call it, it is no capability")
	}
	return tiers.Capability{}, capabilityError(s, "no such capability")
}

// ErrCapability is the class of malformed or unknown capabilities.
var ErrCapability = &Error{Text: "bad capability"}

// Error is this package's error outside of a turn: text that is safe to show,
// and a class for errors.Is.
type Error struct {
	Text  string
	Class error
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the class.
func (e *Error) Unwrap() error { return e.Class }

func capabilityError(s, why string) error {
	if len(s) > 64 {
		s = s[:64] + "…"
	}
	return &Error{Text: fmt.Sprintf("capability %q: %s", s, why), Class: ErrCapability}
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
	g := Grants{names: map[string]bool{}}
	g.rewrite, g.effects = phases.GrantsOf(list)
	for _, s := range list {
		c, err := ParseCapability(s)
		if err != nil {
			return Grants{}, err
		}
		g.names[c.Name] = true
		if c.Name == "rewrite" && !slices.Contains(g.prefixes, c.Param) {
			g.prefixes = append(g.prefixes, c.Param)
		}
	}
	slices.Sort(g.prefixes)
	if len(g.prefixes) > 0 && g.prefixes[0] == "" {
		g.prefixes = []string{""}
	}
	return g, nil
}

// Has reports whether the call of the name may be made at all.
func (g Grants) Has(name string) bool { return g.names[name] }

// RewritePrefixes returns the JSON Pointers at or below which a rewrite is
// granted, sorted; [""] means everything that the phase permits, none means that
// rewrite is not granted. The slice is the caller's.
func (g Grants) RewritePrefixes() []string { return slices.Clone(g.prefixes) }
