package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// tools is an executor that remembers the calls that it ran.
type tools struct {
	calls []kernel.ToolCall
	call  func(context.Context, kernel.ToolCall) (kernel.ToolResult, error)
	reach phases.Scopes
}

func (x *tools) Tools(context.Context) ([]kernel.ToolInfo, error) { return nil, nil }
func (x *tools) Reach(string) phases.Scopes                       { return x.reach }
func (x *tools) Call(ctx context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
	x.calls = append(x.calls, c)
	if x.call != nil {
		return x.call(ctx, c)
	}
	return kernel.ToolResult{Result: jsontext.Value(`{"seen":` + string(c.Args) + `}`)}, nil
}

func withTools(x kernel.ToolExecutor) change {
	return func(_ *kernel.Config, o *kernel.Options) { o.Tools = x }
}

// answer is what a guest gets from a call.
type answer struct {
	code  int64
	reply string
	fuel  int64
}

// ask makes a call as the sandbox would, for a guest with so much fuel left.
func askFor(ctx context.Context, t kernel.Turn, name, request string, fuel int64) (answer, error) {
	s, err := hostcalls.NewSession(t.Session)
	if err != nil {
		return answer{}, err
	}
	do := func(name, in string) (hostcalls.Result, error) {
		c, _ := hostcalls.Lookup(name)
		a := &hostcalls.Args{Fuel: fuel, Cap: 1 << 20}
		a.In[0] = []byte(in)
		return s.Do(ctx, &c, a)
	}
	res, err := do(name, request)
	if err != nil {
		return answer{}, err
	}
	r, err := do("reply_read", "")
	return answer{code: res.Code, reply: string(r.Out), fuel: res.Fuel}, err
}

const probeCall = `{"tool":"probe","args":{"path":"a","key":"SECRET"}}`

// toolAsker is a hook that calls the tool in every exec it sees, and keeps the answers.
func toolAsker(got *[]answer, request string) hook {
	return hook{name: "asker", priority: 50, caps: []string{"request_tool_call"}, imports: []string{"request_tool_call"},
		runCtx: func(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
			if tool, _ := phases.GetString(t.Session.Input, "/tool"); tool != "exec" {
				return kernel.Outcome{Fuel: 5}, nil
			}
			a, err := askFor(ctx, t, "request_tool_call", request, 1000)
			*got = append(*got, a)
			return kernel.Outcome{Fuel: 5 + a.fuel}, err
		}}
}

// onTool runs only for invocations about the tool.
func onTool(tool string, f func(kernel.Turn) (kernel.Outcome, error)) func(kernel.Turn) (kernel.Outcome, error) {
	return func(t kernel.Turn) (kernel.Outcome, error) {
		if name, _ := phases.GetString(t.Session.Input, "/tool"); name != tool {
			return kernel.Outcome{}, nil
		}
		return f(t)
	}
}

func TestToolCallIsGatedAndRecorded(t *testing.T) {
	var got []answer
	var caller string
	x := &tools{}
	h := newHost(t, []hook{
		toolAsker(&got, probeCall),
		{name: "fix", phases: preTool, mutates: preTool, caps: []string{"rewrite:/args"},
			run: onTool("probe", func(t kernel.Turn) (kernel.Outcome, error) {
				v, _ := phases.Get(t.Session.Input, "/metadata/caller/belay")
				caller = string(v)
				return kernel.Outcome{Fuel: 7, Effects: []phases.Effect{rewrite("/args/path", `"b"`)}}, nil
			})},
		{name: "cover", phases: []phases.Phase{phases.PostTool}, mutates: []phases.Phase{phases.PostTool},
			caps: []string{"rewrite:/result"}, run: effects(rewrite("/result/extra", `"added"`))},
	}, withTools(x))
	x.call = func(ctx context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
		es := h.events(t, wire.Query{Type: phases.EventIntent})
		if len(es) != 1 || es[0].ID != c.ID || es[0].Intent != c.ID || es[0].Binding != "asker" || es[0].Tool != "probe" {
			t.Errorf("logged before the tool runs: %+v", es)
		}
		return kernel.ToolResult{Result: jsontext.Value(`{"key":"the SECRET"}`)}, nil
	}
	v := h.invoke(t, invocation(phases.PreTool))
	if v.Decision != phases.Allow || len(x.calls) != 1 || string(x.calls[0].Args) != `{"path":"b","key":"SECRET"}` ||
		x.calls[0].Session != "s-1" || x.calls[0].Hook != "asker" {
		t.Fatalf("verdict %+v, calls %+v", v, x.calls)
	}
	want := fmt.Sprintf(
		`{"outcome":"ok","tool":"probe","call_id":"%s","is_error":false,"result":{"key":"the [redacted]","extra":"added"}}`,
		x.calls[0].ID)
	if len(got) != 1 || got[0].reply != want || got[0].code != int64(len(want)) {
		t.Errorf("reply %+v, want %s", got, want)
	}
	for _, part := range []string{`"hook":"asker"`, `"phase":"pre_tool"`, `"invocation":"` + v.ID + `"`, `"depth":1`,
		`"tier":"sandboxed"`} {
		if !strings.Contains(caller, part) {
			t.Errorf("the nested chain was told %s, without %s", caller, part)
		}
	}
	var types []string
	for _, e := range h.events(t, wire.Query{}) {
		if e.Type != phases.EventHook {
			types = append(types, string(e.Type)+" "+string(e.Phase)+" "+e.Tool+" "+e.Decision)
		}
	}
	wantOrder(t, types, "verdict pre_tool probe allow", "intent pre_tool probe ", "outcome pre_tool probe ok",
		"verdict post_tool probe allow", "verdict pre_tool exec allow")
	es := h.events(t, wire.Query{})
	intent := es[slices.IndexFunc(es, func(e phases.Event) bool { return e.Type == phases.EventIntent })]
	if string(intent.Input) != `{"action":{"tool":"probe","call_id":"`+intent.ID+
		`","args":{"path":"b","key":"[redacted]"}}}` || intent.InputDigest == "" {
		t.Errorf("intent %s %s", intent.Input, intent.InputDigest)
	}
	outcome := h.events(t, wire.Query{Type: phases.EventOutcome})[0]
	if outcome.Intent != intent.ID || outcome.Invocation != intent.Invocation || outcome.OutputDigest == "" ||
		outcome.Output != nil {
		t.Errorf("outcome %+v", outcome)
	}
	by := v.Hooks[slices.IndexFunc(v.Hooks, func(r phases.HookReport) bool { return r.Hook == "asker" })]
	if notes := strings.Join(by.Notes, " "); !strings.Contains(notes, intent.ID) || !strings.Contains(notes, ": ok") {
		t.Errorf("the hook's event does not lead to the intent: %q", notes)
	}
}

func TestToolCallRefusals(t *testing.T) {
	blocker := func(phase phases.Phase, e phases.Effect) hook {
		return hook{name: "judge", phases: []phases.Phase{phase}, caps: []string{"block", "request_approval"},
			run: onTool("probe", effects(e))}
	}
	for _, c := range []struct {
		name   string
		hook   hook
		code   hostcalls.Errno
		reply  string
		ran    int
		opened int
	}{
		{"block", blocker(phases.PreTool, block("not here")), hostcalls.Denied,
			`{"reason":"not here","kind":"policy","decided_by":"judge"}`, 0, 0},
		{"ask", blocker(phases.PreTool, ask("may it?")), hostcalls.Pending, `{"reason":"may it?","decided_by":"judge"`, 0, 0},
		{"failure", hook{name: "judge", run: onTool("probe", failing(phases.KindTrap))}, hostcalls.Denied,
			`{"reason":"it failed","kind":"trap"`, 0, 0},
		{"block of the result", blocker(phases.PostTool, block("hide it")), hostcalls.Denied,
			`{"reason":"hide it","kind":"policy","decided_by":"judge"}`, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []answer
			x := &tools{}
			h := newHost(t, []hook{toolAsker(&got, probeCall), c.hook}, withTools(x))
			v := h.invoke(t, invocation(phases.PreTool))
			if v.Decision != phases.Allow || len(got) != 1 || got[0].code != int64(c.code) ||
				!strings.HasPrefix(got[0].reply, c.reply) {
				t.Errorf("%+v, decision %s", got, v.Decision)
			}
			if n := len(h.events(t, wire.Query{Type: phases.EventIntent})); len(x.calls) != c.ran || n != c.opened {
				t.Errorf("ran %d times with %d intents", len(x.calls), n)
			}
		})
	}
}

func TestToolCallRequests(t *testing.T) {
	for _, bad := range []string{`{}`, `{"tool":""}`, `{"tool":"a","args":[]}`, `{"tool":"a","x":1}`,
		`{"tool":"a\u0000","args":{}}`, `{"tool":"a","args":{},"timeout_ms":-1}`,
		`{"tool":"a","args":{},"timeout_ms":25001}`, `{"tool":"` + strings.Repeat("a", 257) + `"}`,
		`{"tool":"a","args":null}`, `{"tool":7}`, `{"Tool":"a"}`} {
		var got []answer
		x := &tools{}
		h := newHost(t, []hook{toolAsker(&got, bad)}, withTools(x))
		h.invoke(t, invocation(phases.PreTool))
		if len(got) != 1 || got[0].code != int64(hostcalls.Invalid) || len(x.calls) != 0 {
			t.Errorf("%s: %+v", bad, got)
		}
	}
	// Without arguments there are none, and names are normalised.
	var got []answer
	x := &tools{}
	h := newHost(t, []hook{toolAsker(&got, `{"tool":"mcp__crm__find"}`)}, withTools(x))
	h.invoke(t, invocation(phases.PreTool))
	if len(x.calls) != 1 || x.calls[0].Tool != "mcp:crm:find" ||
		*x.calls[0].MCP != (phases.MCPTool{Server: "crm", Tool: "find"}) || string(x.calls[0].Args) != "{}" {
		t.Errorf("calls %+v", x.calls)
	}
	if e := h.events(t, wire.Query{Type: phases.EventIntent})[0]; e.Tool != "mcp:crm:find" {
		t.Errorf("intent for %q", e.Tool)
	}
}

func TestToolOutcomes(t *testing.T) {
	wait := func(ctx context.Context, _ kernel.ToolCall) (kernel.ToolResult, error) {
		<-ctx.Done()
		return kernel.ToolResult{}, ctx.Err()
	}
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	for _, c := range []struct {
		name, outcome, result string
		call                  func(context.Context, kernel.ToolCall) (kernel.ToolResult, error)
	}{
		{"error", "error", `{"error":"it broke [redacted]"}`,
			func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
				return kernel.ToolResult{}, errors.New("it broke SECRET")
			}},
		{"crash", "crashed", `{"error":"the tool crashed"}`,
			func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
				return kernel.ToolResult{}, kernel.ErrToolCrashed
			}},
		{"panic", "crashed", `{"error":"the tool crashed: panic: oops"}`,
			func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) { panic("oops") }},
		{"timeout", "timeout", `{"error":"`, wait},
		{"deaf", "timeout", `{"error":"the tool did not answer in time"}`,
			func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
				<-stuck
				return kernel.ToolResult{}, nil
			}},
		{"no JSON", "error", `{"error":"the result is not valid JSON"}`,
			func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
				return kernel.ToolResult{Result: jsontext.Value(`{"a":1,"a":2}`)}, nil
			}},
		{"nothing", "error", `{"error":"the result is not valid JSON"}`,
			func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
				return kernel.ToolResult{}, nil
			}},
		{"too large", "error", `{"error":"the result is larger than 524288 bytes"}`,
			func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
				return kernel.ToolResult{Result: jsontext.Value(`"` + strings.Repeat("x", 512<<10) + `"`)}, nil
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []answer
			h := newHost(t, []hook{toolAsker(&got, `{"tool":"probe","timeout_ms":50}`)}, withTools(&tools{call: c.call}))
			if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
				t.Fatalf("%+v", v)
			}
			if len(got) != 1 || !strings.HasPrefix(got[0].reply, `{"outcome":"`+c.outcome+`"`) ||
				!strings.Contains(got[0].reply, `"is_error":true,"result":`+c.result) {
				t.Errorf("reply %+v", got)
			}
			es := h.events(t, wire.Query{Type: phases.EventOutcome})
			if len(es) != 1 || es[0].Decision != c.outcome || es[0].Reason == "" || strings.Contains(es[0].Reason, "SECRET") {
				t.Errorf("outcome %+v", es)
			}
			post := h.events(t, wire.Query{Type: phases.EventVerdict, Phase: phases.PostTool})
			if len(post) != 1 || !strings.Contains(string(post[0].Input), `"is_error":true`) {
				t.Errorf("the chain of post_tool saw %+v", post)
			}
		})
	}
	var got []answer
	h := newHost(t, []hook{toolAsker(&got, probeCall)},
		withTools(&tools{call: func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
			return kernel.ToolResult{}, fmt.Errorf("%w: probe", kernel.ErrNoTool)
		}}))
	h.invoke(t, invocation(phases.PreTool))
	if got[0].code != int64(hostcalls.Absent) || len(h.events(t, wire.Query{Type: phases.EventOutcome})) != 1 {
		t.Errorf("an unknown tool: %+v", got)
	}
}

// A tool that its executor holds back has not run: the hook is told what waits for a person, and
// why, and no chain of post_tool sees a result.
func TestToolThatIsHeldBack(t *testing.T) {
	waits := &phases.ApprovalRef{ID: "item-1", Expires: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, c := range []struct {
		name  string
		held  *kernel.ToolHeld
		code  hostcalls.Errno
		reply string
	}{
		{"a person can accept it", &kernel.ToolHeld{Reason: "it has changed", Approval: waits}, hostcalls.Pending,
			`{"reason":"it has changed","approval":{"id":"item-1","expires":"2026-01-02T03:04:05Z"}}`},
		{"a person has not", &kernel.ToolHeld{Reason: "denied by anna"}, hostcalls.Denied, `{"reason":"denied by anna"}`},
	} {
		var got []answer
		h := newHost(t, []hook{toolAsker(&got, probeCall)},
			withTools(&tools{call: func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
				return kernel.ToolResult{}, fmt.Errorf("probe: %w", c.held)
			}}))
		h.invoke(t, invocation(phases.PreTool))
		if len(got) != 1 || got[0].code != int64(c.code) || got[0].reply != strings.Replace(c.reply, `"reason":"`,
			`"reason":"probe: `, 1) {
			t.Errorf("%s: %+v", c.name, got)
		}
		es := h.events(t, wire.Query{Type: phases.EventOutcome})
		if len(es) != 1 || es[0].Decision != kernel.OutcomeError || !strings.Contains(es[0].Reason, c.held.Reason) {
			t.Errorf("%s: outcome %+v", c.name, es)
		}
		if post := h.events(t, wire.Query{Phase: phases.PostTool}); len(post) != 0 {
			t.Errorf("%s: a result was shown: %+v", c.name, post)
		}
	}
}

// What an executor accepts at first sight is an event.
func TestAcceptedToolsAreNoted(t *testing.T) {
	h := newHost(t, nil)
	if err := h.NoteTools(t.Context(), "files", "tools of files", jsontext.Value(`{"read":1}`)); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]bool{"files": true, "other": false} {
		if have, err := h.ToolsNoted(t.Context(), source); have != want || err != nil {
			t.Errorf("%s is noted: %v, %v", source, have, err)
		}
	}
	es := h.events(t, wire.Query{Type: phases.EventNotice, Decision: kernel.DecisionPinned})
	if len(es) != 1 || es[0].Reason != "tools of files" ||
		string(es[0].Output) != `{"source":"files","tools":{"read":1}}` {
		t.Errorf("%+v", es)
	}
}

// A hook that calls a tool whenever it is asked about one is stopped at the depth
// limit, and everything that was begun ends.
func TestToolCallDepth(t *testing.T) {
	var codes []int64
	x := &tools{}
	h := newHost(t,
		[]hook{{name: "loop", caps: []string{"request_tool_call"}, imports: []string{"request_tool_call"},
			runCtx: func(ctx context.Context, tu kernel.Turn) (kernel.Outcome, error) {
				a, err := askFor(ctx, tu, "request_tool_call", `{"tool":"probe"}`, 1<<20)
				codes = append(codes, a.code)
				return kernel.Outcome{Fuel: 10 + a.fuel}, err
			}}}, withTools(x))
	v := h.invoke(t, invocation(phases.PreTool))
	if len(codes) != kernel.MaxToolDepth+1 || codes[0] != int64(hostcalls.Budget) || slices.Min(codes[1:]) <= 0 ||
		len(x.calls) != kernel.MaxToolDepth {
		t.Errorf("codes %v, %d tools ran", codes, len(x.calls))
	}
	if v.Hooks[0].Fuel != 10*(kernel.MaxToolDepth+1) {
		t.Errorf("the outermost hook paid %d fuel", v.Hooks[0].Fuel)
	}
	if n := len(h.events(t, wire.Query{Type: phases.EventOutcome})); n != kernel.MaxToolDepth {
		t.Errorf("%d outcomes", n)
	}
}

// An executor that asks the kernel itself lives on the same depth and does not wait
// for the lock that the hook's own invocation holds.
func TestToolExecutorAsksTheKernel(t *testing.T) {
	x := &tools{}
	var got []answer
	h := newHost(t, []hook{toolAsker(&got, probeCall)}, withTools(x))
	var depth atomic.Int64
	x.call = func(ctx context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
		if depth.Add(1) > 20 {
			t.Error("without end")
			return kernel.ToolResult{}, errors.New("stop")
		}
		_, err := h.Invoke(ctx, invocation(phases.PreTool))
		return kernel.ToolResult{Result: jsontext.Value("1")}, err
	}
	done := make(chan struct{})
	go func() { defer close(done); h.invoke(t, invocation(phases.PreTool)) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("deadlock")
	}
	if n := depth.Load(); n == 0 || n > kernel.MaxToolDepth {
		t.Errorf("%d calls", n)
	}
}

func TestToolCallsShareFuel(t *testing.T) {
	var limits []int64
	var got []answer
	h := newHost(t, []hook{
		toolAsker(&got, probeCall), // has 1000 left, and costs 5 when it is asked about the tool
		{name: "a", run: onTool("probe", func(tu kernel.Turn) (kernel.Outcome, error) {
			limits = append(limits, tu.Fuel)
			return kernel.Outcome{Fuel: 600}, nil
		})},
		{name: "b", run: onTool("probe", func(tu kernel.Turn) (kernel.Outcome, error) {
			limits = append(limits, tu.Fuel)
			return kernel.Outcome{Fuel: tu.Fuel}, nil
		})},
		{name: "c", run: onTool("probe", func(tu kernel.Turn) (kernel.Outcome, error) {
			t.Error("a hook ran without fuel")
			return kernel.Outcome{}, nil
		})},
	}, withTools(&tools{}))
	h.invoke(t, invocation(phases.PreTool))
	if !slices.Equal(limits, []int64{995, 395}) || len(got) != 1 || got[0].code != int64(hostcalls.Denied) ||
		got[0].fuel != 1000 {
		t.Errorf("limits %v, answer %+v", limits, got)
	}
	if !strings.Contains(got[0].reply, `"kind":"fuel"`) {
		t.Errorf("reply %s", got[0].reply)
	}
}

// The time of hooks counts once, that of tools not at all.
func TestToolCallsShareTime(t *testing.T) {
	const budget, first = time.Second, 300 * time.Millisecond
	var got []answer
	nap := func(d time.Duration) func(kernel.Turn) (kernel.Outcome, error) {
		return func(kernel.Turn) (kernel.Outcome, error) { return kernel.Outcome{Duration: d}, nil }
	}
	for _, c := range []struct {
		tool, hook time.Duration
		code       int64
	}{{200 * time.Millisecond, 150 * time.Millisecond, 1}, {0, 750 * time.Millisecond, int64(hostcalls.Denied)}} {
		got = nil
		var left time.Duration
		asker := toolAsker(&got, probeCall)
		inner := asker.runCtx
		asker.runCtx = func(ctx context.Context, tu kernel.Turn) (kernel.Outcome, error) {
			from := time.Now()
			out, err := inner(ctx, tu)
			out.Duration = time.Since(from)
			out.Waited = out.Duration
			return out, err
		}
		unhurried := func(s *kernel.BindingSpec) { s.Budget.DeadlineMS = 5000 }
		h := newHost(t, []hook{
			{name: "first", priority: 60, spec: unhurried, run: onTool("exec", nap(first))},
			asker,
			{name: "slow", spec: unhurried, run: onTool("probe", nap(c.hook))},
			{name: "next", run: onTool("probe", nap(20*time.Millisecond))},
			{name: "last", priority: -5, spec: unhurried, run: onTool("exec", func(tu kernel.Turn) (kernel.Outcome, error) {
				left = tu.Timeout
				return kernel.Outcome{}, nil
			})},
		}, withTools(&tools{call: func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
			time.Sleep(c.tool)
			return kernel.ToolResult{Result: jsontext.Value("1")}, nil
		}}), func(cfg *kernel.Config, o *kernel.Options) { cfg.ChainBudget, o.Sequential = budget, true })
		_, err := h.InvokeWith(t.Context(), invocation(phases.PreTool), kernel.InvokeOptions{})
		if len(got) != 1 || c.code < 0 && got[0].code != c.code || c.code > 0 && got[0].code <= 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if c.code > 0 && (left > budget-first-c.hook || left < budget-first-c.hook-150*time.Millisecond) {
			t.Errorf("after a tool of %v and hooks of %v, %v of %v were left", c.tool, c.hook, left, budget)
		}
		if c.code < 0 && !strings.Contains(got[0].reply, `"kind":"deadline"`) {
			t.Errorf("reply %s", got[0].reply)
		}
	}
}

// An invocation runs again when a row that it had read was changed, here by the very invocation
// that it has asked for. The tool does not.
func TestToolRunsOnceWhenTheInvocationRunsAgain(t *testing.T) {
	var got []answer
	x := &tools{}
	h := newHost(t, []hook{
		{name: "counter", priority: 90, caps: []string{"state_get", "state_put"}, run: counting()},
		toolAsker(&got, probeCall),
	}, withTools(x))
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Fatalf("%+v", v)
	}
	if len(x.calls) != 1 || len(got) != 2 || got[0] != got[1] || h.counter(t, "counter") != "2" {
		t.Errorf("%d runs of the tool, answers %+v, counter %s", len(x.calls), got, h.counter(t, "counter"))
	}
}

func TestToolCallScopes(t *testing.T) {
	for _, c := range []struct {
		name  string
		reach phases.Scopes
		scope phases.Scopes
		ran   int
	}{
		{"free", phases.Scopes{}, phases.Scopes{}, 1},
		{"narrow, unknown reach", phases.Scopes{}, phases.Scopes{FSWrite: phases.Scope{"/home/dev/**"}}, 0},
		{"narrow, within",
			phases.Scopes{FSRead: phases.Scope{}, FSWrite: phases.Scope{"/home/dev/project/**"}, Net: phases.Scope{}},
			phases.Scopes{FSWrite: phases.Scope{"/home/dev/**"}}, 1},
		{"narrow, beyond", phases.Scopes{FSRead: phases.Scope{}, FSWrite: phases.Scope{"/home/**"}, Net: phases.Scope{}},
			phases.Scopes{FSWrite: phases.Scope{"/home/dev/**"}}, 0},
		{"tool not in scope", phases.Scopes{}, phases.Scopes{Tools: phases.Scope{"exec"}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []answer
			x := &tools{reach: c.reach}
			h := newHost(t, []hook{toolAsker(&got, probeCall)}, withTools(x))
			inv := invocation(phases.PreTool)
			inv.Scopes = c.scope
			h.invoke(t, inv)
			if len(x.calls) != c.ran || (got[0].code > 0) != (c.ran == 1) {
				t.Errorf("ran %d times, %+v", len(x.calls), got)
			}
			if n := len(h.events(t, wire.Query{Type: phases.EventIntent})); n != c.ran {
				t.Errorf("%d intents", n)
			}
		})
	}
}

func TestCallerKeyIsTheKernels(t *testing.T) {
	h := newHost(t, nil)
	inv := invocation(phases.PreTool)
	inv.Metadata = map[string]jsontext.Value{kernel.CallerKey: jsontext.Value(`{"hook":"trusted"}`)}
	h.fails(t, inv, phases.KindProtocol)
	h.invoke(t, inv, kernel.InvokeOptions{OnBehalf: true}) // as a caller that runs a recorded one again
}

func TestRawToolResults(t *testing.T) {
	var got []answer
	h := newHost(t, []hook{toolAsker(&got, probeCall)},
		withTools(&tools{call: func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
			return kernel.ToolResult{Result: jsontext.Value(`"SECRET"`)}, nil
		}}), func(c *kernel.Config, _ *kernel.Options) { c.RawToolResults = true })
	h.invoke(t, invocation(phases.PreTool))
	if !strings.HasSuffix(got[0].reply, `"result":"SECRET"}`) {
		t.Errorf("reply %s", got[0].reply)
	}
	for _, e := range h.events(t, wire.Query{}) {
		if strings.Contains(string(e.Input)+string(e.Output), "SECRET") {
			t.Errorf("logged: %+v", e)
		}
	}
}

// A result that cannot be covered reaches no hook.
func TestToolResultThatCannotBeCovered(t *testing.T) {
	var got []answer
	h := newHost(t, []hook{toolAsker(&got, probeCall)},
		withTools(&tools{call: func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
			return kernel.ToolResult{Result: jsontext.Value(`"EXPLODE"`)}, nil
		}}))
	h.invoke(t, invocation(phases.PreTool))
	if got[0].code != int64(hostcalls.Denied) || strings.Contains(got[0].reply, "EXPLODE") ||
		!strings.Contains(got[0].reply, `"kind":"audit"`) {
		t.Errorf("%+v", got)
	}
}

// A result that hooks cannot be shown, beside the arguments, answers the hook that it is too large.
func TestToolResultThatCannotBeShown(t *testing.T) {
	for size, shown := range map[int]bool{1 << 10: true, 300 << 10: false} {
		var got []answer
		x := &tools{call: func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
			return kernel.ToolResult{Result: jsontext.Value(`"` + strings.Repeat("r", 500<<10) + `"`)}, nil
		}}
		widens := hook{name: "widens", mutates: preTool, caps: []string{"rewrite:/args"},
			run: onTool("probe", effects(rewrite("/args/more", "1")))}
		h := newHost(t, []hook{toolAsker(&got, `{"tool":"probe","args":{"a":"`+strings.Repeat("a", size)+`"}}`), widens},
			withTools(x))
		h.invoke(t, invocation(phases.PreTool))
		if len(x.calls) != 1 || len(got) != 1 || (got[0].code >= 0) != shown || !shown &&
			(got[0].code != int64(hostcalls.TooLarge) ||
				!strings.Contains(got[0].reply, "the result cannot be shown to hooks")) {
			t.Errorf("%d bytes: ran %d times, %d %.200s", size, len(x.calls), got[0].code, got[0].reply)
		}
	}
}
