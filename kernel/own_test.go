package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// buffer is the memory of a caller that reads its next message into it.
type buffer []byte

func (b buffer) text() string { return unsafe.String(&b[0], len(b)) }

func (b buffer) next() {
	for i := range b {
		if b[i] >= 'a' && b[i] <= 'z' {
			b[i] = 'z'
		}
	}
}

// An invocation whose every byte stands in buffers that are used again, from the
// first hook on and once more after the answer, runs and is recorded as it came.
func TestCallersBufferIsUsedAgain(t *testing.T) {
	var all []buffer
	keep := func(s string) buffer {
		b := buffer(s)
		all = append(all, b)
		return b
	}
	overwrite := func() {
		for _, b := range all {
			b.next()
		}
	}
	r := &tapes{}
	h := newHost(t, []hook{
		{name: "early", priority: 9, mutates: preTool, run: func(kernel.Turn) (kernel.Outcome, error) {
			overwrite()
			return kernel.Outcome{}, nil
		}},
		{name: "late", run: func(turn kernel.Turn) (kernel.Outcome, error) {
			if bytes.Contains(turn.Session.Input, []byte("zz")) || bytes.Contains(turn.Session.Action, []byte("zz")) {
				t.Errorf("a hook sees the caller's next message: %s", turn.Session.Input)
			}
			return kernel.Outcome{}, nil
		}},
	}, recordedBy(r))
	inv := phases.Invocation{
		Phase: phases.PreTool, Runtime: keep("custom").text(), Session: keep("session-a").text(),
		Agent: keep("agent-a").text(),
		Run:   keep("run-a").text(), User: keep("dev").text(), CWD: keep("/home/dev").text(),
		Action:   jsontext.Value(keep(`{"tool":"exec","args":{"command":"ls"}}`)),
		Metadata: map[string]jsontext.Value{"why": jsontext.Value(keep(`"because"`))},
		Scopes:   phases.Scopes{FSRead: phases.Scope{keep("/home/dev/**").text()}},
	}
	parent := phases.Scopes{Tools: phases.Scope{keep("exec").text()}}
	credential := keep("uid:one").text()
	v := h.invoke(t, inv, kernel.InvokeOptions{ParentScopes: &parent, Credential: credential, HoldsScopes: true})
	overwrite()
	if got := string(v.Action); got != `{"tool":"exec","args":{"command":"ls"}}` {
		t.Errorf("what runs is the caller's next message: %s", got)
	}
	es := h.events(t, wire.Query{Invocation: v.ID})
	if len(es) == 0 || es[len(es)-1].Session != "session-a" ||
		!strings.Contains(string(es[len(es)-1].Input), `"because"`) {
		t.Errorf("what is logged is the caller's next message: %+v", es)
	}
	raw, err := json.Marshal([]any{v, es, r.list[0].Invocation.Action, r.list[0].Invocation.Session,
		r.list[0].Options.ParentScopes})
	if err != nil || bytes.Contains(raw, []byte("zz")) {
		t.Errorf("the caller's next message is in what was decided (%v): %s", err, raw)
	}
}

// A buffer that changes between two looks at it is decided as it was when it came in.
func TestBufferChangesWhileItIsChecked(t *testing.T) {
	var change func()
	h := newHost(t, nil, required, func(_ *kernel.Config, o *kernel.Options) { o.Clock = clockFunc{o.Clock, &change} })
	h.lend(t, leases.Request{ID: "s-1/a"})
	act := write("/etc/a")
	act.Action = append(jsontext.Value{}, act.Action...)
	change = func() { copy(act.Action, bytes.ReplaceAll(act.Action, []byte("/etc/a"), []byte("/srv/a"))) }
	if _, err := h.CheckLease(t.Context(),
		kernel.LeaseCheck{Holder: ours, Capability: "tool:write", Action: &act}); !errors.Is(err, leases.ErrUnknown) {
		t.Errorf("a lease for what the buffer came to hold: %v", err)
	}
}

// clockFunc calls a function whenever the time is asked for.
type clockFunc struct {
	kernel.Clock
	f *func()
}

func (c clockFunc) Now() time.Time {
	if *c.f != nil {
		(*c.f)()
	}
	return c.Clock.Now()
}

// scribble overwrites all the memory that a verdict leads to.
func scribble(v *phases.Verdict) {
	zero := func(b []byte) {
		for i := range b {
			b[i] = ' '
		}
	}
	zero(v.Action)
	for k, e := range v.Metadata {
		zero(e.Value)
		v.Metadata[k] = phases.Entry{Value: jsontext.Value(`"scribbled"`)}
	}
	for _, list := range [][]string{v.Changed, v.Contexts, v.Masked, v.Notes, v.Scopes.FSRead, v.Scopes.FSWrite,
		v.Scopes.Net, v.Scopes.Tools} {
		for i := range list {
			list[i] = "scribbled"
		}
	}
	for i := range v.Hooks {
		for j := range v.Hooks[i].Effects {
			zero(v.Hooks[i].Effects[j].Value)
			if s := v.Hooks[i].Effects[j].Scopes; s != nil {
				*s = phases.Scopes{}
			}
		}
	}
	if v.Approval != nil {
		v.Approval.ID = "scribbled"
	}
}

// What a caller does with its verdict reaches neither the record, the queue, the run,
// the recording, nor the next verdict.
func TestVerdictIsTheCallers(t *testing.T) {
	value := jsontext.Value(`"noted"`)
	narrow := phases.Scopes{FSWrite: phases.Scope{"/srv/**"}, FSRead: phases.Scope{"*"}, Net: phases.Scope{"*"},
		Tools: phases.Scope{"*"}}
	r := &tapes{}
	h := newHost(t, []hook{
		{name: "noter", mutates: preTool, caps: []string{"annotate", "rewrite:/args", "clamp_scopes", "request_approval"},
			run: effects(
				phases.Effect{Kind: phases.EffectAnnotate, Key: "note", Value: value}, rewrite("/args/x", `"y"`),
				phases.Effect{Kind: phases.EffectClamp, Scopes: &narrow}, ask("sure?"))},
	}, recordedBy(r), func(c *kernel.Config, _ *kernel.Options) {
		c.Ceiling = phases.Scopes{Net: phases.Scope{"a.example:443"}}
	})
	inv := invocation(phases.PreTool)
	state := func() string {
		es := h.events(t, wire.Query{})
		items, err := h.store.Approvals(t.Context(), approvals.Query{})
		if err != nil {
			t.Fatal(err)
		}
		run, err := h.store.RunState(t.Context(), inv.RunKey(), h.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal([]any{es, items, run.Metadata, r.list[0].Verdict, r.list[0].Chained,
			r.list[0].Invocation.Action, h.Hooks()}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	v := h.invoke(t, inv, kernel.InvokeOptions{HoldsScopes: true})
	before := state()
	first, _ := json.Marshal(v.Scopes)
	scribble(&v)
	if after := state(); after != before {
		t.Errorf("a caller that writes into its verdict changes\n%s\nto\n%s", before, after)
	}
	again := h.invoke(t, inv, kernel.InvokeOptions{HoldsScopes: true})
	if second, _ := json.Marshal(again.Scopes); string(second) != string(first) ||
		string(again.Metadata["note"].Value) != `"noted"` || again.Decision != phases.Ask {
		t.Errorf("it changes the next verdict: %s %+v", second, again.Metadata)
	}
}

// A list of hooks that was handed out is not the one that the kernel goes by.
func TestListedHooksAreACopy(t *testing.T) {
	h := newHost(t, []hook{{name: "guard", mutates: preTool, caps: []string{"block"}, run: effects(block("no"))}})
	for _, s := range h.Hooks() {
		s.Phases[0], s.Mutates[0], s.Capabilities[0] = phases.Audit, phases.Audit, "nothing"
	}
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Block {
		t.Errorf("%s: the hook was turned off by a list", v.Decision)
	}
}

// A hook, a tool and a server that answer out of memory which they use again.
func TestAnswersOutOfMemoryThatIsUsedAgain(t *testing.T) {
	value := jsontext.Value(`"first"`)
	turns := 0
	h := newHost(t,
		[]hook{{name: "noter", mutates: preTool, caps: []string{"rewrite:/args"},
			run: func(kernel.Turn) (kernel.Outcome, error) {
				turns++
				return kernel.Outcome{Effects: []phases.Effect{{Kind: phases.EffectRewrite, Path: "/args/x", Value: value}}}, nil
			}}, {name: "other", run: func(kernel.Turn) (kernel.Outcome, error) {
			copy(value, `"later"`)
			return kernel.Outcome{}, nil
		}}})
	v := h.invoke(t, invocation(phases.PreTool))
	es := h.events(t, wire.Query{Binding: "noter"})
	if got, _ := phases.GetString(v.Action, "/args/x"); got != "first" ||
		string(v.Hooks[0].Effects[0].Value) != `"first"` || strings.Contains(string(es[0].Output), "later") {
		t.Errorf("action %s, report %s, event %s", v.Action, v.Hooks[0].Effects[0].Value, es[0].Output)
	}

	var got []answer
	result := jsontext.Value(`{"text":"first"}`)
	x := &tools{}
	x.call = func(_ context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
		copy(c.Args, bytes.Repeat([]byte{' '}, len(c.Args))) // a tool that works in place
		c.Scopes.Tools[0] = "nothing"
		return kernel.ToolResult{Result: result}, nil
	}
	var after string
	h = newHost(t, []hook{toolAsker(&got, `{"tool":"probe","args":{"path":"a"}}`),
		{name: "see", phases: []phases.Phase{phases.PostTool}, run: func(turn kernel.Turn) (kernel.Outcome, error) {
			copy(result, `{"text":"later"}`)
			after = string(turn.Session.Input)
			return kernel.Outcome{}, nil
		}}}, withTools(x))
	h.invoke(t, invocation(phases.PreTool))
	args, _ := phases.GetString(jsontext.Value(after), "/args/path")
	if len(got) != 1 || !strings.Contains(got[0].reply, "first") || args != "a" ||
		strings.Contains(after, "original_args") {
		t.Errorf("the hook got %+v, post_tool saw %s", got, after)
	}

	got = nil
	page := jsontext.Value(`{"body":"first"}`)
	c := &caller{send: func(context.Context) (kernel.HTTPResult, error) {
		return kernel.HTTPResult{Reply: page, Outcome: kernel.OutcomeOK}, nil
	}}
	h = newHost(t,
		[]hook{{name: "fetch", caps: []string{"http_request"}, imports: []string{"http_request"}, tier: phases.Trusted,
			http: c,
			runCtx: func(ctx context.Context, turn kernel.Turn) (kernel.Outcome, error) {
				s, err := hostcalls.NewSession(turn.Session)
				if err != nil {
					return kernel.Outcome{}, err
				}
				do := func(name string) (hostcalls.Result, error) {
					call, _ := hostcalls.Lookup(name)
					a := &hostcalls.Args{Fuel: 1000, Cap: 1 << 20}
					a.In[0] = []byte(`{"url":"https://a.example/"}`)
					return s.Do(ctx, &call, a)
				}
				if _, err := do("http_request"); err != nil {
					return kernel.Outcome{}, err
				}
				copy(page, `{"body":"later"}`)
				r, err := do("reply_read")
				got = append(got, answer{reply: string(r.Out)})
				return kernel.Outcome{}, err
			}}})
	h.invoke(t, invocation(phases.PreTool))
	if len(got) != 1 || !strings.Contains(got[0].reply, "first") {
		t.Errorf("the hook got %+v", got)
	}
}
