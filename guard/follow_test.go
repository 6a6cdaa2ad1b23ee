package guard_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/guard"
	"github.com/belay-hooks/belay/phases"
)

// A request is sent as hooks leave it, once or not at all, and an answer is used as they
// leave it or not at all.
func TestSend(t *testing.T) {
	type verdicts = map[phases.Phase]func(phases.Invocation) (phases.Verdict, error)
	set := func(ptr, value string) func(*phases.Verdict) {
		return func(v *phases.Verdict) { v.Action, _ = phases.Set(v.Action, ptr, jsontext.Value(value)) }
	}
	for name, c := range map[string]struct {
		answers verdicts
		fails   error
		sent    []string // models
		got     string
		class   error
		phase   phases.Phase
		asked   []phases.Phase
	}{
		"allow": {sent: []string{"big"}, got: "hello", asked: []phases.Phase{phases.PreSend, phases.PostReceive}},
		"rewrite": {answers: verdicts{phases.PreSend: always(phases.Allow, set("/model", `"small"`)),
			phases.PostReceive: always(phases.Allow, set("/text", `"bye"`))}, sent: []string{"small"}, got: "bye",
			asked: []phases.Phase{phases.PreSend, phases.PostReceive}},
		"block": {answers: verdicts{phases.PreSend: always(phases.Block)}, class: guard.ErrBlocked, phase: phases.PreSend,
			asked: []phases.Phase{phases.PreSend}},
		"withheld": {answers: verdicts{phases.PostReceive: always(phases.Block)}, sent: []string{"big"},
			class: guard.ErrBlocked, phase: phases.PostReceive, asked: []phases.Phase{phases.PreSend, phases.PostReceive}},
		"replied": {answers: verdicts{phases.PreSend: always(phases.Allow,
			func(v *phases.Verdict) { v.Reply = &phases.Reply{Text: "cached"} })}, got: "cached",
			asked: []phases.Phase{phases.PreSend, phases.PostReceive}},
		"fails": {fails: errHost, sent: []string{"big"}, asked: []phases.Phase{phases.PreSend}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &fakeHost{answers: c.answers}
			var sent []string
			got, err := guard.New(h, guard.Options{}).Send(t.Context(), phases.PreSendAction{Provider: "p", Model: "big"},
				func(_ context.Context, r phases.PreSendAction) (phases.PostReceiveAction, error) {
					sent = append(sent, r.Model)
					return phases.PostReceiveAction{Kind: "final", Text: "hello"}, c.fails
				})
			same(t, "sent", sent, c.sent...)
			same(t, "phases", h.phases(), c.asked...)
			switch {
			case c.class != nil:
				refused(t, err, c.class, c.phase)
			case !errors.Is(err, c.fails):
				t.Errorf("error %v, want %v", err, c.fails)
			}
			if got.Action.Text != c.got {
				t.Errorf("got %q, want %q", got.Action.Text, c.got)
			}
		})
	}
	h := &fakeHost{answers: verdicts{
		phases.PreSend:     always(phases.Allow, func(v *phases.Verdict) { v.Contexts = []string{"one"} }),
		phases.PostReceive: always(phases.Allow, func(v *phases.Verdict) { v.Contexts = []string{"two"} }),
	}}
	got, err := guard.New(h, guard.Options{}).Send(t.Context(), phases.PreSendAction{Provider: "p"},
		func(context.Context, phases.PreSendAction) (phases.PostReceiveAction, error) {
			return phases.PostReceiveAction{Kind: "final"}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "contexts", got.Contexts, "one", "two")
}

// A child is held to what the verdict leaves of its parent's scopes, and to its tools.
func TestSpawnInherits(t *testing.T) {
	spawn := func(child phases.Child) phases.SpawnAction { return phases.SpawnAction{Child: child} }
	wide := func(v *phases.Verdict) { v.Scopes = phases.Scopes{} }
	narrow := func(v *phases.Verdict) { v.Scopes.FSWrite = phases.Scope{} }
	for name, c := range map[string]struct {
		child  phases.Child
		change func(*phases.Verdict)
		want   phases.Scopes
	}{
		"the parent's": {phases.Child{Agent: "kid"}, func(*phases.Verdict) {}, belowTmp},
		"never more":   {phases.Child{Agent: "kid"}, wide, belowTmp},
		"less": {phases.Child{Agent: "kid"}, narrow,
			phases.Scopes{FSRead: belowTmp.FSRead, FSWrite: phases.Scope{}}},
		"the tools that it has": {phases.Child{Agent: "kid", Tools: []string{"Read", "mcp__a__b"}}, wide,
			phases.Scopes{FSRead: belowTmp.FSRead, FSWrite: belowTmp.FSWrite, Tools: phases.Scope{"read", "mcp:a:b"}}},
		"the tools that it kept": {phases.Child{Agent: "kid", Tools: []string{"Bash"}},
			func(v *phases.Verdict) { v.Action, _ = phases.Set(v.Action, "/child/tools", jsontext.Value(`[]`)) },
			phases.Scopes{FSRead: belowTmp.FSRead, FSWrite: belowTmp.FSWrite, Tools: phases.Scope{}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &fakeHost{answers: map[phases.Phase]func(phases.Invocation) (phases.Verdict,
				error){phases.Spawn: always(phases.Allow, c.change)}}
			g := guard.New(h, guard.Options{Runtime: "rt", Session: "s-1", Agent: "main", Scopes: belowTmp})
			kid, may, err := g.Spawn(t.Context(), spawn(c.child))
			if err != nil || may.Action.Child.Agent != "kid" || may.Action.Parent != "main" || may.Action.Depth != 1 {
				t.Fatalf("%+v, %v", may.Action, err)
			}
			if o := h.said[0]; !o.HoldsScopes || o.ParentScopes == nil || !o.ParentScopes.Equal(belowTmp) {
				t.Errorf("the host was told %+v", o)
			}
			_, _ = kid.Plan(t.Context(), phases.PrePlanAction{Kind: "message"})
			if inv := h.asked[1]; !inv.Scopes.Equal(c.want) || inv.Agent != "kid" || inv.Session != "s-1" ||
				inv.Runtime != "rt" {
				t.Errorf("the child acts as %+v, want scopes %+v", inv, c.want)
			}
			_, may, err = kid.Spawn(t.Context(), spawn(phases.Child{Agent: "grandchild"}))
			if err != nil || may.Action.Parent != "kid" || may.Action.Depth != 2 {
				t.Errorf("grandchild: %+v, %v", may.Action, err)
			}
			_, may, err = kid.Spawn(t.Context(),
				phases.SpawnAction{Parent: "p", Depth: 7, Child: phases.Child{Agent: "grandchild"}})
			if err != nil || may.Action.Parent != "p" || may.Action.Depth != 7 {
				t.Errorf("what the caller says: %+v, %v", may.Action, err)
			}
			_, _ = g.Plan(t.Context(), phases.PrePlanAction{Kind: "message"})
			if inv := h.asked[4]; !inv.Scopes.Equal(belowTmp) || inv.Agent != "main" {
				t.Errorf("the parent acts as %+v", inv)
			}
		})
	}
	h := &fakeHost{answers: map[phases.Phase]func(phases.Invocation) (phases.Verdict,
		error){phases.Spawn: always(phases.Block)}}
	kid, may, err := guard.New(h, guard.Options{}).Spawn(t.Context(), spawn(phases.Child{Agent: "kid"}))
	refused(t, err, guard.ErrBlocked, phases.Spawn)
	if kid != nil || may.Action.Child.Agent != "" {
		t.Errorf("beside an error: %v, %+v", kid, may)
	}
}

// What hooks narrow in a state holds for the guard of that state, and for no other.
func TestTransitionHoldsScopes(t *testing.T) {
	h := &fakeHost{answers: map[phases.Phase]func(phases.Invocation) (phases.Verdict, error){
		phases.StateTransition: inTurn(always(phases.Allow, func(v *phases.Verdict) { v.Scopes.FSWrite = phases.Scope{} }),
			always(phases.Block)),
	}}
	g := guard.New(h, guard.Options{Agent: "main", Scopes: belowTmp})
	next, may, err := g.Transition(t.Context(), phases.StateTransitionAction{Machine: "stage", To: "review"})
	if err != nil || may.Action.To != "review" || !h.said[0].HoldsScopes {
		t.Fatalf("%+v, %v, told %+v", may.Action, err, h.said[0])
	}
	_, _ = next.Plan(t.Context(), phases.PrePlanAction{Kind: "message"})
	_, _ = g.Plan(t.Context(), phases.PrePlanAction{Kind: "message"})
	if in, out := h.asked[1].Scopes,
		h.asked[2].Scopes; !in.Equal(phases.Scopes{FSRead: belowTmp.FSRead, FSWrite: phases.Scope{}}) ||
		!out.Equal(belowTmp) {
		t.Errorf("scopes %+v in the new state, %+v outside", in, out)
	}
	next, _, err = g.Transition(t.Context(), phases.StateTransitionAction{Machine: "stage", To: "deploy"})
	refused(t, err, guard.ErrBlocked, phases.StateTransition)
	if next != nil {
		t.Error("a guard beside an error")
	}
}

// Within only narrows, and what the caller does with its own scopes changes nothing.
func TestWithinNarrows(t *testing.T) {
	h := &fakeHost{}
	mine := belowTmp.Clone()
	g := guard.New(h, guard.Options{Scopes: mine})
	mine.FSRead[0] = "/**"
	less := g.Within(phases.Scopes{FSRead: phases.Scope{"/tmp/a", "/etc/**"}})
	_, _ = g.Plan(t.Context(), phases.PrePlanAction{Kind: "message"})
	_, _ = less.Plan(t.Context(), phases.PrePlanAction{Kind: "message"})
	if s := h.asked[0].Scopes; !s.Equal(belowTmp) {
		t.Errorf("the caller's scopes are %+v", s)
	}
	if s := h.asked[1].Scopes; !s.Equal(phases.Scopes{FSRead: phases.Scope{"/tmp/a"}, FSWrite: belowTmp.FSWrite}) {
		t.Errorf("within: %+v", s)
	}
}
