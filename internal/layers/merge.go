package layers

import (
	"fmt"
	"slices"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/phases"
)

// lowestPriority is the least that a hook may have.
const lowestPriority = -1000

// keyLayers says of keys, and of elements of lists, which layers they come from; a key that it does not name is the
// organisation's.
type keyLayers map[string][]string

// The layers, as Origin and `belay config effective` name them.
const (
	LayerOrganisation = "organisation"
	LayerUser         = "user"
	LayerApproved     = "approved"  // by a reviewer, for this user
	LayerDirectory    = "directory" // outside of system mode: there is one
)

// restrict puts a user's layer over out, which holds the organisation's and the approved hooks. The error is of class
// config.ErrConfig; out is of no use then.
func restrict(out, user *config.File) (keyLayers, error) {
	from := keyLayers{}
	if err := addHooks(out, user); err != nil {
		return nil, err
	}
	out.Require = addTo(from, "require", out.Require, user.Require)
	out.RequireLease = addTo(from, "require_lease", out.RequireLease, user.RequireLease)
	from.within("scopes.fs_read", phases.ScopePath, &out.Scopes.FSRead, user.Scopes.FSRead)
	from.within("scopes.fs_write", phases.ScopePath, &out.Scopes.FSWrite, user.Scopes.FSWrite)
	from.within("scopes.net", phases.ScopeNet, &out.Scopes.Net, user.Scopes.Net)
	from.within("scopes.tools", phases.ScopeTool, &out.Scopes.Tools, user.Scopes.Tools)
	before := out.UnknownTools
	from.answer("unknown_tools", &out.UnknownTools, user.UnknownTools)
	switch {
	case user.KnownTools == nil:
	case strictness(before) == strictness(phases.Allow): // until now every tool was fine
		out.KnownTools = user.KnownTools
		from["known_tools"] = []string{LayerUser}
	case out.KnownTools != nil: // none is known otherwise, and none is added
		from.within("known_tools", phases.ScopeTool, &out.KnownTools, user.KnownTools)
	}
	shells := user.OpenShells
	if out.OpenShells != "" { // without a word they are blocked
		from.answer("open_shells", &out.OpenShells, shells)
	}
	out.Default = mergeDefault(from, out.Default, user.Default)
	if err := addRedact(from, out, user); err != nil {
		return nil, err
	}
	from.either("latch_changed_calls", &out.LatchChangedCalls, user.LatchChangedCalls)
	from.either("latch_reconcile", &out.LatchReconcile, user.LatchReconcile)
	return from, nil
}

// addHooks binds the user's hooks behind all others. A hook that was asked and says nothing has judged the action:
// where the organisation's default is more than allow, a user's hook would take its place, and keeps it instead. What
// such hooks annotate is kept apart.
func addHooks(out, user *config.File) error {
	if len(user.Hooks) == 0 {
		return nil
	}
	lowest, highest := 0, lowestPriority
	for i, b := range out.Hooks {
		if i == 0 || b.Priority < lowest {
			lowest = b.Priority
		}
	}
	for i, b := range user.Hooks {
		at := fmt.Sprintf("/hooks/%d", i)
		if slices.ContainsFunc(out.Hooks, func(o config.Binding) bool { return o.Name == b.Name }) {
			return user.Errorf(at+"/name", "%q is bound already, by the organisation or with a reviewer's approval", b.Name)
		}
		highest = max(highest, b.Priority)
	}
	down := 0
	if len(out.Hooks) > 0 && highest >= lowest {
		down = highest - lowest + 1
	}
	if highest-down < lowestPriority {
		return user.Errorf("/hooks", "the organisation has a hook of priority %d: none can run behind it", lowest)
	}
	for _, b := range user.Hooks {
		b.Priority = max(b.Priority-down, lowestPriority)
		b.Apart = true // a hook of the organisation may decide by what stands in a run's metadata
		b.KeepsDefault = b.KeepsDefault || slices.ContainsFunc(b.Phases, func(p phases.Phase) bool {
			return strictness(out.Default[p]) > strictness(phases.Allow)
		})
		out.Hooks = append(out.Hooks, b)
	}
	return nil
}

func addRedact(from keyLayers, out, user *config.File) error {
	for i, p := range user.Redact.Patterns {
		if slices.ContainsFunc(slices.Concat(out.Redact.Patterns, out.Redact.Recorded.Patterns),
			func(o config.Pattern) bool { return o.Name == p.Name }) {
			return user.Errorf(fmt.Sprintf("/redact/patterns/%d/name", i), "the organisation has another pattern of that name")
		}
	}
	// In records alone: what hooks of the organisation store they read again, and decide by it.
	recorded := &out.Redact.Recorded
	recorded.Masks = addTo(from, "redact.recorded.masks", recorded.Masks, user.Redact.Masks)
	recorded.Patterns = addTo(from, "redact.recorded.patterns", recorded.Patterns, user.Redact.Patterns)
	recorded.Keys = addTo(from, "redact.recorded.keys", recorded.Keys, user.Redact.Keys)
	if user.Redact.Profile == "strict" && out.Redact.Profile != "strict" {
		out.Redact.Profile = user.Redact.Profile
		from["redact.profile"] = []string{LayerUser}
	}
	return nil
}

// mergeDefault returns for each phase the stricter answer.
func mergeDefault(from keyLayers, org, user map[phases.Phase]phases.Decision) map[phases.Phase]phases.Decision {
	if len(user) == 0 {
		return org
	}
	out := map[phases.Phase]phases.Decision{}
	for p, d := range org {
		out[p] = d
	}
	for p, d := range user {
		now := out[p]
		from.answer("default."+string(p), &now, d)
		out[p] = now
	}
	return out
}

// strictness orders answers. Nothing said is an allow.
func strictness(d phases.Decision) int {
	return max(0, slices.Index([]phases.Decision{phases.Allow, phases.Ask, phases.Block}, d))
}

// answer has the stricter of two answers count.
func (from keyLayers) answer(key string, now *phases.Decision, user phases.Decision) {
	if strictness(user) > strictness(*now) {
		*now = user
		from[key] = []string{LayerUser}
	}
}

// within narrows a scope to what both allow.
func (from keyLayers) within(key string, kind phases.ScopeKind, now *phases.Scope, user phases.Scope) {
	if user == nil {
		return
	}
	from[key] = []string{LayerUser}
	if *now != nil {
		from[key] = []string{LayerOrganisation, LayerUser}
	}
	*now = now.Intersect(kind, user)
}

func (from keyLayers) either(key string, now *bool, user bool) {
	if user && !*now {
		*now = true
		from[key] = []string{LayerUser}
	}
}

// addTo appends the elements of the user's.
func addTo[T any](from keyLayers, key string, org, user []T) []T {
	for i := range user {
		from[fmt.Sprintf("%s[%d]", key, len(org)+i)] = []string{LayerUser}
	}
	return slices.Concat(org, user)
}
