package config

import (
	"maps"
	"slices"

	"github.com/belay-hooks/belay/phases"
)

// validateRest checks what decides where no hook does: default has for a phase the answer to actions
// that no hook which could say no was asked about; unknown_tools is the answer to calls of tools that
// no table of belay names, unless a pattern of known_tools does. Without them such actions pass. open_shells
// is the answer to commands that stay open where a runtime does not show what is typed into them; without it
// they are blocked.
func (f *File) validateRest(c checker) error {
	for _, p := range slices.Sorted(maps.Keys(f.Default)) {
		at := phases.Join("/default", string(p))
		if !p.Valid() || p == phases.Audit {
			return c.errorf(at, "%q is not a phase that can be blocked", string(p))
		}
		switch d := f.Default[p]; {
		case d == phases.Allow || d == phases.Block:
		case d != phases.Ask:
			return c.errorf(at, "must be allow, ask or block")
		case !phases.RulesFor(p).Legal(phases.EffectAsk):
			return c.errorf(at, "must be allow or block: nothing can be asked in this phase")
		}
	}
	switch f.UnknownTools {
	case "", phases.Allow, phases.Ask, phases.Block:
	default:
		return c.errorf("/unknown_tools", "must be allow, ask or block")
	}
	switch f.OpenShells {
	case "", phases.Allow, phases.Ask, phases.Block:
	default:
		return c.errorf("/open_shells", "must be allow, ask or block")
	}
	if err := f.KnownTools.Validate(phases.ScopeTool); err != nil {
		return c.errorf("/known_tools", "%v", err)
	}
	return nil
}
