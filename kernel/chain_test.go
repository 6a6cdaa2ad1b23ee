package kernel_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

func reported(v phases.Verdict) []string {
	var out []string
	for _, h := range v.Hooks {
		out = append(out, h.Hook+"/"+string(h.Pass))
	}
	return out
}

func wantOrder(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestOrder(t *testing.T) {
	all := []string{"rewrite", "block"}
	h := newHost(t, []hook{
		{name: "low", priority: -5},
		{name: "first"},
		{name: "mutator", mutates: preTool, caps: all, run: effects(rewrite("/args/x", "1"))},
		{name: "second"},
		{name: "watcher", mode: phases.Observe, priority: 90},
		{name: "trusted", tier: phases.Trusted},
		{name: "high", priority: 50},
		{name: "reserved", priority: 100, tier: phases.Trusted},
		{name: "elsewhere", phases: []phases.Phase{phases.PrePlan}},
	}, func(_ *kernel.Config, o *kernel.Options) { o.Sequential = true })
	v := h.invoke(t, invocation(phases.PreTool))
	want := []string{"mutator/mutate", "reserved/validate", "high/validate", "trusted/validate", "first/validate",
		"second/validate", "low/validate", "watcher/observe"}
	wantOrder(t, reported(v), want...)
	wantOrder(t, h.calls.take(), want...)
	var events []string
	es := h.events(t, wire.Query{Invocation: v.ID})
	for _, e := range es[:len(es)-1] {
		events = append(events, e.Binding+"/"+string(e.Pass))
	}
	wantOrder(t, events, want...)
	if last := es[len(es)-1]; last.Type != phases.EventVerdict || last.Seq != v.Event.Seq || last.ID != v.Event.ID {
		t.Errorf("last event %+v, verdict says %+v", last, v.Event)
	}
}

func TestNothingMatches(t *testing.T) {
	h := newHost(t, []hook{{name: "elsewhere", phases: []phases.Phase{phases.PrePlan}, run: effects(block("no"))}})
	v := h.invoke(t, invocation(phases.PreTool))
	if v.Decision != phases.Allow || len(v.Hooks) != 0 || v.Enforced != phases.EnforcedDirect ||
		v.PolicyRevision != "rev-1" {
		t.Errorf("verdict %+v", v)
	}
	if es := h.events(t, wire.Query{}); len(es) != 1 || es[0].Type != phases.EventVerdict {
		t.Errorf("events %+v, want the verdict's", es)
	}
}

func TestMatchers(t *testing.T) {
	match := func(m tiers.Match) func(*kernel.BindingSpec) {
		return func(s *kernel.BindingSpec) { s.Match = &m }
	}
	both := []phases.Phase{phases.PreTool, phases.PrePlan}
	h := newHost(t, []hook{
		{name: "exec", phases: both, spec: match(tiers.Match{Tools: "^exec$"})},
		{name: "read", phases: both, spec: match(tiers.Match{Tools: "^read$"})},
		{name: "coder", spec: match(tiers.Match{Agents: "^cod"})},
		{name: "other", spec: match(tiers.Match{Agents: "^other"})},
		{name: "custom", spec: match(tiers.Match{Runtimes: []string{"x", "custom"}})},
		{name: "foreign", spec: match(tiers.Match{Runtimes: []string{"x"}})},
	}, func(_ *kernel.Config, o *kernel.Options) { o.Sequential = true })
	inv := invocation(phases.PreTool)
	wantOrder(t, reported(h.invoke(t, inv)), "exec/validate", "coder/validate", "custom/validate")
	// The runtime's own name of a tool is normalised before it is matched.
	inv.Runtime, inv.Action = "claude-code", []byte(`{"tool":"Bash","args":{}}`)
	wantOrder(t, reported(h.invoke(t, inv)), "exec/validate", "coder/validate")
	// A matcher on tools says nothing about phases without a tool.
	wantOrder(t, reported(h.invoke(t, invocation(phases.PrePlan))), "exec/validate", "read/validate")
}

func TestMutatorsSeeEachOtherAndValidatorsTheResult(t *testing.T) {
	var seen []string
	look := func(list ...phases.Effect) func(kernel.Turn) (kernel.Outcome, error) {
		return func(t kernel.Turn) (kernel.Outcome, error) {
			cmd, _ := phases.GetString(t.Session.Input, "/args/command")
			seen = append(seen, cmd)
			return kernel.Outcome{Effects: list}, nil
		}
	}
	h := newHost(t, []hook{
		{name: "one", mutates: preTool, caps: []string{"rewrite"}, run: look(rewrite("/args/command", `"a"`))},
		{name: "two", mutates: preTool, caps: []string{"rewrite:/args"}, run: look(rewrite("/args/command", `"b"`))},
		{name: "judge", run: look()},
	})
	v := h.invoke(t, invocation(phases.PreTool))
	wantOrder(t, seen, "ls", "a", "b")
	if string(v.Action) != `{"tool":"exec","args":{"command":"b"}}` ||
		!slices.Equal(v.Changed, []string{"/args/command"}) {
		t.Errorf("action %s, changed %v", v.Action, v.Changed)
	}
}

func TestMutatorJudgesWhatRuns(t *testing.T) {
	imports := []string{"rewrite", "block"}
	caps := imports
	guard := func(tu kernel.Turn) (kernel.Outcome, error) { // rewrites nothing, blocks "bad"
		if cmd, _ := phases.GetString(tu.Session.Input, "/args/command"); cmd == "bad" {
			return kernel.Outcome{Effects: []phases.Effect{block("bad is bad")}}, nil
		}
		return kernel.Outcome{}, nil
	}
	t.Run("called again after a change", func(t *testing.T) {
		h := newHost(t, []hook{
			{name: "guard", mutates: preTool, caps: caps, imports: imports, run: guard},
			{name: "spoiler", mutates: preTool, caps: caps, imports: []string{"rewrite"},
				run: effects(rewrite("/args/command", `"bad"`))},
		})
		v := h.invoke(t, invocation(phases.PreTool))
		if v.Decision != phases.Block || v.DecidedBy != "guard" || v.Kind != phases.KindPolicy {
			t.Errorf("verdict %+v", v)
		}
		wantOrder(t, reported(v), "guard/mutate", "spoiler/mutate", "guard/validate")
	})
	t.Run("not called again without one", func(t *testing.T) {
		h := newHost(t, []hook{
			{name: "spoiler", mutates: preTool, caps: caps, imports: imports, run: effects(rewrite("/args/x", `1`))},
			{name: "guard", mutates: preTool, caps: caps, imports: imports, run: guard},
		})
		wantOrder(t, reported(h.invoke(t, invocation(phases.PreTool))), "spoiler/mutate", "guard/mutate")
	})
	t.Run("repeating a rewrite is stable", func(t *testing.T) {
		h := newHost(t, []hook{
			{name: "default", mutates: preTool, caps: caps, imports: imports, run: effects(rewrite("/args/timeout", `5`))},
			{name: "later", mutates: preTool, caps: caps, imports: []string{"rewrite"},
				run: effects(rewrite("/args/command", `"b"`))},
		})
		v := h.invoke(t, invocation(phases.PreTool))
		wantOrder(t, reported(v), "default/mutate", "later/mutate", "default/validate")
		if v.Decision != phases.Allow {
			t.Errorf("verdict %+v", v)
		}
	})
	t.Run("changing it again is a protocol failure", func(t *testing.T) {
		h := newHost(t, []hook{
			{name: "a", mutates: preTool, caps: caps, imports: imports, run: effects(rewrite("/args/command", `"a"`))},
			{name: "b", mutates: preTool, caps: caps, imports: imports, run: effects(rewrite("/args/command", `"b"`))},
		})
		v := h.fails(t, invocation(phases.PreTool), phases.KindProtocol)
		if v.DecidedBy != "a" {
			t.Errorf("decided by %s, want a", v.DecidedBy)
		}
	})
}

func TestValidatorMayNotRewrite(t *testing.T) {
	h := newHost(t, []hook{{name: "v", caps: []string{"rewrite"}, run: effects(rewrite("/args/command", `"b"`))}})
	v := h.fails(t, invocation(phases.PreTool), phases.KindOutput)
	es := h.events(t, wire.Query{ID: v.Event.ID})
	if v.Action != nil || len(es) != 1 || len(es[0].Changed) != 0 || strings.Contains(string(es[0].Output), `"b"`) {
		t.Errorf("action %s changed by a validator: %+v", v.Action, es)
	}
}

func TestCombine(t *testing.T) {
	caps := []string{"block", "request_approval"}
	asker := hook{name: "asker", priority: 9, caps: caps, run: effects(ask("sure?"))}
	t.Run("ask", func(t *testing.T) {
		h := newHost(t, []hook{asker, {name: "quiet"}})
		v := h.invoke(t, invocation(phases.PreTool))
		if v.Decision != phases.Ask || v.DecidedBy != "asker" || v.Reason != "sure?" || v.Enforced != phases.EnforcedDirect ||
			len(v.Hooks) != 2 {
			t.Errorf("verdict %+v", v)
		}
		if v = h.invoke(t, invocation(phases.PreTool),
			kernel.InvokeOptions{Delegated: true}); v.Enforced != phases.EnforcedDelegated {
			t.Errorf("enforced %s, want delegated", v.Enforced)
		}
	})
	t.Run("a later block wins", func(t *testing.T) {
		h := newHost(t,
			[]hook{asker, {name: "blocker", caps: caps, run: effects(block("no"))}, {name: "after", priority: -1}})
		v := h.invoke(t, invocation(phases.PreTool))
		if v.Decision != phases.Block || v.DecidedBy != "blocker" || v.Reason != "no" || v.Kind != phases.KindPolicy {
			t.Errorf("verdict %+v", v)
		}
		wantOrder(t, reported(v), "asker/validate", "blocker/validate")
	})
}

func TestObserve(t *testing.T) {
	caps := []string{"block", "annotate", "state_get", "state_put"}
	flags := map[string]bool{}
	h := newHost(t, []hook{
		{name: "shadow", mode: phases.Observe, caps: caps, priority: 9, run: func(tu kernel.Turn) (kernel.Outcome, error) {
			flags["observe"] = tu.Session.Observe
			return counting(block("would block"), annotate("k", "1"))(tu)
		}},
		{name: "broken", mode: phases.Observe, run: failing(phases.KindTrap)},
		{name: "missing", mode: phases.Observe, loadErr: errors.New("gone")},
		{name: "real", caps: caps, run: counting()},
	})
	for range 2 {
		v := h.invoke(t, invocation(phases.PreTool))
		if v.Decision != phases.Allow || len(v.Metadata) != 0 {
			t.Fatalf("an observing hook had an effect: %+v", v)
		}
		wantOrder(t, reported(v), "real/validate", "shadow/observe", "broken/observe", "missing/observe")
		if v.Hooks[1].Decision != phases.HookBlock || v.Hooks[2].Decision != phases.HookError ||
			v.Hooks[3].Kind != phases.KindLoad {
			t.Errorf("reports %+v", v.Hooks)
		}
	}
	if !flags["observe"] {
		t.Error("the session of an observing hook is not marked")
	}
	if h.counter(t, "real") != "2" || h.counter(t, "observe:shadow") != "2" || h.counter(t, "shadow") != "" {
		t.Errorf("state: real %q, shadow's shadow %q, shadow %q", h.counter(t, "real"), h.counter(t, "observe:shadow"),
			h.counter(t, "shadow"))
	}
}

func TestFailuresBlock(t *testing.T) {
	for _, kind := range []phases.Kind{phases.KindTrap, phases.KindFuel, phases.KindDeadline, phases.KindMemory,
		phases.KindOutput, phases.KindHostcall, phases.KindLoad, phases.KindStore} {
		h := newHost(t, []hook{{name: "bad", run: failing(kind)}, {name: "after"}})
		v := h.fails(t, invocation(phases.PreTool), kind)
		if v.DecidedBy != "bad" || len(v.Hooks) != 1 || v.Hooks[0].Decision != phases.HookError || v.Hooks[0].Fuel != 7 {
			t.Errorf("%s: verdict %+v", kind, v)
		}
		if strings.Contains(v.Reason, "cause") {
			t.Errorf("%s: the cause is shown to the agent: %s", kind, v.Reason)
		}
		es := h.events(t, wire.Query{Type: phases.EventHook})
		if len(es) != 1 || es[0].Kind != kind || es[0].Detail != "the cause" || es[0].Decision != "error" {
			t.Errorf("%s: events %+v", kind, es)
		}
	}
	panics := func(kernel.Turn) (kernel.Outcome, error) { panic("boom") }
	newHost(t, []hook{{name: "bad", run: panics}}).fails(t, invocation(phases.PreTool), phases.KindTrap)
	plain := func(kernel.Turn) (kernel.Outcome, error) { return kernel.Outcome{}, errors.New("no fault") }
	newHost(t, []hook{{name: "bad", run: plain}}).fails(t, invocation(phases.PreTool), phases.KindTrap)
}

func TestLoadFailures(t *testing.T) {
	missing := hook{name: "gone", loadErr: errors.New("no such file")}
	t.Run("blocks every phase when none is named", func(t *testing.T) {
		h := newHost(t, []hook{missing})
		for _, p := range phases.Phases() {
			kind := phases.KindLoad
			if p == phases.Audit {
				kind = phases.KindAudit
			}
			h.fails(t, invocation(p), kind, kernel.InvokeOptions{})
			h.ClearLatch(t.Context(), wire.Session{Runtime: "custom", Session: "s-1"}, "test", nil)
		}
	})
	t.Run("holds a capability that nobody knows", func(t *testing.T) {
		h := newHost(t, []hook{{name: "a", caps: []string{"block", "root"}}})
		h.fails(t, invocation(phases.PreTool), phases.KindLoad)
		if ran := h.calls.take(); len(ran) != 0 {
			t.Errorf("ran: %v", ran)
		}
	})
	t.Run("blocks only what it is bound to", func(t *testing.T) {
		bound := missing
		bound.spec = func(s *kernel.BindingSpec) {
			s.Phases = preTool
			s.Match = &tiers.Match{Tools: "^exec$"}
		}
		h := newHost(t, []hook{bound})
		h.fails(t, invocation(phases.PreTool), phases.KindLoad)
		if v := h.invoke(t, invocation(phases.PrePlan)); v.Decision != phases.Allow {
			t.Errorf("another phase: %+v", v)
		}
		inv := invocation(phases.PreTool)
		inv.Action = []byte(`{"tool":"read","args":{}}`)
		if v := h.invoke(t, inv); v.Decision != phases.Allow {
			t.Errorf("another tool: %+v", v)
		}
	})
	for name, bad := range map[string]hook{
		"priority of the trusted": {name: "x", priority: 100},
		"tier that is demanded":   {name: "x", spec: func(s *kernel.BindingSpec) { s.Tier = phases.Trusted }},
		"phase not served": {name: "x", spec: func(s *kernel.BindingSpec) {
			s.Phases = []phases.Phase{phases.PreTool, phases.Spawn}
		}},
		"bad matcher":        {name: "x", spec: func(s *kernel.BindingSpec) { s.Match = &tiers.Match{Tools: "("} }},
		"matcher of nothing": {name: "x", spec: func(s *kernel.BindingSpec) { s.Match = &tiers.Match{Tools: "^exce$"} }},
		"bad configuration":  {name: "x", spec: func(s *kernel.BindingSpec) { s.Config = []byte(`{"a":1,"a":2}`) }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, []hook{bad})
			v := h.fails(t, invocation(phases.PreTool), phases.KindLoad)
			if v.DecidedBy != "x" {
				t.Errorf("decided by %s", v.DecidedBy)
			}
			if st := h.Hooks(); st[0].Problem == "" {
				t.Errorf("status %+v", st)
			}
			if len(h.loader.closed.take()) != 1 {
				t.Error("the module that is not used was not closed")
			}
		})
	}
}

func TestConfigRefused(t *testing.T) {
	for name, c := range map[string]change{
		"two of a name": func(cfg *kernel.Config, _ *kernel.Options) { cfg.Bindings = append(cfg.Bindings, cfg.Bindings[0]) },
		"no name":       func(cfg *kernel.Config, _ *kernel.Options) { cfg.Bindings[0].Name = "" },
		"bad require":   func(cfg *kernel.Config, _ *kernel.Options) { cfg.Require = []kernel.Require{{Tools: "("}} },
		"bad ceiling":   func(cfg *kernel.Config, _ *kernel.Options) { cfg.Ceiling.FSRead = phases.Scope{"relative"} },
	} {
		if _, err := tryHost(t, []hook{{name: "a"}}, c); !errors.Is(err, kernel.ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
	if _, err := kernel.Open(t.Context(), nil, kernel.Options{}); err == nil {
		t.Error("Open without anything succeeded")
	}
}

func TestRequire(t *testing.T) {
	req := func(cfg *kernel.Config, _ *kernel.Options) {
		cfg.Require = []kernel.Require{{Phases: preTool, Tools: "^exec$", Hooks: []string{"guard"}}}
	}
	h := newHost(t, []hook{{name: "guard"}}, req)
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Errorf("with the guard: %+v", v)
	}
	for name, g := range map[string]hook{
		"not matching": {name: "guard", spec: func(s *kernel.BindingSpec) { s.Match = &tiers.Match{Agents: "nobody"} }},
		"observing":    {name: "guard", mode: phases.Observe},
		"not bound":    {name: "other"},
	} {
		h := newHost(t, []hook{g}, req)
		v := h.fails(t, invocation(phases.PreTool), phases.KindLoad)
		if v.DecidedBy != "belay" || !strings.Contains(v.Reason, "guard") {
			t.Errorf("%s: %+v", name, v)
		}
		inv := invocation(phases.PreTool)
		inv.Action = []byte(`{"tool":"read","args":{}}`)
		if v := h.invoke(t, inv); v.Decision != phases.Allow {
			t.Errorf("%s, another tool: %+v", name, v)
		}
	}
	// Under fail-open a guard that failed has not run.
	h = newHost(t, []hook{{name: "guard", run: failing(phases.KindTrap)}}, req, func(_ *kernel.Config, o *kernel.Options) {
		o.UnsafeFailOpen = true
	})
	h.fails(t, invocation(phases.PreTool), phases.KindLoad)
}

func TestBudgets(t *testing.T) {
	var turn kernel.Turn
	grab := func(tu kernel.Turn) (kernel.Outcome, error) { turn = tu; return kernel.Outcome{}, nil }
	newHost(t, []hook{{name: "a", run: grab}}).invoke(t, invocation(phases.PreTool))
	if turn.Fuel != kernel.DefaultFuel || turn.Timeout != kernel.DefaultHookTimeout {
		t.Errorf("defaults: fuel %d, %v", turn.Fuel, turn.Timeout)
	}
	spec := func(s *kernel.BindingSpec) { s.Budget = tiers.Budget{Fuel: 5, DeadlineMS: 7} }
	newHost(t, []hook{{name: "a", run: grab, spec: spec}}).invoke(t, invocation(phases.PreTool))
	if turn.Fuel != 5 || turn.Timeout != 7*time.Millisecond {
		t.Errorf("operator's: fuel %d, %v", turn.Fuel, turn.Timeout)
	}
	// What the hooks before took is gone; observing hooks have a budget of their own.
	slow := func(kernel.Turn) (kernel.Outcome, error) { return kernel.Outcome{Duration: 60 * time.Millisecond}, nil }
	h := newHost(t, []hook{{name: "a", run: slow}, {name: "b", run: grab}, {name: "w", mode: phases.Observe, run: slow}},
		func(cfg *kernel.Config, o *kernel.Options) {
			cfg.ChainBudget = 100 * time.Millisecond
			o.Sequential = true // hooks that run ahead get the time left at the start, and are counted afterwards
		})
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow || turn.Timeout != 40*time.Millisecond {
		t.Errorf("%s, timeout %v, want what is left of the chain's", v.Decision, turn.Timeout)
	}
	for _, sequential := range []bool{true, false} {
		h = newHost(t, []hook{{name: "a", run: slow}, {name: "b", run: slow}, {name: "c", run: slow}},
			func(cfg *kernel.Config, o *kernel.Options) {
				cfg.ChainBudget = 100 * time.Millisecond
				o.Sequential = sequential
			})
		v := h.fails(t, invocation(phases.PreTool), phases.KindDeadline)
		if v.DecidedBy != "b" {
			t.Errorf("decided by %s, want the hook whose answer came when the time was used up", v.DecidedBy)
		}
	}
	// What takes the chain's time to the end leaves nothing for the next.
	h = newHost(t, []hook{{name: "a", run: slow}, {name: "b", run: slow}, {name: "c"}},
		func(cfg *kernel.Config, o *kernel.Options) {
			cfg.ChainBudget, o.Sequential = 120*time.Millisecond, true
		})
	if v := h.fails(t, invocation(phases.PreTool), phases.KindDeadline); v.DecidedBy != "c" {
		t.Errorf("decided by %s, want the hook that had no time left", v.DecidedBy)
	}
}

func TestFailOpen(t *testing.T) {
	open := func(_ *kernel.Config, o *kernel.Options) { o.UnsafeFailOpen = true }
	t.Run("failures of hooks", func(t *testing.T) {
		h := newHost(t, []hook{
			{name: "bad", run: failing(phases.KindTrap)}, {name: "gone", loadErr: errors.New("no file"),
				spec: func(s *kernel.BindingSpec) { s.Phases = preTool }},
			{name: "illegal", caps: []string{"grant"}, run: effects(phases.Effect{Kind: phases.EffectGrant, Text: "x"})},
			{name: "judge", caps: []string{"annotate"}, run: effects(annotate("k", "1"))},
		}, open)
		v := h.invoke(t, invocation(phases.PreTool))
		if v.Decision != phases.Allow || len(v.Hooks) != 4 || v.Hooks[0].Decision != phases.HookError ||
			len(v.Metadata) != 1 {
			t.Errorf("verdict %+v", v)
		}
		if notes := strings.Join(v.Notes, "\n"); strings.Count(notes, "UNSAFE") != 4 {
			t.Errorf("notes %q, want the mode and each failure", v.Notes)
		}
		if es := h.events(t, wire.Query{Type: phases.EventNotice}); len(es) != 1 ||
			!strings.Contains(es[0].Reason, "fail-open") {
			t.Errorf("notices %+v", es)
		}
	})
	t.Run("a block still blocks", func(t *testing.T) {
		h := newHost(t, []hook{{name: "bad", run: failing(phases.KindTrap)}, {name: "b", run: effects(block("no"))}}, open)
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Block || v.DecidedBy != "b" {
			t.Errorf("verdict %+v", v)
		}
	})
	t.Run("trust", func(t *testing.T) {
		h := newHost(t,
			[]hook{{name: "swapped", loadErr: phases.NewFault(phases.KindLoad, "swapped", kernel.ErrTrust),
				spec: func(s *kernel.BindingSpec) { s.Phases = preTool }}}, open)
		h.fails(t, invocation(phases.PreTool), phases.KindLoad)
	})
	t.Run("audit", func(t *testing.T) {
		h := newHost(t, []hook{{name: "aud", phases: []phases.Phase{phases.Audit}, run: failing(phases.KindTrap)}}, open)
		h.fails(t, invocation(phases.PreTool), phases.KindAudit)
	})
	t.Run("decoding", func(t *testing.T) {
		inv := invocation(phases.PreTool)
		inv.Action = []byte(`{"tool":"exec","tool":"read","args":{}}`)
		newHost(t, nil, open).fails(t, inv, phases.KindProtocol)
	})
	t.Run("store", func(t *testing.T) {
		h := newHost(t, []hook{{name: "st", run: failing(phases.KindStore)}}, open)
		h.fails(t, invocation(phases.PreTool), phases.KindStore)
	})
}
