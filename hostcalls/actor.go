package hostcalls

import "github.com/belay-hooks/belay/phases"

// Actor is the hook that asks: its binding's name and its tier.
type Actor struct {
	Hook string
	Tier phases.Tier
}
