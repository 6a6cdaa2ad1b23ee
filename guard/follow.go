package guard

import (
	"cmp"
	"context"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Spawn decides the start of a child agent and returns the Guard of the child, through
// which everything goes that the child does. The child may touch what its parent may, or
// what the verdict leaves of that, and use the tools that the final action names, if it
// names any. For a child with less, spawn it from Within. Parent and Depth are filled in.
//
// The child has to be started as the returned action says. The error is an *Error, and
// the Guard nil.
func (g *Guard) Spawn(ctx context.Context, a phases.SpawnAction) (*Guard, Allowed[phases.SpawnAction], error) {
	if g == nil {
		g = &Guard{}
	}
	a.Parent, a.Depth = cmp.Or(a.Parent, g.o.Agent), max(a.Depth, g.depth+1)
	parent := g.o.Scopes.Clone()
	// The Guard of the child holds it to the scopes, which the kernel cannot.
	may, err := decide(ctx, g, phases.Spawn, a, kernel.InvokeOptions{HoldsScopes: true, ParentScopes: &parent})
	if err != nil {
		return nil, may, err
	}
	child := g.Within(may.Verdict.Scopes)
	if tools := may.Action.Child.Tools; tools != nil {
		child = child.Within(phases.Scopes{Tools: g.toolScope(tools)})
	}
	child.o.Agent, child.depth = may.Action.Child.Agent, may.Action.Depth
	return child, may, nil
}

// toolScope returns the scope of a list of the agent's own names of tools.
func (g *Guard) toolScope(tools []string) phases.Scope {
	scope := phases.Scope{}
	for _, t := range tools {
		name, ok := g.o.Tools[t]
		if !ok {
			name, _ = phases.NormalizeTool(g.o.Runtime, t)
		}
		scope = append(scope, name)
	}
	return scope
}

// Transition decides a change of state and returns the Guard of the new state, through
// which everything goes until the next change: where hooks narrow what may be touched in
// that state, it holds the agent to it. Change state from the Guard that New returned,
// not from that of another state, whose scopes only shrink.
//
// The error is an *Error, the Guard is nil, and the state stays.
func (g *Guard) Transition(
	ctx context.Context, a phases.StateTransitionAction,
) (*Guard, Allowed[phases.StateTransitionAction], error) {
	may, err := decide(ctx, g, phases.StateTransition, a, kernel.InvokeOptions{HoldsScopes: true})
	if err != nil {
		return nil, may, err
	}
	return g.Within(may.Verdict.Scopes), may, nil
}
