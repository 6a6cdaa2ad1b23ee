package phases

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
