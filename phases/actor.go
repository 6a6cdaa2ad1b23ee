package phases

import (
	"slices"
	"strings"
)

// Actor is a hook as the chain sees it: its identity and its grants.
type Actor struct {
	Hook         string // binding name
	Digest       string // sha256:<hex> of the module file
	ConfigDigest string // sha256:<hex> of the binding's configuration, or empty
	Tier         Tier
	Mode         Mode // empty means enforce
	// Apart is set when what the hook annotates is kept apart (see ApartPrefix). Only such hooks see it.
	Apart bool
	// Mutator is set when the hook's manifest lists the phase under "mutates":
	// it may rewrite, redact and clamp in the mutate pass. Called again in the
	// validate pass it may repeat itself, but not change anything.
	Mutator bool
	// Rewrite lists the pointers below which the hook may rewrite; "" means
	// everything that the phase permits without naming it. None means no rewrite.
	Rewrite []string
	// Grants holds the kinds of effects that the hook was granted; rewrite needs
	// an entry in Rewrite instead. Nothing is granted by default.
	Grants map[EffectKind]bool
}

// GrantsOf reads an actor's Rewrite and Grants off a list of granted
// capabilities ("block", "rewrite:/args", "add_context"…). Capabilities that are
// no effects are skipped.
func GrantsOf(capabilities []string) (rewrite []string, grants map[EffectKind]bool) {
	grants = map[EffectKind]bool{}
	for _, c := range capabilities {
		name, param, hasParam := strings.Cut(c, ":")
		for _, k := range EffectKinds() {
			switch {
			case k.Capability() != name:
			case k == EffectRewrite:
				if !hasParam || param != "" { // "rewrite:" alone is a mistake: it grants nothing
					rewrite = append(rewrite, param)
				}
			case !hasParam:
				grants[k] = true
			}
		}
	}
	slices.Sort(rewrite)
	return slices.Compact(rewrite), grants
}

// mayRewrite reports whether the hook was granted a rewrite at ptr, which rule permits.
func (a Actor) mayRewrite(rule RewriteRule, ptr string) bool {
	return slices.ContainsFunc(a.Rewrite, func(g string) bool {
		if rule.Explicit && !Covers(rule.Pointer, g) {
			return false // "" and wider prefixes do not name it
		}
		return Covers(g, ptr)
	})
}

func (a Actor) granted(k EffectKind) bool {
	if k == EffectRewrite {
		return len(a.Rewrite) > 0
	}
	return a.Grants[k]
}

func (a Actor) observes() bool { return a.Mode == Observe }

// Tier says how far a hook is trusted. It comes from proof (a signature, a
// digest compiled into the binary, an approval), never from the module's own word.
type Tier string

// The tiers, from least to most trusted.
const (
	Proposed  Tier = "proposed"  // written by an agent, not yet approved; never runs on live traffic
	Sandboxed Tier = "sandboxed" // installed by the operator; the default
	Trusted   Tier = "trusted"   // signature satisfies the operator's trust policy, or embedded in the binary
)

// Rank orders tiers: 1 proposed, 2 sandboxed, 3 trusted; 0 for anything else,
// so that an unknown tier is below every other.
func (t Tier) Rank() int {
	switch t {
	case Proposed:
		return 1
	case Sandboxed:
		return 2
	case Trusted:
		return 3
	}
	return 0
}
