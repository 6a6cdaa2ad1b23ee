package guard_test

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/guard"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

var errHost = errors.New("the disk is full")

// A tool runs with the verdict's action, once, or not at all.
func TestToolRunsWhatWasDecided(t *testing.T) {
	rewritten := func(inv phases.Invocation) (phases.Verdict, error) {
		v := allow(inv)
		v.Action = jsontext.Value(`{"tool":"read","args":{"path":"/tmp/b"}}`)
		v.Changed = []string{"/args/path"}
		return v, nil
	}
	delegated := always(phases.Ask, func(v *phases.Verdict) { v.Enforced = phases.EnforcedDelegated })
	asks := always(phases.Ask, queued)
	answer := func(approved bool, err error) func(context.Context, phases.Verdict) (bool, error) {
		return func(context.Context, phases.Verdict) (bool, error) { return approved, err }
	}
	tooLate := append(slices.Repeat([]approvals.State{approvals.Pending}, 20), approvals.Approved)
	const asked = `{"path":"/tmp/a"}`
	for name, c := range map[string]struct {
		host   *fakeHost
		pre    func(phases.Invocation) (phases.Verdict, error)
		o      guard.Options
		class  error  // nil: the tool runs
		cause  error  // besides
		runs   string // arguments of the only run; "" with a class
		asks   int    // how often pre_tool is asked; 0 means once
		reason string
	}{
		"allow":   {pre: always(phases.Allow), runs: asked},
		"rewrite": {pre: rewritten, runs: `{"path":"/tmp/b"}`},
		"block":   {pre: always(phases.Block), class: guard.ErrBlocked, reason: "because"},
		"block of a failure": {pre: always(phases.Block, func(v *phases.Verdict) { v.Kind = phases.KindLoad }),
			class: guard.ErrFailed},
		"denied before": {pre: always(phases.Block, func(v *phases.Verdict) { v.DecidedBy = "reviewer" }),
			class: guard.ErrDenied},
		"no decision":         {pre: always(""), class: guard.ErrFailed},
		"an unknown decision": {pre: always("perhaps"), class: guard.ErrFailed},
		"an error and allow": {pre: func(inv phases.Invocation) (phases.Verdict, error) { return allow(inv), errHost },
			class: guard.ErrFailed, cause: errHost},
		"of another phase": {pre: always(phases.Allow, func(v *phases.Verdict) { v.Phase = phases.PrePlan }),
			class: guard.ErrFailed},
		"no action": {pre: always(phases.Allow, func(v *phases.Verdict) { v.Action = nil }),
			class: guard.ErrFailed},
		"not an action": {pre: always(phases.Allow, func(v *phases.Verdict) {
			v.Action = jsontext.Value(`{"tool":"read"}`)
		}), class: guard.ErrFailed},
		"out of scope": {pre: always(phases.Allow, func(v *phases.Verdict) {
			v.Scopes.FSRead = phases.Scope{"/home/**"}
		}), class: guard.ErrBlocked, cause: phases.ErrOutside},
		"out of its own scope": {pre: always(phases.Allow, func(v *phases.Verdict) { v.Scopes = phases.Scopes{} }),
			o: guard.Options{Scopes: phases.Scopes{FSRead: phases.Scope{"/home/**"}}}, class: guard.ErrBlocked,
			cause: phases.ErrOutside},
		"holds scopes itself": {pre: always(phases.Allow, func(v *phases.Verdict) {
			v.Scopes.FSRead = phases.Scope{"/home/**"}
		}), o: guard.Options{HoldsScopes: true}, runs: asked},

		"ask, and no wait":     {pre: asks, class: guard.ErrUnanswered},
		"ask without question": {pre: always(phases.Ask), o: guard.Options{Wait: time.Minute}, class: guard.ErrUnanswered},
		"approved": {host: &fakeHost{states: []approvals.State{approvals.Approved}},
			pre: inTurn(asks, rewritten), o: guard.Options{Wait: time.Minute}, runs: `{"path":"/tmp/b"}`, asks: 2},
		"approved at last": {host: &fakeHost{states: []approvals.State{approvals.Pending, approvals.Pending,
			approvals.Approved}}, pre: inTurn(asks, rewritten), o: guard.Options{Wait: time.Minute}, runs: `{"path":"/tmp/b"}`,
			asks: 2},
		"approved only as stored": {host: &fakeHost{states: []approvals.State{approvals.Approved}},
			pre: inTurn(asks, always(phases.Block)), o: guard.Options{Wait: time.Minute}, class: guard.ErrBlocked, asks: 2},
		"used up by another": {host: &fakeHost{states: []approvals.State{approvals.Consumed}},
			pre: inTurn(asks, asks, always(phases.Allow)), o: guard.Options{Wait: time.Minute}, runs: asked, asks: 3},
		"asked without end": {host: &fakeHost{states: []approvals.State{approvals.Approved}}, pre: asks,
			o: guard.Options{Wait: time.Minute}, class: guard.ErrUnanswered, asks: 9},
		"run out": {host: &fakeHost{states: []approvals.State{approvals.Expired}},
			pre: inTurn(asks, always(phases.Allow)), o: guard.Options{Wait: time.Minute}, class: guard.ErrUnanswered},
		"timed out": {host: &fakeHost{states: tooLate}, pre: inTurn(asks, always(phases.Allow)),
			o: guard.Options{Wait: time.Millisecond}, class: guard.ErrUnanswered, cause: context.DeadlineExceeded},
		"the queue fails": {host: &fakeHost{states: []approvals.State{approvals.Approved}, itemErr: errHost},
			pre: inTurn(asks, always(phases.Allow)), o: guard.Options{Wait: time.Minute}, class: guard.ErrFailed,
			cause: errHost},

		"prompted, yes": {pre: delegated, o: guard.Options{Prompt: answer(true, nil)}, runs: asked},
		"prompted, no":  {pre: delegated, o: guard.Options{Prompt: answer(false, nil)}, class: guard.ErrDenied},
		"prompted, no answer": {pre: delegated, o: guard.Options{Prompt: answer(true, errHost)},
			class: guard.ErrUnanswered, cause: errHost},
		"queued all the same":       {pre: asks, o: guard.Options{Prompt: answer(true, nil)}, class: guard.ErrUnanswered},
		"delegated without be told": {pre: delegated, class: guard.ErrUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			h, r := cmp.Or(c.host, &fakeHost{}), &runs{}
			h.answers = map[phases.Phase]func(phases.Invocation) (phases.Verdict, error){phases.PreTool: c.pre}
			c.o.Runtime, c.o.Session, c.o.Agent, c.o.Run, c.o.User, c.o.CWD, c.o.Credential = "rt", "s-1", "coder", "r-1", "u",
				"/tmp", "uid 7"
			done, err := guard.New(h, c.o).Tool(t.Context(), call("read", asked), r.tool("fine", nil))
			want := []phases.Phase{phases.PreTool}
			for range max(c.asks, 1) - 1 {
				want = append(want, phases.PreTool)
			}
			if c.class != nil {
				e := refused(t, err, c.class, phases.PreTool)
				if c.cause != nil && !errors.Is(err, c.cause) || c.reason != "" && e.Reason != c.reason {
					t.Errorf("error %v, reason %q, want the cause %v, %q", err, e.Reason, c.cause, c.reason)
				}
				same(t, "runs", r.args)
				if done.Action.Tool != "" || done.Action.Result != nil {
					t.Errorf("beside an error: %+v", done.Action)
				}
			} else {
				if err != nil || string(done.Action.Result) != `"fine"` || done.Action.IsError {
					t.Errorf("result %s, %v", done.Action.Result, err)
				}
				same(t, "runs", r.args, c.runs)
				want = append(want, phases.PostTool)
			}
			same(t, "phases", h.phases(), want...)
			inv := h.asked[0]
			same(t, "who acts", []string{inv.Runtime, inv.Session, inv.Agent, inv.Run, inv.User, inv.CWD, h.said[0].Credential},
				"rt", "s-1", "coder", "r-1", "u", "/tmp", "uid 7")
			if o := h.said[0]; o.HoldsScopes != c.o.HoldsScopes || o.Delegated != (c.o.Prompt != nil) || o.Unblockable {
				t.Errorf("the host was told %+v", o)
			}
		})
	}
}

// Whatever a tool does, hooks are told, and the caller gets what they leave of it.
func TestPostToolAlwaysKnows(t *testing.T) {
	panics := func(context.Context, phases.PreToolAction, phases.Scopes) (any, error) { panic("SECRET") }
	ends := func(context.Context, phases.PreToolAction, phases.Scopes) (any, error) {
		runtime.Goexit()
		return nil, nil
	}
	scribbles := func(_ context.Context, c phases.PreToolAction, _ phases.Scopes) (any, error) {
		copy(c.Args, `{"path":"/etc/x"}`)
		c.MCP.Server = "other"
		return 1, nil
	}
	for name, c := range map[string]struct {
		run    func(context.Context, phases.PreToolAction, phases.Scopes) (any, error)
		post   func(phases.Invocation) (phases.Verdict, error)
		told   string // what post_tool saw as the result
		failed bool   // told as an error of the tool
		got    string // by the caller; "" for nothing
		class  error
		ended  bool // run does not return
	}{
		"a result": {run: (&runs{}).tool(map[string]int{"b": 1, "a": 2}, nil), told: `{"a":2,"b":1}`,
			got: `{"a":2,"b":1}`},
		"none": {run: (&runs{}).tool(nil, nil), told: `null`, got: `null`},
		"an error": {run: (&runs{}).tool(nil, errors.New("exit \xff")), told: "\"exit \uFFFD\"", failed: true,
			got: "\"exit \uFFFD\""},
		"an error and a result": {run: (&runs{}).tool("half", errHost), told: `"half"`, failed: true, got: `"half"`},
		"what is no JSON": {run: (&runs{}).tool(func() {}, nil), told: `"the tool's result cannot be encoded"`,
			failed: true, got: `"the tool's result cannot be encoded"`},
		"rewritten": {run: (&runs{}).tool("SECRET", nil),
			post: always(phases.Allow, func(v *phases.Verdict) {
				v.Action, _ = phases.Set(v.Action, "/result", jsontext.Value(`"gone"`))
			}), told: `"SECRET"`, got: `"gone"`},
		"an error rewritten": {run: (&runs{}).tool(nil, errors.New("SECRET")),
			post: always(phases.Allow, func(v *phases.Verdict) {
				v.Action, _ = phases.Set(v.Action, "/result", jsontext.Value(`"gone"`))
			}), told: `"SECRET"`, failed: true, got: `"gone"`},
		"withheld": {run: (&runs{}).tool("SECRET", nil), post: always(phases.Block), told: `"SECRET"`,
			class: guard.ErrBlocked},
		"withheld by a failure": {run: (&runs{}).tool("SECRET", nil),
			post: func(inv phases.Invocation) (phases.Verdict, error) { return allow(inv), errHost }, told: `"SECRET"`,
			class: guard.ErrFailed},
		"a panic":                {run: panics, told: `"the tool did not return"`, failed: true, ended: true},
		"the end of a goroutine": {run: ends, told: `"the tool did not return"`, failed: true, ended: true},
		"scribbles":              {run: scribbles, told: `1`, got: `1`},
	} {
		t.Run(name, func(t *testing.T) {
			h := &fakeHost{answers: map[phases.Phase]func(phases.Invocation) (phases.Verdict, error){phases.PostTool: c.post}}
			ctx, cancel := context.WithCancel(t.Context())
			run := func(ctx context.Context, call phases.PreToolAction, s phases.Scopes) (any, error) {
				cancel() // post_tool is told all the same
				return c.run(ctx, call, s)
			}
			a := call("mcp:files:get", `{"path":"/tmp/a"}`)
			a.NativeTool, a.MCP = "get", &phases.MCPTool{Server: "files", Tool: "get"}
			var done guard.Allowed[phases.PostToolAction]
			var err error
			returned, panicked := false, any(nil)
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() { panicked = recover() }()
				done, err = guard.New(contextHost{h}, guard.Options{}).Tool(ctx, a, run)
				returned = true
			})
			wg.Wait()
			if returned == c.ended || name == "a panic" && panicked != "SECRET" {
				t.Errorf("returned %v, panicked with %v", returned, panicked)
			}
			same(t, "phases", h.phases(), phases.PreTool, phases.PostTool)
			told, derr := phases.DecodeAction(phases.PostTool, h.asked[1].Action)
			if derr != nil {
				t.Fatal(derr)
			}
			p := told.(*phases.PostToolAction)
			if string(p.Result) != c.told || p.IsError != c.failed {
				t.Errorf("post_tool was told %s, error %v, want %s, %v", p.Result, p.IsError, c.told, c.failed)
			}
			if p.Tool != "mcp:files:get" || p.NativeTool != "get" || p.CallID != "c-1" ||
				*p.MCP != (phases.MCPTool{Server: "files", Tool: "get"}) || string(p.Args) != `{"path":"/tmp/a"}` ||
				p.OriginalArgs != nil {
				t.Errorf("post_tool was told of %+v", p)
			}
			if c.class != nil {
				refused(t, err, c.class, phases.PostTool)
			} else if err != nil {
				t.Error(err)
			}
			if string(done.Action.Result) != c.got || c.got != "" && done.Action.IsError != c.failed {
				t.Errorf("the caller got %s, error %v, want %s", done.Action.Result, done.Action.IsError, c.got)
			}
		})
	}
}

// contextHost refuses a caller whose context has ended, as a kernel does.
type contextHost struct{ *fakeHost }

func (h contextHost) InvokeWith(ctx context.Context, inv phases.Invocation,
	o kernel.InvokeOptions) (phases.Verdict, error) {
	if ctx.Err() != nil {
		return phases.Verdict{Phase: inv.Phase, Decision: phases.Block}, ctx.Err()
	}
	return h.fakeHost.InvokeWith(ctx, inv, o)
}

// What a tool was called with, and how long it took, is told beside what ran.
func TestPostToolSeesBothCalls(t *testing.T) {
	h := &fakeHost{answers: map[phases.Phase]func(phases.Invocation) (phases.Verdict, error){
		phases.PreTool: always(phases.Allow, func(v *phases.Verdict) {
			v.Action, v.Changed, v.Contexts = jsontext.Value(`{"tool":"read","args":{"path":"/b"}}`), []string{"/args/path"},
				[]string{"one"}
		}),
		phases.PostTool: always(phases.Allow, func(v *phases.Verdict) { v.Contexts = []string{"two"} }),
	}}
	slow := func(context.Context, phases.PreToolAction, phases.Scopes) (any, error) {
		time.Sleep(5 * time.Millisecond)
		return nil, nil
	}
	done, err := guard.New(h, guard.Options{}).Tool(t.Context(), call("read", `{"path":"/a"}`), slow)
	a := done.Action
	if err != nil || string(a.OriginalArgs) != `{"path":"/a"}` || string(a.Args) != `{"path":"/b"}` || a.DurationMS < 5 {
		t.Errorf("%+v, %v", a, err)
	}
	same(t, "contexts", done.Contexts, "one", "two")
}

// A tool gets the scopes that it has to keep to: the verdict's, and never more than the guard's.
func TestToolGetsItsScopes(t *testing.T) {
	h := &fakeHost{answers: map[phases.Phase]func(phases.Invocation) (phases.Verdict, error){
		phases.PreTool: always(phases.Allow, func(v *phases.Verdict) {
			v.Scopes = phases.Scopes{FSRead: phases.Scope{"/tmp/a/**"}}
		}),
	}}
	var got phases.Scopes
	run := func(_ context.Context, _ phases.PreToolAction, s phases.Scopes) (any, error) {
		got = s
		return nil, nil
	}
	if _, err := guard.New(h, guard.Options{Scopes: belowTmp, HoldsScopes: true}).Tool(t.Context(), call("exec", `{}`),
		run); err != nil {
		t.Fatal(err)
	}
	if want := (phases.Scopes{FSRead: phases.Scope{"/tmp/a/**"}, FSWrite: phases.Scope{"/tmp/**"}}); !got.Equal(want) {
		t.Errorf("scopes %+v, want %+v", got, want)
	}
}

// A tool whose reach cannot be told does not run where scopes restrict it, whatever the host says.
func TestToolWhoseReachIsNotKnown(t *testing.T) {
	r := &runs{}
	_, err := guard.New(&fakeHost{}, guard.Options{Scopes: belowTmp}).Tool(t.Context(), call("exec", `{"command":"ls"}`),
		r.tool(nil, nil))
	refused(t, err, guard.ErrBlocked, phases.PreTool)
	same(t, "runs", r.args)
}

// A call that cannot be encoded is refused and logged, whatever the host says.
func TestWhatIsNoJSON(t *testing.T) {
	h, r := &fakeHost{}, &runs{}
	h.answers = map[phases.Phase]func(phases.Invocation) (phases.Verdict, error){
		phases.PreTool: always(phases.Allow, func(v *phases.Verdict) {
			v.Action = jsontext.Value(`{"tool":"todo","args":{}}`)
		}),
	}
	_, err := guard.New(h, guard.Options{}).Tool(t.Context(), call("read", `{"a":1,"a":2}`), r.tool(nil, nil))
	refused(t, err, guard.ErrFailed, phases.PreTool)
	same(t, "runs", r.args)
	if len(h.asked) != 1 || h.asked[0].Action != nil {
		t.Errorf("the host was asked %+v", h.asked)
	}
	if _, err := guard.New(&fakeHost{}, guard.Options{}).Tool(t.Context(), phases.PreToolAction{Tool: "todo"},
		r.tool(nil, nil)); err != nil {
		t.Error("a call without arguments:", err)
	}
	same(t, "runs", r.args, `{}`)
}

// A caller that gives up while a person is asked gets an error at once, and nothing runs.
func TestGivingUpWhileWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	before := runtime.NumGoroutine()
	during := 0
	h, r := &fakeHost{states: []approvals.State{approvals.Pending}}, &runs{}
	h.onLook = func() {
		if during = runtime.NumGoroutine(); h.looks == 1 {
			cancel()
		}
	}
	h.answers = map[phases.Phase]func(phases.Invocation) (phases.Verdict,
		error){phases.PreTool: inTurn(always(phases.Ask, queued), always(phases.Allow))}
	began := time.Now()
	_, err := guard.New(h, guard.Options{Wait: time.Hour}).Tool(ctx, call("read", `{}`), r.tool(nil, nil))
	refused(t, err, guard.ErrUnanswered, phases.PreTool)
	same(t, "runs", r.args)
	if !errors.Is(err, context.Canceled) || time.Since(began) > time.Minute || during > before {
		t.Errorf("%v after %v, with %d goroutines after %d", err, time.Since(began), during, before)
	}
	ctx, cancel = context.WithCancel(t.Context())
	h = &fakeHost{answers: map[phases.Phase]func(phases.Invocation) (phases.Verdict, error){
		phases.PreTool: always(phases.Ask, func(v *phases.Verdict) { v.Enforced = phases.EnforcedDelegated }),
	}}
	prompt := func(context.Context, phases.Verdict) (bool, error) { cancel(); return true, nil }
	_, err = guard.New(h, guard.Options{Prompt: prompt}).Tool(ctx, call("read", `{}`), r.tool(nil, nil))
	refused(t, err, guard.ErrUnanswered, phases.PreTool)
	same(t, "runs", r.args)
}

// A wait ends when the caller's context does, and looks at the queue four times a second.
func TestWaitingIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		wait, ctx, want time.Duration
		looks           int
	}{
		"by the context": {wait: time.Hour, ctx: 600 * time.Millisecond, want: 600 * time.Millisecond, looks: 4},
		"by the wait":    {wait: 600 * time.Millisecond, ctx: time.Hour, want: 600 * time.Millisecond, looks: 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &fakeHost{states: []approvals.State{approvals.Pending}}
				h.answers = map[phases.Phase]func(phases.Invocation) (phases.Verdict, error){phases.PreTool: always(phases.Ask,
					queued)}
				ctx, cancel := context.WithTimeout(t.Context(), c.ctx)
				defer cancel()
				began := time.Now()
				_, err := guard.New(h, guard.Options{Wait: c.wait}).Tool(ctx, call("read", `{}`), nil)
				refused(t, err, guard.ErrUnanswered, phases.PreTool)
				if took := time.Since(began); took != c.want || h.looks != c.looks || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v after %v and %d looks, want %v and %d", err, took, h.looks, c.want, c.looks)
				}
			})
		})
	}
}

// The person is shown what would run, and cannot change it.
func TestPromptIsACopy(t *testing.T) {
	h, r := &fakeHost{}, &runs{}
	h.answers = map[phases.Phase]func(phases.Invocation) (phases.Verdict, error){
		phases.PreTool: always(phases.Ask, func(v *phases.Verdict) { v.Enforced = phases.EnforcedDelegated }),
	}
	prompt := func(_ context.Context, v phases.Verdict) (bool, error) {
		if !strings.Contains(string(v.Action), "/tmp/a") || v.Reason != "because" {
			t.Errorf("the person is shown %+v", v)
		}
		clear(v.Action)
		return true, nil
	}
	if _, err := guard.New(h, guard.Options{Prompt: prompt}).Tool(t.Context(), call("read", `{"path":"/tmp/a"}`),
		r.tool(nil, nil)); err != nil {
		t.Error(err)
	}
	same(t, "runs", r.args, `{"path":"/tmp/a"}`)
}

// A guard that was not made whole lets nothing happen.
func TestNoHost(t *testing.T) {
	for name, g := range map[string]*guard.Guard{"nil": nil, "zero": {}, "new": guard.New(nil, guard.Options{}),
		"within": (*guard.Guard)(nil).Within(belowTmp)} {
		t.Run(name, func(t *testing.T) {
			r := &runs{}
			_, err := g.Tool(t.Context(), call("read", `{}`), r.tool(nil, nil))
			refused(t, err, guard.ErrFailed, phases.PreTool)
			same(t, "runs", r.args)
			child, _, err := g.Spawn(t.Context(), phases.SpawnAction{})
			refused(t, err, guard.ErrFailed, phases.Spawn)
			next, _, err := g.Transition(t.Context(), phases.StateTransitionAction{})
			refused(t, err, guard.ErrFailed, phases.StateTransition)
			if child != nil || next != nil {
				t.Error("a guard beside an error")
			}
		})
	}
}
