package tiers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/belay-hooks/belay/phases"
)

// Capability is a power by name: the name of a hostcall, with a parameter where
// the power can be narrowed (rewrite:/args: a JSON Pointer prefix).
type Capability struct {
	Name  string
	Param string // empty means the whole of it
}

var capabilityName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-z][a-z0-9_]{0,63}\z`) })

// ParseCapability parses NAME or NAME:PARAM. Errors are of class ErrCapability.
func ParseCapability(s string) (Capability, error) {
	name, param, has := strings.Cut(s, ":")
	capability := Capability{Name: name, Param: param}
	bad := func(text string) (Capability, error) {
		return Capability{}, &Error{Class: ErrCapability, Text: fmt.Sprintf("%q: %s", clip(s), text)}
	}
	switch {
	case !capabilityName().MatchString(name):
		return bad("a capability is named as its hostcall, in lower case")
	case has && param == "":
		return bad("nothing stands after the colon")
	case len(param) > 256 || !utf8.ValidString(param) || strings.ContainsFunc(param, isControl):
		return bad("the parameter is too long or holds control characters")
	case has && name == "rewrite" && !validPointer(param):
		return bad("rewrite takes a JSON Pointer prefix such as rewrite:/args")
	case has && name != "rewrite":
		return bad("this capability takes no parameter")
	}
	return capability, nil
}

// String returns the capability as it is written.
func (c Capability) String() string {
	if c.Param == "" {
		return c.Name
	}
	return c.Name + ":" + c.Param
}

// covers reports whether holding c includes d.
func (c Capability) covers(d Capability) bool {
	switch {
	case c.Name != d.Name:
		return false
	case c.Name == "rewrite" && namedOnly(d.Param) && !namedOnly(c.Param):
		return false
	case c.Param == "" || c.Param == d.Param:
		return true
	case c.Name == "rewrite":
		return d.Param != "" && strings.HasPrefix(d.Param, c.Param+"/")
	}
	return false
}

// namedOnly reports pointers that a phase permits to rewrite only where the grant
// names them, such as /model: nothing wider includes them.
func namedOnly(pointer string) bool {
	for _, p := range phases.Phases() {
		for _, rule := range phases.RulesFor(p).Rewrite {
			if rule.Explicit && phases.Covers(rule.Pointer, pointer) {
				return true
			}
		}
	}
	return false
}

// floor lists the capabilities that only a trusted hook may hold, whatever an operator
// writes: they act without asking a person.
var floor = []string{"grant", "mint_lease", "revoke_lease", "http_request"}

// Ceiling reports whether a tier may hold the capability at all. proposed and
// sandboxed differ in where they run, not in what they may import: a proposal
// only ever runs on recorded inputs.
func Ceiling(t phases.Tier, c Capability) bool {
	if t.Rank() == 0 {
		return false
	}
	return t == phases.Trusted || !slices.Contains(floor, c.Name)
}

// Grant is the outcome for one capability that a manifest asks for.
type Grant struct {
	Capability Capability
	Granted    []Capability // the capabilities held: itself, narrower ones, or none
	Why        string       // one sentence for `belay hook inspect`
	Tier       bool         // refused by the ceiling of the tier
}

// Effective cuts the capabilities that a manifest declares down to what the
// binding allows and the tier may hold: manifest ∩ binding ∩ ceiling. The
// result has one Grant for every declared capability, in the manifest's order.
func Effective(m *Manifest, allowed []Capability, t phases.Tier) []Grant {
	out := make([]Grant, 0, len(m.Capabilities))
	for _, want := range m.Capabilities {
		c, err := ParseCapability(want.Name)
		g := Grant{Capability: c}
		switch {
		case err != nil:
			g.Why = "refused: " + err.Error()
		case !Ceiling(t, c):
			g.Tier, g.Why = true, fmt.Sprintf("refused: no %s hook may hold %s", t, c.Name)
		default:
			g.Granted, g.Why = meet(c, allowed)
		}
		out = append(out, g)
	}
	return out
}

// Held returns the capabilities that the grants give.
func Held(grants []Grant) []string {
	var out []string
	for _, g := range grants {
		for _, c := range g.Granted {
			if s := c.String(); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

func meet(want Capability, allowed []Capability) ([]Capability, string) {
	var narrow []Capability
	for _, a := range allowed {
		if a.covers(want) {
			return []Capability{want}, "granted"
		}
		if want.covers(a) && !slices.Contains(narrow, a) {
			narrow = append(narrow, a)
		}
	}
	if len(narrow) > 0 {
		names := make([]string, len(narrow))
		for i, c := range narrow {
			names[i] = c.String()
		}
		return narrow, "granted in part: " + strings.Join(names, ", ")
	}
	return nil, "refused: the operator does not allow it"
}

func validPointer(p string) bool {
	if !strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") {
		return false
	}
	for i := 0; i < len(p); i++ {
		if p[i] == '~' && (i+1 == len(p) || p[i+1] != '0' && p[i+1] != '1') {
			return false
		}
	}
	return true
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 }

func clip(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}
