package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/guard"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// hooks are some that come with belay.
const hooks = `  - {name: defaults, module: builtin:default-args, priority: 100, capabilities: ["rewrite:/args"],
     config: {max: {web_search: {count: 5}}}}
  - {name: pushes, module: builtin:ask-push, priority: 90, capabilities: [shell_parse, request_approval, block]}
  - {name: destroys, module: builtin:command-guard, priority: 80, capabilities: [shell_parse, pattern_match, block, request_approval]}
  - {name: secrets, module: builtin:redact-secret, priority: 70,
     capabilities: [find_secrets, "rewrite:/text", "rewrite:/system", "rewrite:/messages", "rewrite:/result"]}
  - {name: stages, module: builtin:stage-gate, priority: 60, capabilities: [block, request_approval]}
  - {name: clamps, module: builtin:clamp-scopes, priority: 50, capabilities: [clamp_scopes], phases: [spawn],
     config: {fs_read: ["/tmp/**"], fs_write: ["/tmp/kid/**"]}}
  - {name: lengths, module: builtin:prompt-length, priority: 40, capabilities: [block, add_context], config: {max_chars: 40}}
  - {name: depth, module: builtin:refuse-deep-spawn, priority: 30, capabilities: [block], config: {max_depth: 1}}
`

const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// A real host with real hooks: what they say happens, and nothing else.
func TestToolOnARealHost(t *testing.T) {
	b := open(t, hooks)
	for name, c := range map[string]struct {
		o      guard.Options
		tool   string
		args   string
		out    string
		class  error
		phase  phases.Phase
		runs   string
		result string
	}{
		"allow": {tool: "exec", args: `{"command":"ls"}`, out: "a b", runs: `{"command":"ls"}`, result: `"a b"`},
		"rewrite": {tool: "web_search", args: `{"query":"x","count":50}`, runs: `{"query":"x","count":5}`,
			result: `""`},
		"block": {tool: "exec", args: `{"command":"rm -rf /"}`, class: guard.ErrBlocked, phase: phases.PreTool},
		"redacted": {tool: "exec", args: `{"command":"env"}`, out: "TOKEN=" + secret, runs: `{"command":"env"}`,
			result: `withheld`},
		"no wait": {tool: "exec", args: `{"command":"git push origin zero"}`, class: guard.ErrUnanswered,
			phase: phases.PreTool},
		"approved": {o: guard.Options{Wait: time.Minute, Waiting: person(t, b, approvals.Approve)}, tool: "exec",
			args: `{"command":"git push origin yes"}`, runs: `{"command":"git push origin yes"}`, result: `""`},
		"denied": {o: guard.Options{Wait: time.Minute, Waiting: person(t, b, approvals.Deny)}, tool: "exec",
			args: `{"command":"git push origin no"}`, class: guard.ErrDenied, phase: phases.PreTool},
		"timed out": {o: guard.Options{Wait: 10 * time.Millisecond}, tool: "exec",
			args: `{"command":"git push origin late"}`, class: guard.ErrUnanswered, phase: phases.PreTool},
		"prompted": {o: guard.Options{Prompt: func(context.Context, phases.Verdict) (bool, error) {
			return true, nil
		}}, tool: "exec", args: `{"command":"git push origin prompt"}`, runs: `{"command":"git push origin prompt"}`,
			result: `""`},
		"scopes exceeded": {o: guard.Options{Scopes: belowTmp}, tool: "read", args: `{"path":"/etc/passwd"}`,
			class: guard.ErrBlocked, phase: phases.PreTool},
		"scopes kept": {o: guard.Options{Scopes: belowTmp}, tool: "read", args: `{"path":"/tmp/a"}`,
			runs: `{"path":"/tmp/a"}`, result: `""`},
		"reach not known": {o: guard.Options{Scopes: belowTmp}, tool: "exec", args: `{"command":"ls"}`,
			class: guard.ErrBlocked, phase: phases.PreTool},
		"held by a sandbox": {o: guard.Options{Scopes: belowTmp, HoldsScopes: true}, tool: "exec", args: `{"command":"ls"}`,
			runs: `{"command":"ls"}`, result: `""`},
		"result too large": {tool: "exec", args: `{"command":"cat"}`, out: strings.Repeat("x", phases.MaxInputBytes),
			class: guard.ErrFailed, phase: phases.PostTool, runs: `{"command":"cat"}`},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Runtime, c.o.Session = "rt", strings.ReplaceAll(name, " ", "-")
			r := &runs{}
			done, err := guard.New(b, c.o).Tool(t.Context(), call(c.tool, c.args), r.tool(c.out, nil))
			var want []string
			if c.runs != "" {
				want = []string{c.runs}
			}
			same(t, "runs", r.args, want...)
			if c.class != nil {
				e := refused(t, err, c.class, c.phase)
				if (c.class == guard.ErrUnanswered) != (e.Verdict.Approval != nil) {
					t.Errorf("the question is %+v", e.Verdict.Approval)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := string(done.Action.Result)
			if got != c.result &&
				(c.result != "withheld" || strings.Contains(got, secret) || !strings.HasPrefix(got, `"TOKEN=`)) {
				t.Errorf("result %s, want %s", got, c.result)
			}
			es, err := b.Events(t.Context(), wire.Query{Session: c.o.Session})
			if err != nil {
				t.Fatal(err)
			}
			last := es[len(es)-1]
			if last.Phase != phases.PostTool {
				t.Errorf("the last event is of phase %s", last.Phase)
			}
		})
	}
}

// The other phases on the same hooks.
func TestOtherPhasesOnARealHost(t *testing.T) {
	b := open(t, hooks)
	ctx := t.Context()
	g := guard.New(b, guard.Options{Runtime: "rt", Session: "s-1"})
	if got, err := g.Plan(ctx, phases.PrePlanAction{Kind: "message", Text: "key " + secret}); err != nil ||
		strings.Contains(got.Action.Text, secret) {
		t.Errorf("plan: %+v, %v", got.Action, err)
	}
	_, err := g.Plan(ctx, phases.PrePlanAction{Kind: "message", Text: strings.Repeat("long ", 20)})
	refused(t, err, guard.ErrBlocked, phases.PrePlan)

	var sent phases.PreSendAction
	got, err := g.Send(ctx, phases.PreSendAction{Provider: "p", System: jsontext.Value(`"` + secret + `"`)},
		func(_ context.Context, r phases.PreSendAction) (phases.PostReceiveAction, error) {
			sent = r
			return phases.PostReceiveAction{Kind: "final", Text: "it is " + secret}, nil
		})
	if err != nil || strings.Contains(string(sent.System), secret) || strings.Contains(got.Action.Text, secret) ||
		sent.System == nil || got.Action.Text == "" {
		t.Errorf("sent %s, got %+v, %v", sent.System, got.Action, err)
	}

	_, _, err = g.Transition(ctx, phases.StateTransitionAction{Machine: "stage", From: "build", To: "deploy"})
	refused(t, err, guard.ErrUnanswered, phases.StateTransition)
	if _, _, err = g.Within(belowTmp).Transition(ctx,
		phases.StateTransitionAction{Machine: "stage", From: "plan", To: "build"}); err != nil {
		t.Error("a state that nothing speaks against:", err)
	}

	kid, _, err := g.Spawn(ctx, phases.SpawnAction{Child: phases.Child{Agent: "kid", Tools: []string{"Read", "Write"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, path string
		class      error
	}{
		{"read", "/tmp/a", nil}, {"read", "/etc/a", guard.ErrBlocked},
		{"write", "/tmp/kid/a", nil}, {"write", "/tmp/a", guard.ErrBlocked}, {"list", "/tmp/a", guard.ErrBlocked},
	} {
		r := &runs{}
		_, err := kid.Tool(ctx, call(c.tool, fmt.Sprintf(`{"path":%q}`, c.path)), r.tool(nil, nil))
		if (err == nil) != (c.class == nil) || (len(r.args) == 1) != (c.class == nil) {
			t.Errorf("the child may %s %s: %v, %d runs", c.tool, c.path, err, len(r.args))
		}
		if c.class != nil {
			refused(t, err, c.class, phases.PreTool)
		}
	}
	_, _, err = kid.Spawn(ctx, phases.SpawnAction{Child: phases.Child{Agent: "grandchild"}})
	refused(t, err, guard.ErrBlocked, phases.Spawn)
}

// A host that was closed lets nothing happen, nor anything out.
func TestClosedHost(t *testing.T) {
	b := open(t, hooks)
	g := guard.New(b, guard.Options{Runtime: "rt", Session: "s-1"})
	closes := func(context.Context, phases.PreToolAction, phases.Scopes) (any, error) { return "out", b.Close() }
	_, err := g.Tool(t.Context(), call("exec", `{"command":"ls"}`), closes)
	refused(t, err, guard.ErrFailed, phases.PostTool)
	r := &runs{}
	_, err = g.Tool(t.Context(), call("exec", `{"command":"ls"}`), r.tool(nil, nil))
	refused(t, err, guard.ErrFailed, phases.PreTool)
	same(t, "runs", r.args)
	if !errors.Is(err, kernel.ErrClosed) {
		t.Errorf("error %v", err)
	}
	b = open(t, hooks)
	g = guard.New(b,
		guard.Options{Runtime: "rt", Session: "s-1", Wait: time.Minute, Waiting: func(phases.Verdict) { b.Close() }})
	_, err = g.Tool(t.Context(), call("exec", `{"command":"git push"}`), r.tool(nil, nil))
	refused(t, err, guard.ErrFailed, phases.PreTool)
	same(t, "runs", r.args)
}

// One approval lets one of many callers pass, and one guard serves them all.
func TestManyCallersOneApproval(t *testing.T) {
	b := open(t, hooks)
	yes := person(t, b, approvals.Approve)
	var once sync.Once
	g := guard.New(b,
		guard.Options{Runtime: "rt", Session: "s-1", Wait: 300 * time.Millisecond, Waiting: func(v phases.Verdict) {
			once.Do(func() { yes(v) })
		}})
	var ran, unanswered, searched atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := g.Tool(context.Background(), call("exec", `{"command":"git push"}`),
				func(context.Context, phases.PreToolAction, phases.Scopes) (any, error) {
					ran.Add(1)
					return nil, nil
				})
			if errors.Is(err, guard.ErrUnanswered) {
				unanswered.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			_, err := g.Tool(context.Background(), call("web_search", `{"count":50}`),
				func(_ context.Context, c phases.PreToolAction, _ phases.Scopes) (any, error) {
					if string(c.Args) == `{"count":5}` {
						searched.Add(1)
					}
					return nil, nil
				})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if ran.Load() != 1 || unanswered.Load() != 7 || searched.Load() != 8 {
		t.Errorf("%d ran, %d were not answered, %d searched; want 1, 7, 8", ran.Load(), unanswered.Load(), searched.Load())
	}
}
