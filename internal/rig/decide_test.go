package rig_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// hook notes the time that it is shown, and blocks when it is told to.
type hook struct {
	times []time.Time
	block bool
}

func (h *hook) Run(_ context.Context, t kernel.Turn) (kernel.Outcome, error) {
	h.times = append(h.times, t.Session.Time)
	if h.block {
		return kernel.Outcome{Effects: []phases.Effect{{Kind: phases.EffectBlock, Text: "no"}}}, nil
	}
	return kernel.Outcome{}, nil
}

// loaded is the module that every binding means.
func loaded(h kernel.Hook) *kernel.Loaded {
	return &kernel.Loaded{Hook: h, Digest: "sha256:00", Phases: []phases.Phase{phases.PreTool}, Tier: phases.Sandboxed,
		Imports: []string{"block"}, Capabilities: []string{"block"}}
}

// openRig opens a rig with one hook, which wrapped stands in front of.
func openRig(t *testing.T, l *kernel.Loaded, wrapped kernel.Hook, change func(*rig.Options)) *rig.Rig {
	t.Helper()
	o := rig.Options{
		Config: &kernel.Config{Revision: "r", Bindings: []kernel.BindingSpec{{Name: "h"}}},
		Loader: rig.LoaderFunc(func(context.Context, kernel.BindingSpec) (*kernel.Loaded, error) { return l, nil }),
		Wrap:   func(kernel.BindingSpec, *kernel.Loaded) kernel.Hook { return wrapped },
	}
	if change != nil {
		change(&o)
	}
	r, err := rig.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func call(at time.Time) phases.Invocation {
	return phases.Invocation{Phase: phases.PreTool, Runtime: "test", Session: "s-1", Agent: "main", Time: at,
		Action: jsontext.Value(`{"tool":"exec","args":{}}`)}
}

// The kernel runs what Wrap returns, and the module itself stays as it was: it is loaded
// once for many rigs.
func TestWrapStandsInFront(t *testing.T) {
	module, front := &hook{}, &hook{block: true}
	l := loaded(module)
	r := openRig(t, l, front, nil)
	v, err := r.Decide(t.Context(),
		rig.Case{Invocation: call(time.Time{}), Options: kernel.InvokeOptions{HoldsScopes: true}})
	if v.Decision != phases.Block || len(front.times) == 0 || len(module.times) != 0 {
		t.Errorf("%s (%v), %d turns in front, %d of the module", v.Decision, err, len(front.times), len(module.times))
	}
	if l.Hook != kernel.Hook(module) {
		t.Error("the loaded module was changed")
	}
}

// The same cases have the same ids after Empty, and the hook reads the case's own time.
func TestCasesAreTheSameEachTime(t *testing.T) {
	h := &hook{}
	r := openRig(t, loaded(h), h, nil)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	decide := func() string {
		r.Empty()
		v, err := r.Decide(t.Context(), rig.Case{Invocation: call(at), Clock: at.Add(time.Hour), Record: true,
			Options: kernel.InvokeOptions{HoldsScopes: true}})
		if err != nil {
			t.Fatal(err)
		}
		if rec := r.Recorded(); rec == nil || len(rec.Turns) == 0 {
			t.Error("it was not recorded")
		}
		return v.ID
	}
	if a, b := decide(), decide(); a != b || a == "" {
		t.Errorf("ids %q and %q", a, b)
	}
	for _, got := range h.times {
		if !got.Equal(at) {
			t.Errorf("the hook read %s", got)
		}
	}
	if _, err := r.Decide(t.Context(),
		rig.Case{Invocation: call(at), Options: kernel.InvokeOptions{HoldsScopes: true}}); err != nil {
		t.Fatal(err)
	}
	if r.Recorded() != nil {
		t.Error("a case is recorded without Record")
	}
}

// A Volatile store gives the configured answers, and a commit that fails blocks
// the action.
func TestVolatileStore(t *testing.T) {
	var commit error
	var events int
	store := rig.NewVolatile(
		func() kernel.RunState { return kernel.RunState{} },
		func(wire.Session) *kernel.Latch { return nil },
		func(b kernel.Batch) error { events += len(b.Events); return commit },
	)
	h := &hook{}
	r := openRig(t, loaded(h), h, func(o *rig.Options) { o.Store, o.ID = store, "00000000-0000-7000-8000-00000000000a" })
	c := rig.Case{Invocation: call(time.Time{}), Options: kernel.InvokeOptions{HoldsScopes: true}}
	if v, err := r.Decide(t.Context(), c); v.Decision != phases.Allow || events == 0 {
		t.Errorf("%s (%v), %d events", v.Decision, err, events)
	}
	commit = kernel.ErrUnavailable
	if v, _ := r.Decide(t.Context(), c); v.Decision != phases.Block || v.Kind != phases.KindStore {
		t.Errorf("%s %s without a commit", v.Decision, v.Kind)
	}
}

// Each port asks under the name of its call, and AskLedger is the way back.
func TestAskNamesTheCall(t *testing.T) {
	var asked []string
	ask := rig.Ask(func(_ context.Context, call string, _ phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
		asked = append(asked, call)
		return jsontext.Value(`{}`), nil
	})
	ctx, by := t.Context(), phases.Actor{}
	for _, do := range []func(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error){
		ask.RunTool, ask.DoHTTP, ask.Request, ask.Check, ask.Mint, ask.Revoke,
	} {
		if _, err := do(ctx, by, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range asked {
		if _, ok := hostcalls.Lookup(name); !ok {
			t.Errorf("there is no hostcall %q", name)
		}
	}
	want := asked[2:6:6]
	asked = nil
	for _, name := range want {
		if _, err := rig.AskLedger(ask)(ctx, name, by, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range want {
		if asked[i] != want[i] {
			t.Errorf("%s reached the ledger as %s", want[i], asked[i])
		}
	}
	if _, err := rig.AskLedger(ask)(ctx, rig.CallTool, by, nil); !errors.Is(err, hostcalls.Unavailable) {
		t.Errorf("a ledger answers a tool call: %v", err)
	}
}
