package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// witness writes down what an observer is told.
type witness struct {
	said   []string
	blowUp string // the call in which it panics
}

type mark struct{}

func (w *witness) add(call, text string) {
	w.said = append(w.said, text)
	if w.blowUp == call {
		panic("the observer is broken")
	}
}

func (w *witness) InvocationStarted(ctx context.Context, inv phases.Invocation) (context.Context, kernel.Observation) {
	w.add("started", "started "+string(inv.Phase))
	return context.WithValue(ctx, mark{}, true), w
}

func (w *witness) HookDone(start time.Time, r *phases.HookReport) {
	w.add("hook", fmt.Sprintf("hook %s %s %s started=%t", r.Hook, r.Pass, r.Decision, !start.IsZero()))
}

func (w *witness) Decided(v *phases.Verdict, err error) {
	w.add("decided", fmt.Sprintf("decided %s %s recorded=%t error=%t", v.Decision, v.Kind, v.Event != nil, err != nil))
}

func watchedBy(w *witness) change {
	return func(_ *kernel.Config, o *kernel.Options) { o.Observer = w }
}

func observedHooks() []hook {
	return []hook{
		{name: "first"},
		{name: "guard", run: func(kernel.Turn) (kernel.Outcome, error) {
			return kernel.Outcome{Effects: []phases.Effect{{Kind: phases.EffectBlock, Text: "no"}}}, nil
		}, caps: []string{"block"}},
		{name: "scribe", phases: []phases.Phase{phases.Audit}},
	}
}

func TestObserverIsToldInOrder(t *testing.T) {
	w := &witness{}
	h := newHost(t, observedHooks(), watchedBy(w), func(_ *kernel.Config, o *kernel.Options) { o.Sequential = true })
	h.invoke(t, invocation(phases.PreTool))
	want := []string{
		"started pre_tool", "hook first validate none started=true", "hook guard validate block started=true",
		"hook scribe audit none started=true", "decided block policy recorded=true error=false",
	}
	if diff := cmp.Diff(want, w.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestObserverIsToldOfRefusals(t *testing.T) {
	w := &witness{}
	h := newHost(t, observedHooks(), watchedBy(w))
	bad := invocation(phases.PreTool)
	bad.Action = nil
	if _, err := h.Invoke(t.Context(), bad); err == nil {
		t.Fatal("an invocation without an action was decided")
	}
	fault := phases.NewFault(phases.KindProtocol, "no", errors.New("x"))
	if _, err := h.Refuse(t.Context(), kernel.Refusal{Invocation: bad, Fault: fault}); err == nil {
		t.Fatal("a refusal has no error")
	}
	h.Close()
	if _, err := h.Invoke(t.Context(), invocation(phases.PreTool)); err == nil {
		t.Fatal("a closed kernel decides")
	}
	want := []string{
		"started pre_tool", "decided block protocol recorded=true error=true",
		"started pre_tool", "decided block protocol recorded=true error=true",
		"started pre_tool", "decided block load recorded=false error=true",
	}
	if diff := cmp.Diff(want, w.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestObserverCannotChangeAnything(t *testing.T) {
	plain := newHost(t, observedHooks())
	want := plain.invoke(t, invocation(phases.PreTool))
	for _, call := range []string{"started", "hook", "decided"} {
		t.Run(call, func(t *testing.T) {
			w := &witness{blowUp: call}
			h := newHost(t, observedHooks(), watchedBy(w))
			got := h.invoke(t, invocation(phases.PreTool))
			if got.Decision != want.Decision || got.Reason != want.Reason || got.Kind != want.Kind || got.Event == nil ||
				len(got.Hooks) != len(want.Hooks) {
				t.Errorf("a broken observer made of the verdict %+v", got)
			}
			if call != "started" && !slices.Contains(w.said, "decided block policy recorded=true error=false") {
				t.Errorf("said: %q", w.said)
			}
		})
	}
}

func TestHooksRunInTheObserversContext(t *testing.T) {
	w := &witness{}
	tools := &ctxTools{}
	h := newHost(t, []hook{{name: "a"}}, watchedBy(w), func(_ *kernel.Config, o *kernel.Options) {
		o.Loader = ctxLoader{o.Loader, tools}
	})
	h.invoke(t, invocation(phases.PreTool))
	if !tools.marked {
		t.Error("the hook did not run in the context that the observer had returned")
	}
}

type ctxTools struct{ marked bool }

// ctxLoader looks at the context in which hooks run.
type ctxLoader struct {
	kernel.Loader
	seen *ctxTools
}

func (l ctxLoader) Load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	loaded, err := l.Loader.Load(ctx, spec)
	if err == nil {
		inner := loaded.Hook
		loaded.Hook = hookFunc(func(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
			l.seen.marked, _ = ctx.Value(mark{}).(bool)
			return inner.Run(ctx, t)
		})
	}
	return loaded, err
}
