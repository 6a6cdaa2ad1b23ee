package dispatch

import (
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// noteHeld adds to the verdict what a caller must enforce that has declared to hold the action to its scopes itself
// (holds_scopes): belay has not checked it.
func noteHeld(v *phases.Verdict) {
	if !v.Runs() {
		return
	}
	if limits := scopeLimits(&v.Scopes); len(limits) > 0 {
		v.Notes = append(v.Notes, "you must enforce: "+strings.Join(limits, "; ")+
			". belay has not held the action to these scopes")
	}
}

const maxScopeText = 300 // of one kind of scope, in bytes

// scopeLimits says of each kind of scope that is restricted what it leaves.
func scopeLimits(s *phases.Scopes) []string {
	var out []string
	for _, k := range []struct {
		scope    phases.Scope
		kind     phases.ScopeKind
		may, not string
	}{
		{s.FSRead, phases.ScopePath, "read only ", "read no file"},
		{s.FSWrite, phases.ScopePath, "write only ", "write no file"},
		{s.Net, phases.ScopeNet, "reach only ", "reach no host"},
		{s.Tools, phases.ScopeTool, "use only the tools ", "use no tool"},
	} {
		switch {
		case k.scope.Contains(k.kind, nil): // everything
		case len(k.scope) == 0:
			out = append(out, k.not)
		default:
			out = append(out, k.may+phases.SafeLine(strings.Join(k.scope, ", "), maxScopeText))
		}
	}
	return out
}
