package kernel

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// What comes in is copied, member by member: what the caller does with its memory afterwards
// changes nothing.
func TestWhatComesInIsCopied(t *testing.T) {
	r := leases.Request{Scope: &leases.Scope{Paths: phases.Scope{"/a"}}}
	ours := ownRequest(r)
	r.Scope.Paths[0] = "/b"
	if ours.Scope.Paths[0] != "/a" || ours.Scope == r.Scope {
		t.Error("the scope of a request")
	}
	if got := ownRequest(leases.Request{}); got.Scope != nil {
		t.Errorf("%+v", got)
	}
	d := approvals.Decision{Signature: []byte("a")}
	decision := ownDecision(d)
	d.Signature[0] = 'b'
	if string(decision.Signature) != "a" {
		t.Error("the signature of a decision")
	}
	act := phases.Invocation{Action: jsontext.Value("{}")}
	q := LeaseCheck{Action: &act}.owned()
	act.Action[0] = '['
	if string(q.Action.Action) != "{}" || (LeaseCheck{}).owned().Action != nil {
		t.Error("the action of a check")
	}
	raw := []byte("raw")
	inv := phases.Invocation{Action: jsontext.Value("{}")}
	ref := Refusal{Invocation: inv, Raw: raw}.owned()
	raw[0], inv.Action[0] = 'x', 'x'
	if string(ref.Raw) != "raw" || string(ref.Invocation.Action) != "{}" {
		t.Error("a refusal")
	}
	seed, at := [32]byte{1}, time.Unix(1, 0)
	scopes := phases.Scopes{Net: phases.Scope{"a:1"}}
	o := InvokeOptions{Seed: &seed, HookClock: &at, ParentScopes: &scopes}.owned()
	seed[0], at, scopes.Net[0] = 2, time.Unix(2, 0), "b:1"
	if o.Seed[0] != 1 || !o.HookClock.Equal(time.Unix(1, 0)) || o.ParentScopes.Net[0] != "a:1" {
		t.Errorf("%+v", o)
	}
	if o := (InvokeOptions{}).owned(); o.Seed != nil || o.HookClock != nil || o.ParentScopes != nil {
		t.Errorf("%+v", o)
	}
	out := Outcome{
		Effects: []phases.Effect{{Value: jsontext.Value("1")}}, StateReads: []hostcalls.StateRead{{Key: "r"}},
		StateWrites: []hostcalls.StateWrite{{Value: []byte("w")}},
		Wishes:      []hostcalls.Wish{{Request: []byte("q")}}, Logs: []hostcalls.LogEntry{{Text: "l"}}, Notes: []string{"n"},
	}
	kept := out.owned()
	out.Effects[0].Value[0], out.StateReads[0].Key, out.StateWrites[0].Value[0] = '2', "x", 'x'
	out.Wishes[0].Request[0], out.Logs[0].Text, out.Notes[0] = 'x', "x", "x"
	out.StateWrites[0].Key, out.Wishes[0].Call = "x", "x"
	if string(kept.Effects[0].Value) != "1" || kept.StateReads[0].Key != "r" || string(kept.StateWrites[0].Value) != "w" ||
		string(kept.Wishes[0].Request) != "q" ||
		kept.Logs[0].Text != "l" || kept.Notes[0] != "n" || kept.StateWrites[0].Key != "" || kept.Wishes[0].Call != "" {
		t.Errorf("%+v", kept)
	}
}

// executor is a ToolExecutor of one function.
type executor func(context.Context, ToolCall) (ToolResult, error)

func (executor) Tools(context.Context) ([]ToolInfo, error) { return nil, nil }
func (f executor) Call(ctx context.Context, c ToolCall) (ToolResult, error) {
	return f(ctx, c)
}

// Why a tool did not answer is told apart: gone, too late, crashed, failed.
func TestWhyAToolDidNotAnswer(t *testing.T) {
	hangs := executor(func(context.Context, ToolCall) (ToolResult, error) { select {} })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	soon, end := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, end)
	plain := errors.New("plain")
	for name, c := range map[string]struct {
		ctx  context.Context
		x    executor
		want error
		word string
	}{
		"gone before":    {gone, hangs, context.Canceled, OutcomeError},
		"gone meanwhile": {soon, hangs, context.Canceled, OutcomeError},
		"too late":       {late, hangs, ErrToolTimeout, OutcomeTimeout},
		"crashed": {t.Context(), func(context.Context, ToolCall) (ToolResult, error) { panic("x") },
			ErrToolCrashed, OutcomeCrashed},
		"failed": {t.Context(), func(context.Context, ToolCall) (ToolResult, error) {
			return ToolResult{}, plain
		}, plain, OutcomeError},
		"its own deadline": {t.Context(), func(context.Context, ToolCall) (ToolResult, error) {
			return ToolResult{}, context.DeadlineExceeded
		}, context.DeadlineExceeded, OutcomeTimeout},
		"its own timeout": {t.Context(), func(context.Context, ToolCall) (ToolResult, error) {
			return ToolResult{}, ErrToolTimeout
		}, ErrToolTimeout, OutcomeTimeout},
		"it failed when it was too late": {late, func(context.Context, ToolCall) (ToolResult, error) {
			return ToolResult{}, plain
		}, ErrToolTimeout, OutcomeTimeout},
	} {
		if name == "it failed when it was too late" {
			<-late.Done()
		}
		_, err := execute(c.ctx, c.x, ToolCall{})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if got := outcomeOf(err, c.ctx); got != c.word {
			t.Errorf("%s: %s, want %s", name, got, c.word)
		}
	}
	<-late.Done()
	if got := outcomeOf(plain, late); got != OutcomeTimeout {
		t.Errorf("%s", got)
	}
	res, err := execute(t.Context(), executor(func(context.Context, ToolCall) (ToolResult, error) {
		return ToolResult{Result: jsontext.Value("1")}, nil
	}), ToolCall{})
	if err != nil || string(res.Result) != "1" {
		t.Errorf("%+v, %v", res, err)
	}
}
