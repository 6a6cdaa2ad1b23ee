package kernel_test

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func awaitedCall(id string) kernel.InvokeOptions {
	return kernel.InvokeOptions{Call: &kernel.Call{ID: id, Awaited: true}}
}

// tells is an event that tells of calls before it.
func tells(r kernel.Results) kernel.InvokeOptions { return kernel.InvokeOptions{Results: &r} }

// lost counts the results that were recorded as missed.
func (h *host) lost(t *testing.T) int {
	t.Helper()
	n := 0
	for _, e := range h.mismatches(t) {
		if e.Decision == kernel.CallUndecided {
			n++
		}
	}
	return n
}

// A released call whose result was never decided is found when it is over, unless it did not run, its
// person was asked, or the runtime's record says that the model reads nothing of it.
func TestMissedResultsAreFound(t *testing.T) {
	over := kernel.Results{Over: true}
	told := func(reads bool) kernel.Results {
		return kernel.Results{Over: true, Told: func() map[string]bool { return map[string]bool{"c-1": reads} }}
	}
	final := invocation(phases.PostReceive)
	request := asked(`{"command":"ls"}`) // of PermissionRequest: it names no call
	other := request
	other.Action = jsontext.Value(`{"tool":"exec","args":{"command":"rm"}}`)
	subagent := final
	subagent.Agent = "helper/1"
	deny := []hook{{name: "b", run: effects(block("no"))}}
	type event struct {
		inv phases.Invocation
		o   kernel.InvokeOptions
	}
	before, after := event{asked(`{"command":"ls"}`), awaitedCall("c-1")},
		event{ran(`{"command":"ls"}`), awaitedCall("c-1")}
	for name, c := range map[string]struct {
		hooks  []hook
		events []event
		want   int
	}{
		"decided":           {nil, []event{before, after, {final, tells(over)}}, 0},
		"never told":        {nil, []event{before, {final, tells(over)}}, 1},
		"told of once only": {nil, []event{before, {final, tells(over)}, {final, tells(over)}}, 1},
		"still running":     {nil, []event{before, {final, tells(kernel.Results{})}}, 0},
		"of another agent":  {nil, []event{before, {subagent, tells(over)}}, 0},
		"not awaited":       {nil, []event{{before.inv, ofCall("c-1")}, {final, tells(over)}}, 0},
		"refused":           {deny, []event{before, {final, tells(over)}}, 0},
		"late":              {nil, []event{before, {final, tells(kernel.Results{Late: []string{"c-1"}})}}, 1},
		"late, and decided": {nil, []event{before, after, {final, tells(kernel.Results{Late: []string{"c-1"}})}}, 0},
		"another is late":   {nil, []event{before, {final, tells(kernel.Results{Late: []string{"c-2"}})}}, 0},
		"never ran": {nil,
			[]event{before, {final, tells(kernel.Results{Never: []string{"c-1"}, Over: true})}}, 0},
		"the person was asked": {nil,
			[]event{before, {request, tells(kernel.Results{Asked: true})}, {final, tells(over)}}, 0},
		"asked about another": {nil, []event{before, {other, tells(kernel.Results{Asked: true})}, {final, tells(over)}},
			1},
		"asked, and it ran":         {nil, []event{before, {request, tells(kernel.Results{Asked: true})}, after}, 0},
		"the record has a result":   {nil, []event{before, {final, tells(told(true))}}, 1},
		"the record has none":       {nil, []event{before, {final, tells(told(false))}}, 0},
		"the record does not say":   {nil, []event{{before.inv, awaitedCall("c-2")}, {final, tells(told(false))}}, 1},
		"decided a second time":     {nil, []event{before, after, before, {final, tells(over)}}, 1},
		"two at once, one is lost":  {nil, []event{before, {before.inv, awaitedCall("c-2")}, after, {final, tells(over)}}, 1},
		"two at once, two are lost": {nil, []event{before, {before.inv, awaitedCall("c-2")}, {final, tells(over)}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, c.hooks)
			for _, e := range c.events {
				v := h.invoke(t, e.inv, e.o)
				if c.hooks == nil && v.Decision != phases.Allow {
					t.Fatalf("%s: %s %s", e.inv.Phase, v.Decision, v.Reason)
				}
			}
			if got := h.lost(t); got != c.want {
				t.Errorf("%d missed results are recorded, want %d", got, c.want)
			}
			if n, err := h.Mismatches(t.Context()); n.Undecided != c.want || n.Changed+n.Unasked != 0 || err != nil {
				t.Errorf("counted %+v, %v", n, err)
			}
			if latches, err := h.Latches(t.Context()); err != nil || len(latches) != 0 {
				t.Errorf("latched without the setting: %v %v", latches, err)
			}
		})
	}
}

// With the setting the event that shows a missed result is blocked, and the session is held.
func TestMissedResultsLatch(t *testing.T) {
	h := newHost(t, nil, func(cfg *kernel.Config, _ *kernel.Options) { cfg.LatchChangedCalls = true })
	h.invoke(t, asked(`{}`), awaitedCall("c-1"))
	v := h.invoke(t, invocation(phases.PrePlan), tells(kernel.Results{Over: true}))
	if v.Decision != phases.Block || v.Kind != phases.KindMismatch || v.DecidedBy != "belay" {
		t.Errorf("%s %s %s", v.Decision, v.Kind, v.Reason)
	}
	if latches, err := h.Latches(t.Context()); err != nil || len(latches) != 1 {
		t.Errorf("%+v, %v", latches, err)
	}
	if v := h.invoke(t, invocation(phases.PrePlan)); v.Decision != phases.Block {
		t.Errorf("the next prompt: %s", v.Decision)
	}
}

// A call that is delegated to the runtime's own prompt may be refused there without a word.
func TestAskedCallIsNotMissed(t *testing.T) {
	h := newHost(t, []hook{{name: "a", caps: []string{"request_approval"}, run: effects(ask("sure?"))}})
	o := awaitedCall("c-1")
	o.Delegated = true
	if v := h.invoke(t, asked(`{}`), o); v.Enforced != phases.EnforcedDelegated {
		t.Fatalf("%s %s", v.Decision, v.Enforced)
	}
	h.invoke(t, invocation(phases.Audit), tells(kernel.Results{Over: true}))
	if n := h.lost(t); n != 0 {
		t.Errorf("%d are missed", n)
	}
}

// A spawn that is refused after its call was released is awaited no more.
func TestRefusedSpawnIsNotAwaited(t *testing.T) {
	h := newHost(t, []hook{{name: "b", phases: []phases.Phase{phases.Spawn}, run: effects(block("no"))}})
	h.invoke(t, asked(`{"prompt":"go"}`), awaitedCall("c-1"))
	inv := invocation(phases.Spawn)
	inv.Action = jsontext.Value(`{"child":{"agent":"helper","prompt":"go"}}`)
	o := awaitedCall("c-1")
	o.Call.Args, o.Call.Prompt = jsontext.Value(`{"prompt":"go"}`), "/prompt"
	if v := h.invoke(t, inv, o); v.Decision != phases.Block {
		t.Fatalf("%s", v.Decision)
	}
	h.invoke(t, invocation(phases.PostReceive), tells(kernel.Results{Over: true}))
	if n := h.lost(t); n != 0 {
		t.Errorf("%d are missed", n)
	}
}

// Whatever the order of the calls' events is, exactly the released calls without a result are missed.
func TestMissedResultsOfManyCalls(t *testing.T) {
	session := 0
	h := newHost(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		session++
		name := fmt.Sprint("s-", session)
		calls := rapid.IntRange(1, 6).Draw(t, "calls")
		decided := map[int]bool{}
		run := func(inv phases.Invocation, o kernel.InvokeOptions) {
			inv.Session = name
			if v, err := h.InvokeWith(t.Context(), inv, o); err != nil || v.Decision != phases.Allow {
				t.Fatal(v.Decision, err)
			}
		}
		for n := range calls {
			run(asked(fmt.Sprintf(`{"n":%d}`, n)), awaitedCall(fmt.Sprint("c-", n)))
		}
		for _, n := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(t, "order") {
			if n < calls && rapid.Bool().Draw(t, "decided") {
				decided[n] = true
				run(ran(fmt.Sprintf(`{"n":%d}`, n)), awaitedCall(fmt.Sprint("c-", n)))
			}
		}
		before, err := h.Mismatches(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		run(invocation(phases.PostReceive), tells(kernel.Results{Over: true}))
		after, err := h.Mismatches(t.Context())
		if err != nil || (after.Undecided > before.Undecided) != (len(decided) < calls) {
			t.Fatalf("%d of %d decided: %d missed, %v", len(decided), calls, after.Undecided-before.Undecided, err)
		}
	})
}
