package kernel_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// deaf returns a turn that hears of no deadline: it ends when it is let go.
func deaf() (run func(context.Context, kernel.Turn) (kernel.Outcome, error), letGo func()) {
	free := make(chan struct{})
	return func(context.Context, kernel.Turn) (kernel.Outcome, error) {
		<-free
		return kernel.Outcome{Fuel: 1}, nil
	}, sync.OnceFunc(func() { close(free) })
}

func soon(cfg *kernel.Config, o *kernel.Options) { o.LeaveAfter = 50 * time.Millisecond }

func briefly(s *kernel.BindingSpec) { s.Budget = tiers.Budget{DeadlineMS: 10} }

// eventually waits for what other goroutines do.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// A hook that ignores its deadline is left behind: its action is blocked, with a kind
// of its own, and logged. While it runs its binding blocks at once, and no other
// does. When it has ended, or in another process, it is asked again.
func TestHookThatIgnoresItsDeadline(t *testing.T) {
	run, letGo := deaf()
	defer letGo()
	time.AfterFunc(20*time.Second, letGo) // so that a kernel without a watch ends, too
	store := memory.New()
	hooks := []hook{{name: "deaf", runCtx: run, spec: briefly}, {name: "other", phases: []phases.Phase{phases.PostTool}}}
	with := func(_ *kernel.Config, o *kernel.Options) { o.Store = store }
	h := newHost(t, hooks, soon, with)
	v := h.fails(t, invocation(phases.PreTool), phases.KindHang)
	if es := h.events(t, wire.Query{Kind: phases.KindHang}); v.DecidedBy != "deaf" || len(es) == 0 {
		t.Errorf("decided by %s, %d events logged", v.DecidedBy, len(es))
	}
	if got := fmt.Sprint(h.LeftBehind()); got != "[deaf]" || h.Hooks()[0].Problem == "" {
		t.Errorf("left behind %s, status %+v", got, h.Hooks()[0])
	}
	h.calls.take()
	h.fails(t, invocation(phases.PreTool), phases.KindHang)
	if ran := h.calls.take(); len(ran) != 0 {
		t.Errorf("it was asked again: %q", ran)
	}
	if v := h.invoke(t, invocation(phases.PostTool)); v.Decision != phases.Allow {
		t.Errorf("another hook's action: %+v", v)
	}
	free := newHost(t, []hook{{name: "deaf"}}, with) // another process on the same state
	if v := free.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Errorf("after a restart: %+v", v)
	}
	letGo()
	eventually(t, "the hook that was let go has ended", func() bool { return len(h.LeftBehind()) == 0 })
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow || h.Hooks()[0].Problem != "" {
		t.Errorf("after it has ended: %+v", v)
	}
}

// A turn that ends by itself has no watch, and so no goroutine of its own; one that may wait for a
// file or a store has both, whatever its sandbox does.
func TestOnlyTurnsThatMayWaitAreWatched(t *testing.T) {
	for imported, watched := range map[string]bool{
		"": false, "block": false, "shell_parse": false, "find_secrets": false,
		"path_resolve": true, "state_get": true, "http_request": true, "no_such_call": true,
	} {
		var imports []string
		if imported != "" {
			imports = []string{imported}
		}
		own := make(chan bool, 1)
		caller := goroutine()
		h := newHost(t, []hook{{name: "a", ends: true, imports: imports,
			runCtx: func(context.Context, kernel.Turn) (kernel.Outcome, error) {
				own <- goroutine() != caller
				return kernel.Outcome{Fuel: 1}, nil
			}}})
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
			t.Fatalf("%q: %+v", imported, v)
		}
		if got := <-own; got != watched {
			t.Errorf("with %q a turn of its own goroutine: %v", imported, got)
		}
	}
	run, letGo := deaf()
	defer letGo()
	time.AfterFunc(20*time.Second, letGo) // so that a kernel without a watch ends, too
	h := newHost(t, []hook{{name: "deaf", ends: true, imports: []string{"path_resolve"}, runCtx: run, spec: briefly}},
		soon)
	h.fails(t, invocation(phases.PreTool), phases.KindHang)
}

// goroutine names the goroutine that asks, as its stack does.
func goroutine() string {
	var b [64]byte
	name, _, _ := strings.Cut(string(b[:runtime.Stack(b[:], false)]), " [")
	return name
}

// A panic of a turn without a watch fails the turn alone.
func TestPanicOfATurnWithoutAWatch(t *testing.T) {
	h := newHost(t, []hook{{name: "a", ends: true, run: func(kernel.Turn) (kernel.Outcome, error) { panic("defect") }}})
	h.fails(t, invocation(phases.PreTool), phases.KindTrap)
}

// Fail-open is for hooks that fail, not for a host that has lost one.
func TestFailOpenWaitsForNoDeafHook(t *testing.T) {
	run, letGo := deaf()
	defer letGo()
	h := newHost(t, []hook{{name: "deaf", runCtx: run, spec: briefly}}, soon, func(_ *kernel.Config, o *kernel.Options) {
		o.UnsafeFailOpen = true
	})
	h.fails(t, invocation(phases.PreTool), phases.KindHang)
}

// A loaded module stays so while a hook that was left behind runs in it, and closing does not
// wait for it.
func TestLeftBehindIsNotUnloaded(t *testing.T) {
	run, letGo := deaf()
	defer letGo()
	h := newHost(t, []hook{{name: "deaf", runCtx: run, spec: briefly}}, soon)
	h.fails(t, invocation(phases.PreTool), phases.KindHang)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if closed := h.loader.closed.take(); len(closed) != 0 {
		t.Errorf("closed under a hook that runs: %q", closed)
	}
	letGo()
	eventually(t, "it is closed", func() bool { return len(h.loader.closed.take()) == 1 })
}

// So many hooks may be left behind, then the process has to end.
func TestStuckSaysSo(t *testing.T) {
	run, letGo := deaf()
	defer letGo()
	var hooks []hook
	for n := range kernel.MaxLeftBehind {
		hooks = append(hooks,
			hook{name: fmt.Sprintf("h%d", n), phases: []phases.Phase{phases.Phases()[n]}, runCtx: run, spec: briefly})
	}
	h := newHost(t, hooks, soon)
	for n := range kernel.MaxLeftBehind {
		select {
		case <-h.Stuck():
			t.Fatalf("stuck with %d left behind", n)
		default:
		}
		h.fails(t, invocation(phases.Phases()[n]), phases.KindHang)
	}
	select {
	case <-h.Stuck():
	default:
		t.Error("not stuck")
	}
}

// A turn that waits for a call is not overdue: the call has a limit of its own.
func TestWaitingIsNotOverdue(t *testing.T) {
	x := &tools{call: func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
		time.Sleep(200 * time.Millisecond)
		return kernel.ToolResult{Result: []byte(`"ok"`)}, nil
	}}
	h := newHost(t,
		[]hook{{name: "a", phases: []phases.Phase{phases.PrePlan}, caps: []string{"request_tool_call"},
			imports: []string{"request_tool_call"}, spec: briefly,
			runCtx: func(ctx context.Context, turn kernel.Turn) (kernel.Outcome, error) {
				from := time.Now()
				_, err := turn.Session.Tools.RunTool(ctx, phases.Actor{}, []byte(`{"tool":"exec"}`))
				return kernel.Outcome{Fuel: 1, Waited: time.Since(from)}, err
			}}}, soon, func(_ *kernel.Config, o *kernel.Options) { o.Tools = x })
	if v := h.invoke(t, invocation(phases.PrePlan)); v.Decision != phases.Allow {
		t.Errorf("%+v", v)
	}
}

// An invocation that runs again goes first, and others are not held up by its hooks:
// neither theirs nor their answers wait for one that never ends.
func TestNobodyWaitsForHooksOfAnother(t *testing.T) {
	free := make(chan struct{})
	defer close(free)
	second := make(chan struct{})
	ran := 0
	h := newHost(t,
		[]hook{{name: "c", caps: []string{"state_get", "state_put"},
			runCtx: func(ctx context.Context, tu kernel.Turn) (kernel.Outcome, error) {
				if ran++; ran == 2 {
					close(second)
					<-free
				}
				return counting()(tu)
			}}, {name: "other", phases: []phases.Phase{phases.PostTool}}}, func(_ *kernel.Config, o *kernel.Options) {
			o.Store, o.LeaveAfter = &meddler{o.Store, 1}, time.Minute
		})
	go func() { _, _ = h.Invoke(context.Background(), invocation(phases.PreTool)) }()
	<-second
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if v, err := h.Invoke(ctx, invocation(phases.PostTool)); err != nil || v.Decision != phases.Allow {
		t.Errorf("another invocation: %v %+v", err, v)
	}
}

// A hook that was left behind reaches no lease any more: its calls return an error, and nothing
// is stored.
func TestLeftBehindReachesNoLease(t *testing.T) {
	free, answered := make(chan struct{}), make(chan error, 3)
	run := func(ctx context.Context, turn kernel.Turn) (kernel.Outcome, error) {
		<-free
		for _, call := range []func(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error){
			turn.Session.Leases.Request, turn.Session.Leases.Check, turn.Session.Leases.Mint,
		} {
			_, err := call(ctx, turn.Session.Actor, jsontext.Value(mintSrv+"}"))
			answered <- err
		}
		return kernel.Outcome{Fuel: 1}, nil
	}
	h := newHost(t, []hook{{name: "deaf", runCtx: run, spec: briefly, imports: []string{"mint_lease"}}}, soon)
	h.fails(t, invocation(phases.PreTool), phases.KindHang)
	close(free)
	for range 3 {
		if err := <-answered; err == nil || !strings.Contains(err.Error(), "left behind") {
			t.Errorf("the call answered %v", err)
		}
	}
	if list, err := h.Leases(t.Context(), leases.Query{}); err != nil || len(list) != 0 {
		t.Errorf("stored: %+v %v", list, err)
	}
}
