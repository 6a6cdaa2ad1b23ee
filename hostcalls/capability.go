package hostcalls

import (
	"fmt"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// Capability is the right to make one call: the call's name, with an optional
// parameter that narrows it. In text, `name` or `name:parameter`.
//
// Only rewrite takes a parameter so far: a JSON Pointer relative to the action,
// below which (or exactly there) the hook may rewrite.
type Capability struct {
	Name  string
	Param string
}

// String returns the text form.
func (c Capability) String() string {
	if c.Param == "" {
		return c.Name
	}
	return c.Name + ":" + c.Param
}

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

// ParseCapability reads the text form. Every error is errors.Is(err, ErrCapability).
func ParseCapability(s string) (Capability, error) {
	name, param, has := strings.Cut(s, ":")
	if _, ok := LeastTier(name); !ok {
		if c, free := Lookup(name); free && c.Capability == "" {
			return Capability{}, capabilityError(s, "every hook may call it, it is no capability")
		}
		return Capability{}, capabilityError(s, "no such capability")
	}
	c := Capability{Name: name, Param: param}
	switch {
	case !has:
		return c, nil
	case name != "rewrite":
		return Capability{}, capabilityError(s, "takes no parameter")
	case len(param) > MaxPath:
		return Capability{}, capabilityError(s, "the pointer is too long")
	case param == "" || !validPointer(param):
		return Capability{}, capabilityError(s, "the parameter must be a JSON Pointer such as /args")
	}
	return c, nil
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
// for concurrent reading.
type Grants struct {
	names    map[string]bool
	prefixes []string
}

// ParseGrants reads a list of capabilities; duplicates are harmless.
func ParseGrants(list []string) (Grants, error) {
	g := Grants{names: map[string]bool{}}
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

// validPointer reports whether s is an RFC 6901 pointer ("" included).
func validPointer(s string) bool {
	if s != "" && s[0] != '/' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return strings.ToValidUTF8(s, "") == s
}
