package kernel_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// asked and ran are the two invocations of one call.
func asked(args string) phases.Invocation {
	inv := invocation(phases.PreTool)
	inv.Action = jsontext.Value(`{"tool":"exec","call_id":"c-1","args":` + args + `}`)
	return inv
}

func ran(args string) phases.Invocation {
	inv := invocation(phases.PostTool)
	inv.Action = jsontext.Value(`{"tool":"exec","call_id":"c-1","args":` + args + `,"result":"out"}`)
	return inv
}

func ofCall(id string, may ...string) kernel.InvokeOptions {
	return kernel.InvokeOptions{Call: &kernel.Call{ID: id, May: may}}
}

func (h *host) mismatches(t *testing.T) []phases.Event {
	t.Helper()
	return h.events(t, wire.Query{Type: phases.EventMismatch})
}

// A call that ran otherwise than belay released it is withheld and recorded; one that belay refused, too.
func TestCallsAreComparedWithWhatWasReleased(t *testing.T) {
	changes := hook{name: "m", mutates: preTool, caps: []string{"rewrite"},
		run: effects(rewrite("/args/command", `"ls -l"`))}
	for name, c := range map[string]struct {
		hooks         []hook
		before, after string
		may           []string
		decision      string // of the event; "": there is none
		differ        string
	}{
		"the same":          {nil, `{"command":"ls"}`, `{"command":"ls"}`, nil, "", ""},
		"written otherwise": {nil, `{"a":1.0,"b":"\u006c"}`, `{"b":"l","a":1}`, nil, "", ""},
		"another command":   {nil, `{"command":"ls"}`, `{"command":"rm"}`, nil, "changed", "command"},
		"one more":          {nil, `{"command":"ls"}`, `{"command":"ls","cwd":"/"}`, nil, "changed", "cwd"},
		"one is gone": {nil, `{"command":"ls","timeout":1}`, `{"command":"ls"}`, nil, "changed",
			"a member that is gone"},
		"a name like a secret": {nil, `{}`, `{"ghp_16C7e42F292c6912E7710c838347Ae178B4a":1}`, nil, "changed",
			"another member"},
		"belay's rewrite":        {[]hook{changes}, `{"command":"ls"}`, `{"command":"ls -l"}`, nil, "", ""},
		"belay's rewrite undone": {[]hook{changes}, `{"command":"ls"}`, `{"command":"ls"}`, nil, "changed", "command"},
		"what the runtime may":   {nil, `{"q":"?"}`, `{"q":"?","answers":"!"}`, []string{"answers"}, "", ""},
		"it may drop it, too":    {nil, `{"q":"?","answers":""}`, `{"q":"?"}`, []string{"answers"}, "", ""},
		"and besides":            {nil, `{"q":"?"}`, `{"q":"!","answers":"!"}`, []string{"answers"}, "changed", "q"},
		"refused": {[]hook{{name: "b", run: effects(block("no"))}}, `{"command":"ls"}`, `{"command":"ls"}`, nil, "denied",
			""},
		"waiting for a person": {[]hook{{name: "a", caps: []string{"request_approval"}, run: effects(ask("sure?"))}},
			`{"command":"ls"}`, `{"command":"ls"}`,
			nil, "denied", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, c.hooks)
			h.invoke(t, asked(c.before), ofCall("c-1"))
			v := h.invoke(t, ran(c.after), ofCall("c-1", c.may...))
			list := h.mismatches(t)
			if c.decision == "" {
				if v.Decision != phases.Allow || len(list) != 0 {
					t.Fatalf("%s %s, %+v", v.Decision, v.Reason, list)
				}
				return
			}
			if v.Decision != phases.Block || v.Kind != phases.KindMismatch || v.DecidedBy != "belay" ||
				v.Enforced != phases.EnforcedDirect {
				t.Errorf("%s %s %s %s", v.Decision, v.Kind, v.DecidedBy, v.Enforced)
			}
			if len(list) != 1 || list[0].Decision != c.decision || strings.Join(list[0].Changed, ",") != c.differ ||
				list[0].Invocation != v.ID || list[0].Session != "s-1" {
				t.Errorf("%+v", list)
			}
			if latches, err := h.Latches(t.Context()); err != nil || len(latches) != 0 {
				t.Errorf("latched without the setting: %v %v", latches, err)
			}
			if n, err := h.Mismatches(t.Context()); n != (kernel.MismatchCount{Changed: 1}) || err != nil {
				t.Errorf("counted %+v, %v", n, err)
			}
		})
	}
}

// A call that belay was never asked about is recorded, and its result is not withheld: the session may
// be older than its connection. What was said of it is forgotten after a day.
func TestCallThatWasNeverAskedAbout(t *testing.T) {
	h := newHost(t, nil)
	for n, prepare := range []func(){
		func() {},
		func() { h.invoke(t, asked(`{}`), ofCall("another")) },
		func() { h.invoke(t, asked(`{}`)) }, // not of a runtime that tells twice
		func() {
			h.invoke(t, asked(`{}`), ofCall("c-1"))
			h.clock.add(kernel.MetadataTTL + time.Hour)
		},
	} {
		prepare()
		v := h.invoke(t, ran(`{}`), ofCall("c-1"))
		list := h.mismatches(t)
		if v.Decision != phases.Allow || len(list) != n+1 || list[n].Decision != kernel.CallUnasked {
			t.Fatalf("%d: %s, %+v", n, v.Decision, list)
		}
	}
	// What names no call, no session, or does not say that it tells twice is not compared.
	nameless := ran(`{}`)
	nameless.Session = ""
	h.invoke(t, nameless, ofCall("c-9"))
	h.invoke(t, ran(`{}`), ofCall(""))
	h.invoke(t, ran(`{}`))
	if list := h.mismatches(t); len(list) != 4 {
		t.Errorf("%+v", list)
	}
}

// Where the result cannot be withheld, or an operator wants it, the session is held.
func TestChangedCallsLatch(t *testing.T) {
	for name, c := range map[string]struct {
		setting, unblockable, want bool
	}{
		"off": {false, false, false}, "the setting": {true, false, true}, "a result that stays": {false, true, true},
	} {
		h := newHost(t, nil, func(cfg *kernel.Config, _ *kernel.Options) { cfg.LatchChangedCalls = c.setting })
		h.invoke(t, asked(`{"command":"ls"}`), ofCall("c-1"))
		o := ofCall("c-1")
		o.Unblockable = c.unblockable
		h.invoke(t, ran(`{"command":"rm"}`), o)
		latches, err := h.Latches(t.Context())
		if err != nil || (len(latches) == 1) != c.want {
			t.Errorf("%s: %+v, %v", name, latches, err)
		}
		if v := h.invoke(t, asked(`{}`)); (v.Decision == phases.Block) != c.want {
			t.Errorf("%s: the next call: %s", name, v.Decision)
		}
		h.invoke(t, ran(`{}`), ofCall("unasked"))
		if after, err := h.Latches(t.Context()); err != nil || len(after) != len(latches) {
			t.Errorf("%s: a call that was never asked about latched: %+v", name, after)
		}
	}
}

// A spawn is one of the two tellings: the child's prompt as its hooks left it is what may run.
func TestCallsOfSpawns(t *testing.T) {
	changes := hook{name: "m", phases: []phases.Phase{phases.Spawn}, mutates: []phases.Phase{phases.Spawn},
		caps: []string{"rewrite"},
		run:  effects(rewrite("/child/prompt", `"carefully"`))}
	for after, want := range map[string]phases.Decision{`{"prompt":"carefully"}`: phases.Allow,
		`{"prompt":"go"}`: phases.Block} {
		h := newHost(t, []hook{changes})
		h.invoke(t, asked(`{"prompt":"go"}`), ofCall("c-1"))
		inv := invocation(phases.Spawn)
		inv.Action = jsontext.Value(`{"child":{"agent":"helper","prompt":"go"}}`)
		o := ofCall("c-1")
		o.Call.Args, o.Call.Prompt = jsontext.Value(`{"prompt":"go"}`), "/prompt"
		h.invoke(t, inv, o)
		if v := h.invoke(t, ran(after), ofCall("c-1")); v.Decision != want {
			t.Errorf("%s: %s %s", after, v.Decision, v.Reason)
		}
	}
}

// Whatever the arguments are, any member that differs is found, unless the runtime may change it.
func TestEveryChangedMemberIsFound(t *testing.T) {
	h := newHost(t, nil)
	id := 0
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{`1`, `"a"`, `""`, `null`, `true`, `[1,{"x":2}]`, `{"deep":{"er":"v"}}`})
		names := rapid.SampledFrom([]string{"command", "timeout", "path", "answers", "content", "n"})
		before := rapid.MapOfN(names, value, 0, 5).Draw(t, "before")
		if rapid.IntRange(0, 9).Draw(t, "many") == 0 {
			for n := range 70 {
				before[fmt.Sprint("m", n)] = "1"
			}
		}
		after := maps.Clone(before)
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			name := names.Draw(t, "name")
			if rapid.Bool().Draw(t, "gone") {
				delete(after, name)
			} else {
				after[name] = value.Draw(t, "value")
			}
		}
		may := slices.Sorted(maps.Keys(rapid.MapOfN(names, rapid.Bool(), 0, 2).Draw(t, "may")))
		id++
		call := fmt.Sprint("c-", id)
		first, err := h.InvokeWith(t.Context(), asked(object(before)), ofCall(call))
		if err != nil || first.Decision != phases.Allow {
			t.Fatal(first.Decision, err)
		}
		v, err := h.InvokeWith(t.Context(), ran(object(after)), ofCall(call, may...))
		if err != nil {
			t.Fatal(err)
		}
		differs := false
		for _, m := range []map[string]string{before, after} {
			for name := range m {
				changed := before[name] != after[name]
				differs = differs || changed && (!slices.Contains(may, name) || len(before) > 64 || len(after) > 64)
			}
		}
		if (v.Decision == phases.Block) != differs {
			t.Fatalf("%s %s: differs %v", v.Decision, v.Reason, differs)
		}
	})
}

func object(m map[string]string) string {
	out := map[string]jsontext.Value{}
	for k, v := range m {
		out[k] = jsontext.Value(v)
	}
	b, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// spy keeps what is committed.
type spy struct {
	kernel.Store
	batches []kernel.Batch
}

func (s *spy) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	s.batches = append(s.batches, b)
	return s.Store.Commit(ctx, b)
}

// What is stored of a call are keyed digests: no text of the arguments, and not its id.
func TestNothingOfACallIsStored(t *testing.T) {
	s := &spy{}
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { s.Store, o.Store = o.Store, s })
	h.invoke(t, asked(`{"hunter2":"hunter2"}`), ofCall("hunter2"))
	n := 0
	for _, b := range s.batches {
		for _, run := range b.Calls {
			n++
			stored, err := json.Marshal(run.Metadata)
			if err != nil || strings.Contains(string(stored)+run.Key.Run, "hunter2") ||
				!strings.Contains(string(stored), "hmac-sha256:") {
				t.Errorf("%+v, %v", run, err)
			}
			if inv := asked(`{}`); func() error { inv.Run = run.Key.Run; return inv.Validate() }() == nil {
				t.Errorf("an invocation may have the run %q", run.Key.Run)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d calls were carried", n)
	}
}
