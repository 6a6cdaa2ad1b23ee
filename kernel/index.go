package kernel

import (
	"cmp"
	"slices"
	"sync"

	"github.com/belay-hooks/belay/phases"
)

// A caller chooses the names of tools and agents, so that there is no end to them. An index that has
// maxIndexed answers begins anew, and no answer is kept for names of more than maxIndexedName bytes.
const (
	maxIndexed     = 512
	maxIndexedName = 1 << 10
)

// index answers which hooks are asked about an invocation. It compares the bindings of a snapshot
// with what their matchers look at once, and keeps the answer: later on, hooks that do not match cost
// nothing. It is safe for concurrent use.
type index struct {
	bindings []*binding // in the order in which they run
	agents   bool       // a matcher looks at the agent's name

	mu    sync.RWMutex
	known map[indexKey][]*binding
}

// indexKey is all that a matcher looks at.
type indexKey struct {
	phase                phases.Phase
	runtime, agent, tool string
}

func newIndex(bindings []*binding) *index {
	x := &index{bindings: bindings, known: map[indexKey][]*binding{}}
	for n, b := range bindings {
		b.place = n
		x.agents = x.agents || !b.agents.All()
	}
	return x
}

// hooks returns the hooks that are asked about the invocation, whose tool has the given names, in
// the order in which they run. The caller changes nothing in the slice.
func (x *index) hooks(inv *phases.Invocation, tool []string) []*binding {
	switch {
	case inv.Phase != phases.PreTool && inv.Phase != phases.PostTool:
		return x.named(inv, "")
	case len(tool) == 0:
		return nil
	case len(tool) == 1:
		return x.named(inv, tool[0])
	}
	var list []*binding
	for _, name := range tool {
		list = append(list, x.named(inv, name)...)
	}
	return inOrder(list)
}

// inOrder sorts bindings as they run, each once.
func inOrder(list []*binding) []*binding {
	slices.SortFunc(list, func(a, b *binding) int { return cmp.Compare(a.place, b.place) })
	return slices.Compact(list)
}

// named returns the hooks that are asked about a tool of that one name.
func (x *index) named(inv *phases.Invocation, tool string) []*binding {
	key := indexKey{phase: inv.Phase, runtime: inv.Runtime, tool: tool}
	if x.agents {
		key.agent = inv.Agent
	}
	x.mu.RLock()
	list, ok := x.known[key]
	x.mu.RUnlock()
	if ok {
		return list
	}
	for _, b := range x.bindings {
		if b.matches(inv, tool) {
			list = append(list, b)
		}
	}
	if len(key.runtime)+len(key.agent)+len(key.tool) > maxIndexedName {
		return list
	}
	list = slices.Clip(list)
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.known) >= maxIndexed {
		clear(x.known)
	}
	x.known[key] = list
	return list
}
