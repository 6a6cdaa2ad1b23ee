package adapters_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// table has one event for each way in which runtimes differ.
var table = adapters.Table{Runtime: "Toy", Events: map[string]adapters.Expresses{
	"call":     {Blocks: true, Asks: true, Carries: []string{"/args", "/child/prompt"}, Context: true},
	"licensed": {Asks: true, Carries: []string{"/args"}, RewriteNeedsGrant: true}, // a rewrite only with a permission
	"mute":     {},
	"log":      {Records: []string{""}},
	"result":   {Carries: []string{"/result"}, Records: []string{"/args"}},
}}

const call = `{"tool":"exec","args":{"command":"ls"}}`

func event(name string, p phases.Phase, action string) adapters.Event {
	return adapters.Event{Name: name, Session: "s", Steps: []adapters.Step{{Invocation: phases.Invocation{
		Phase: p, Runtime: "toy", Session: "s", Agent: "main", Action: jsontext.Value(action)}}}}
}

func allowed(p phases.Phase, action string) phases.Verdict {
	return phases.Verdict{Phase: p, Decision: phases.Allow, Action: jsontext.Value(action)}
}

// Each verdict reads the same for every runtime; what an event's row does not name becomes a block.
func TestWeigh(t *testing.T) {
	const changed = `{"tool":"exec","args":{"command":"ls -l"}}`
	plan, planned := `{"kind":"message","text":"a"}`, `{"kind":"message","text":"b"}`
	ran, masked := `{"tool":"exec","args":{"c":"k"},"result":"r"}`, `{"tool":"exec","args":{"c":"x"},"result":"r"}`
	clampedTo := func(v phases.Verdict) phases.Verdict {
		v.Scopes = phases.Scopes{Net: phases.Scope{}}
		v.Hooks = []phases.HookReport{{Effects: []phases.Effect{{Kind: phases.EffectClamp}}}}
		return v
	}
	spawn := `{"child":{"agent":"a","prompt":"p"}}`
	carries := event("call", phases.Spawn, spawn)
	carries.Steps[0].CarriesScopes = true
	asks := event("call", phases.PreTool, call)
	asks.Steps[0].NativeAsk = true
	licensedAsks := event("licensed", phases.PreTool, call)
	licensedAsks.Steps[0].NativeAsk = true
	with := func(v phases.Verdict, change func(*phases.Verdict)) phases.Verdict {
		change(&v)
		return v
	}
	grant := func(v *phases.Verdict) { v.Grant = &phases.Grant{Hook: "g", Reason: "known"} }
	ask := func(v *phases.Verdict) { v.Decision, v.Reason, v.DecidedBy = phases.Ask, "sure?", "h" }
	for name, c := range map[string]struct {
		ev      adapters.Event
		v       phases.Verdict
		want    phases.Decision
		reason  string // how it begins
		changed string // of step 0
		grant   bool
	}{
		"allow": {ev: event("mute", phases.PreTool, call), v: allowed(phases.PreTool, call), want: phases.Allow},
		"block": {ev: event("call", phases.PreTool, call), v: phases.Verdict{Decision: phases.Block, Kind: "store"},
			want: phases.Block, reason: "belay: this is not allowed (store)"},
		"carried": {ev: event("call", phases.PreTool, call), v: allowed(phases.PreTool, changed), want: phases.Allow,
			changed: "/args/command"},
		"not carried": {ev: event("mute", phases.PrePlan, plan), v: allowed(phases.PrePlan, planned), want: phases.Block,
			reason: "belay: a hook changed the prompt, which Toy cannot carry here"},
		"beside carried": {ev: event("call", phases.PreTool, call),
			v: allowed(phases.PreTool, `{"tool":"read","args":{"command":"ls"}}`), want: phases.Block,
			reason: "belay: a hook changed something of this call that Toy cannot carry"},
		"for the record": {ev: event("result", phases.PostTool, ran), v: allowed(phases.PostTool, masked),
			want: phases.Allow},
		"only recorded": {ev: event("log", phases.PrePlan, plan), v: allowed(phases.PrePlan, planned), want: phases.Allow},
		"grant": {ev: event("licensed", phases.PreTool, call), v: with(allowed(phases.PreTool, changed), grant),
			want: phases.Allow, reason: "belay (g): known", changed: "/args/command", grant: true},
		"no grant": {ev: event("licensed", phases.PreTool, call), v: allowed(phases.PreTool, changed),
			want: phases.Block, reason: "belay: a hook changed this call, which Toy takes here only together with"},
		"ask, changed": {ev: licensedAsks, v: with(allowed(phases.PreTool, changed), ask), want: phases.Block,
			reason: "belay: a hook changed this call, which Toy cannot show when it asks: belay (h): sure?"},
		"ask": {ev: asks, v: with(allowed(phases.PreTool, call), ask), want: phases.Ask,
			reason: "belay (h): sure?"},
		"ask, granted": {ev: asks, v: with(with(allowed(phases.PreTool, call), ask), grant), want: phases.Ask,
			reason: "belay (h): sure?"},
		"cannot ask": {ev: event("call", phases.PreTool, call), v: with(allowed(phases.PreTool, call), ask),
			want: phases.Block, reason: "belay: a person has to decide, and Toy cannot ask here: belay (h): sure?"},
		"waits": {ev: asks, v: with(phases.Verdict{Phase: phases.PreTool}, func(v *phases.Verdict) {
			ask(v)
			v.Approval = &phases.ApprovalRef{ID: "a-1"}
		}), want: phases.Block,
			reason: "belay: waiting for approval a-1 of exec “ls”: belay (h): sure?; a person decides it: "},
		"reply": {ev: event("call", phases.PrePlan, plan), v: with(allowed(phases.PrePlan, plan), func(v *phases.Verdict) {
			v.Reply = &phases.Reply{Hook: "r", Text: "hello"}
		}), want: phases.Block, reason: "belay (r): hello"},
		"scopes carried": {ev: carries, v: clampedTo(allowed(phases.Spawn, spawn)), want: phases.Allow},
		"scopes not carried": {ev: event("call", phases.Spawn, spawn), v: clampedTo(allowed(phases.Spawn, spawn)),
			want: phases.Block, reason: "belay: a hook narrowed the scopes, which Toy cannot carry to a subagent"},
		"scopes of a tool": {ev: event("call", phases.PreTool, call), v: clampedTo(allowed(phases.PreTool, call)),
			want: phases.Allow},
	} {
		o, err := table.Weigh(c.ev, []phases.Verdict{c.v})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if o.Decision != c.want || !strings.HasPrefix(o.Reason, c.reason) || o.Grant != c.grant {
			t.Errorf("%s: %+v", name, o)
		}
		if c.want != phases.Block && strings.Join(o.Changed[0], " ") != c.changed {
			t.Errorf("%s: changed %q", name, o.Changed)
		}
	}
}

// Verdicts that do not fit the event are an error, which the adapter's Failure answers.
func TestWeighRefuses(t *testing.T) {
	ev := event("call", phases.PreTool, call)
	ok := allowed(phases.PreTool, call)
	for name, list := range map[string][]phases.Verdict{
		"none": nil, "two": {ok, ok}, "no decision": {{Phase: phases.PreTool, Action: ok.Action}},
		"another phase": {allowed(phases.PrePlan, call)},
	} {
		if o, err := table.Weigh(ev, list); !errors.Is(err, adapters.ErrVerdicts) || o != nil {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
	if _, err := table.Weigh(ev, []phases.Verdict{allowed(phases.PreTool, `{"tool":1}`)}); err == nil {
		t.Error("an action that is none was taken")
	}
	latched, err := table.Weigh(ev, []phases.Verdict{{Decision: phases.Block, Enforced: phases.EnforcedLatched}})
	if err != nil || !latched.Latched {
		t.Errorf("%+v, %v", latched, err)
	}
}

// The first reason of a block stays, and nothing that was to be delivered is left.
func TestStop(t *testing.T) {
	v := allowed(phases.PostReceive, `{"kind":"final","text":"t"}`)
	v.Contexts, v.Retry = []string{"c"}, &phases.Retry{Hook: "h", Instruction: "again"}
	o, err := table.Weigh(event("call", phases.PostReceive, string(v.Action)), []phases.Verdict{v})
	if err != nil || o.Retry != "belay (h): again" {
		t.Fatalf("%+v, %v", o, err)
	}
	o.Stop("first")
	o.Stop("second")
	if text := o.TakeContext(); o.Decision != phases.Block || o.Reason != "belay: first" || o.Retry != "" || text != "" {
		t.Errorf("%+v, context %q", o, text)
	}
}

// Text for the model goes where the event has a place for it; else the operator is told.
func TestTakeContext(t *testing.T) {
	v := allowed(phases.PreTool, call)
	v.Contexts = []string{"one", "two"}
	for name, want := range map[string]string{"call": "one\n\ntwo", "mute": ""} {
		o, err := table.Weigh(event(name, phases.PreTool, call), []phases.Verdict{v})
		if err != nil {
			t.Fatal(err)
		}
		if got := o.TakeContext(); got != want || slices.ContainsFunc(o.Notes, func(n string) bool {
			return strings.Contains(n, name+" has no place")
		}) != (want == "") {
			t.Errorf("%s: %q, notes %q", name, got, o.Notes)
		}
	}
}

// Texts of hooks cannot shape the sentence that belay says.
func TestReason(t *testing.T) {
	for _, c := range []struct{ hook, text, want string }{
		{"", "", "belay: none"}, {"belay", "no", "belay: no"}, {" h ", " no\n", "belay (h): no"},
		{"a\x1b[2Jb\nc", "x\u202ey", "belay (a[2Jb c): xy"}, {"h", " \t", "belay (h): none"},
	} {
		if got := adapters.Reason(c.hook, c.text, "none"); got != c.want {
			t.Errorf("%q, %q: %q", c.hook, c.text, got)
		}
	}
	if got := adapters.Reason("", strings.Repeat("a", 1<<20), ""); len(got) > phases.MaxReasonBytes+len("belay: ") {
		t.Errorf("%d bytes", len(got))
	}
}
