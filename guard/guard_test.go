package guard_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/guard"
	"github.com/belay-hooks/belay/internal/highwater/highwatertest"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// TestMain keeps high-water marks out of the home directory.
func TestMain(m *testing.M) { os.Exit(highwatertest.Run(m)) }

var (
	_ guard.Host = (*belay.Belay)(nil)
	_ guard.Host = (*kernel.Kernel)(nil)
)

// fakeHost answers what a test wants, and an allow of what came in for the rest.
type fakeHost struct {
	answers map[phases.Phase]func(phases.Invocation) (phases.Verdict, error)
	states  []approvals.State // of the item, one for each look; the last one stays
	itemErr error
	onLook  func()

	mu    sync.Mutex
	asked []phases.Invocation
	said  []kernel.InvokeOptions
	looks int
}

func (h *fakeHost) InvokeWith(_ context.Context, inv phases.Invocation,
	o kernel.InvokeOptions) (phases.Verdict, error) {
	h.mu.Lock()
	h.asked, h.said = append(h.asked, inv.Clone()), append(h.said, o)
	h.mu.Unlock()
	if f := h.answers[inv.Phase]; f != nil {
		return f(inv)
	}
	return allow(inv), nil
}

func (h *fakeHost) Approval(context.Context, string) (approvals.Item, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.onLook != nil {
		h.onLook()
	}
	state := h.states[min(h.looks, len(h.states)-1)]
	h.looks++
	return approvals.Item{State: state}, h.itemErr
}

func (h *fakeHost) phases() (out []phases.Phase) {
	for _, inv := range h.asked {
		out = append(out, inv.Phase)
	}
	return out
}

func allow(inv phases.Invocation) phases.Verdict {
	return phases.Verdict{Phase: inv.Phase, Decision: phases.Allow, Action: inv.Action, Scopes: inv.Scopes}
}

// always answers the same decision; the action is there although nothing may run.
func always(d phases.Decision, change ...func(*phases.Verdict)) func(phases.Invocation) (phases.Verdict, error) {
	return func(inv phases.Invocation) (phases.Verdict, error) {
		v := allow(inv)
		v.Decision, v.Reason, v.Kind, v.DecidedBy = d, "because", phases.KindPolicy, "some-hook"
		for _, c := range change {
			c(&v)
		}
		return v, nil
	}
}

func queued(v *phases.Verdict) { v.Approval = &phases.ApprovalRef{ID: "a-1"} }

// inTurn gives the answers one after the other; the last one stays.
func inTurn(list ...func(phases.Invocation) (phases.Verdict, error)) func(phases.Invocation) (phases.Verdict, error) {
	n := 0
	return func(inv phases.Invocation) (phases.Verdict, error) {
		f := list[min(n, len(list)-1)]
		n++
		return f(inv)
	}
}

// belowTmp is a set of scopes.
var belowTmp = phases.Scopes{FSRead: phases.Scope{"/tmp/**"}, FSWrite: phases.Scope{"/tmp/**"}}

func call(tool, args string) phases.PreToolAction {
	return phases.PreToolAction{Tool: tool, CallID: "c-1", Args: jsontext.Value(args)}
}

// runs counts the runs of a tool and notes the arguments of each.
type runs struct{ args []string }

func (r *runs) tool(out any, err error) func(context.Context, phases.PreToolAction, phases.Scopes) (any, error) {
	return func(_ context.Context, c phases.PreToolAction, _ phases.Scopes) (any, error) {
		r.args = append(r.args, string(c.Args))
		return out, err
	}
}

// refused fails unless the error is of the class, and of no other, for the phase, and
// holds nothing that could be run.
func refused(t *testing.T, err error, class error, phase phases.Phase) *guard.Error {
	t.Helper()
	var e *guard.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a *guard.Error", err)
	}
	for _, c := range []error{guard.ErrBlocked, guard.ErrDenied, guard.ErrUnanswered, guard.ErrFailed} {
		if errors.Is(err, c) != (c == class) {
			t.Errorf("errors.Is(%v, %v) is %v, want %v", err, c, c != class, c == class)
		}
	}
	if e.Phase != phase || e.Reason == "" || e.Verdict.Action != nil {
		t.Errorf("error of phase %s, reason %q, action %s; want %s, a reason, none", e.Phase, e.Reason, e.Verdict.Action,
			phase)
	}
	return e
}

func same[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// open opens a state directory with the hooks, whose decisions need no signature.
func open(t *testing.T, hooks string) *belay.Belay {
	t.Helper()
	dir := t.TempDir()
	config := "version: belay/v1\napprovals: {unsigned: true}\nhooks:\n" + hooks
	if err := os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := belay.Open(t.Context(), dir, belay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// person answers what a call waits for.
func person(t *testing.T, b *belay.Belay, answer approvals.Verdict) func(phases.Verdict) {
	return func(v phases.Verdict) {
		it, err := b.Approval(t.Context(), v.Approval.ID)
		if err != nil {
			t.Error(err)
			return
		}
		d, err := approvals.Draft(&it, answer, "dev", "not today", it.Created, queue.DefaultTimeout)
		if err == nil {
			_, _, err = b.Decide(t.Context(), it.ID, d)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
