package tiers

import (
	"fmt"
	"slices"
	"strings"
)

// Lack is a hostcall that a hook imports and was not granted.
type Lack struct {
	Name  string   // of the hostcall
	Wants []string // capabilities of that name which its manifest declares
	Tier  bool     // the hook's tier may not hold it, whatever an operator allows
	Why   string   // of the first of them, as in Grant
}

// Lacks returns the imports that no grant covers, without those that the manifest lists
// as optional. A hook with one of them must not be loaded: a call that is always denied
// is a rule that silently does not hold. A capability that was granted in part counts
// as granted.
func Lacks(manifest *Manifest, imports []string, grants []Grant) []Lack {
	var out []Lack
	for _, name := range imports {
		lack := Lack{Name: name, Tier: true}
		held := false
		for _, g := range grants {
			if g.Capability.Name != name {
				continue
			}
			held = held || len(g.Granted) > 0
			lack.Wants = append(lack.Wants, g.Capability.String())
			lack.Tier = lack.Tier && g.Tier
			if lack.Why == "" {
				lack.Why = g.Why
			}
		}
		if len(lack.Wants) > 0 && !held && !manifest.CanDoWithout(name) {
			out = append(out, lack)
		}
	}
	return out
}

// CanDoWithout reports whether the manifest lists the hostcall as optional.
func (m *Manifest) CanDoWithout(hostcall string) bool { return slices.Contains(m.Optional, hostcall) }

// validateOptional checks that the list names hostcalls of the capabilities, each once.
func (m *Manifest) validateOptional() error {
	if len(m.Optional) > 128 {
		return manifestError("/optional", "the list is too long", nil)
	}
	for i, name := range m.Optional {
		at := fmt.Sprintf("/optional/%d", i)
		declared := slices.ContainsFunc(m.Capabilities, func(w WantedCapability) bool {
			of, _, _ := strings.Cut(w.Name, ":")
			return of == name
		})
		switch {
		case !declared:
			return manifestError(at, fmt.Sprintf("%q is not the hostcall of a capability that the hook declares", clip(name)),
				nil)
		case slices.Contains(m.Optional[:i], name):
			return manifestError(at, "listed twice", nil)
		}
	}
	return nil
}
