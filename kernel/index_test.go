package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// madeBindings returns bindings with all kinds of matchers.
func madeBindings(t *testing.T, rnd *rand.Rand, n int) []*binding {
	t.Helper()
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	var out []*binding
	for range n {
		m := tiers.Match{Tools: pick("", "*", "exec", "^(read|write)$", "mcp:x:"), Agents: pick("", "*", "^main$", "sub"),
			Any: true}
		if rnd.IntN(3) == 0 {
			m.Runtimes = []string{pick("codex", "claude-code")}
		}
		b := &binding{}
		if rnd.IntN(4) > 0 {
			b.phases = []phases.Phase{phases.Phases()[rnd.IntN(8)], phases.PreTool}[:1+rnd.IntN(2)]
		}
		b.setMatch(&m)
		if b.fault != nil {
			t.Fatal(b.fault)
		}
		out = append(out, b)
	}
	return out
}

// The index gives the answer that the bindings themselves give, for one name of a tool and for more,
// the first time and later on.
func TestTheIndexSaysWhatTheMatchersSay(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	found := 0
	for range 50 {
		bindings := madeBindings(t, rnd, 1+rnd.IntN(20))
		x := newIndex(bindings)
		for range 200 {
			inv := phases.Invocation{Phase: phases.Phases()[rnd.IntN(8)], Runtime: pick("codex", "claude-code", "custom"),
				Agent: pick("", "main", "submarine", "other")}
			var tool []string
			for range rnd.IntN(4) {
				tool = append(tool, pick("exec", "read", "mcp:x:y", "odd"))
			}
			isTool := inv.Phase == phases.PreTool || inv.Phase == phases.PostTool
			var want []*binding
			for _, b := range bindings {
				if !isTool && b.matches(&inv, "") ||
					isTool && slices.ContainsFunc(tool, func(name string) bool { return b.matches(&inv, name) }) {
					want = append(want, b)
				}
			}
			if got := x.hooks(&inv, tool); !slices.Equal(got, want) {
				t.Fatalf("%+v %q: %d hooks, want %d", inv, tool, len(got), len(want))
			}
			found += len(want)
		}
	}
	if found == 0 {
		t.Error("nothing ever matched")
	}
}

// What was asked once is answered without a look at any matcher: hooks that do not match cost nothing.
func TestAnAnswerIsLookedUp(t *testing.T) {
	bindings := madeBindings(t, rand.New(rand.NewPCG(3, 4)), 30)
	x := newIndex(bindings)
	inv := phases.Invocation{Phase: phases.PreTool, Runtime: "codex", Agent: "main"}
	before := x.hooks(&inv, []string{"exec"})
	for _, b := range bindings {
		b.tools, b.agents = nil, nil // a look at them would panic
	}
	if after := x.hooks(&inv, []string{"exec"}); len(before) == 0 || !slices.Equal(before, after) {
		t.Errorf("%d hooks, then %d", len(before), len(after))
	}
}

// Callers choose names of tools and agents: an index stays small whatever they send, and several
// callers use it at once.
func TestAnIndexStaysSmall(t *testing.T) {
	x := newIndex(madeBindings(t, rand.New(rand.NewPCG(5, 6)), 5))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := range 2 * maxIndexed {
				inv := phases.Invocation{Phase: phases.PreTool, Agent: fmt.Sprint(g, n)}
				x.hooks(&inv, []string{"exec", strings.Repeat("x", maxIndexedName)})
			}
		})
	}
	wg.Wait()
	if n := len(x.known); n == 0 || n > maxIndexed {
		t.Errorf("%d answers are kept", n)
	}
	for key := range x.known {
		if len(key.tool) >= maxIndexedName {
			t.Error("an answer for a long name is kept")
		}
	}
}
