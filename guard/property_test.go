package guard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/guard"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// randomHost answers at random, and notes its last answer.
type randomHost struct {
	t       *rapid.T
	n       int
	last    phases.Verdict // to pre_tool
	lastErr error
	after   []phases.Invocation // of post_tool
}

func (h *randomHost) InvokeWith(_ context.Context, inv phases.Invocation,
	_ kernel.InvokeOptions) (phases.Verdict, error) {
	if inv.Phase == phases.PostTool {
		h.after = append(h.after, inv)
		return allow(inv), nil
	}
	h.n++
	v := allow(inv)
	v.Action = jsontext.Value(fmt.Sprintf(`{"tool":"read","args":{"path":"/tmp/%d"}}`, h.n))
	v.Phase = rapid.SampledFrom([]phases.Phase{phases.PreTool, phases.PreTool, phases.PreTool, phases.Spawn, ""}).Draw(h.t,
		"phase")
	v.Decision = rapid.SampledFrom([]phases.Decision{phases.Allow, phases.Ask, phases.Ask, phases.Block, ""}).Draw(h.t,
		"decision")
	v.Kind = rapid.SampledFrom([]phases.Kind{"", phases.KindPolicy, phases.KindStore}).Draw(h.t, "kind")
	v.Enforced = rapid.SampledFrom([]phases.Enforced{"", phases.EnforcedDirect, phases.EnforcedDelegated}).Draw(h.t,
		"enforced")
	if rapid.Bool().Draw(h.t, "queued") {
		queued(&v)
	}
	if rapid.IntRange(0, 5).Draw(h.t, "outside") == 0 {
		v.Scopes.FSRead = phases.Scope{"/etc/**"}
	}
	h.last, h.lastErr = v, nil
	if rapid.IntRange(0, 5).Draw(h.t, "fails") == 0 {
		h.lastErr = errHost
	}
	return v.Clone(), h.lastErr
}

func (h *randomHost) Approval(context.Context, string) (approvals.Item, error) {
	return approvals.Item{State: rapid.SampledFrom(queue.States()).Draw(h.t, "state")}, nil
}

// Whatever a host answers, a tool runs at most once, only after a yes, as the last
// verdict says, and hooks know of it; an error stands for each time that it did not run.
func TestPropertyRunsOnlyWhatWasDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &randomHost{t: t}
		var o guard.Options
		yes := rapid.Bool().Draw(t, "yes")
		prompts := rapid.Bool().Draw(t, "prompts")
		if prompts {
			o.Prompt = func(context.Context, phases.Verdict) (bool, error) { return yes, nil }
		}
		o.Wait = rapid.SampledFrom([]time.Duration{0, time.Millisecond}).Draw(t, "wait")
		r := &runs{}
		done, err := guard.New(h, o).Tool(context.Background(), call("read", `{"path":"/etc/shadow"}`), r.tool("out", nil))
		v := h.last
		may := h.lastErr == nil && v.Phase == phases.PreTool && v.Scopes.FSRead == nil &&
			(v.Decision == phases.Allow || v.Decision == phases.Ask && prompts && yes && v.Runs())
		if !may {
			var e *guard.Error
			if len(r.args) != 0 || len(h.after) != 0 || !errors.As(err, &e) || e.Verdict.Action != nil ||
				done.Action.Result != nil {
				t.Fatalf("%d runs, %d told, %v after %+v", len(r.args), len(h.after), err, v)
			}
			return
		}
		if want := fmt.Sprintf(`{"path":"/tmp/%d"}`, h.n); err != nil || len(r.args) != 1 || r.args[0] != want ||
			len(h.after) != 1 {
			t.Fatalf("runs %q, %d told, %v; want %s once", r.args, len(h.after), err, want)
		}
	})
}
