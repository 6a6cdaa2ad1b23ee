package conformance

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/httpcall"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// complete is a kernel with one hook and an empty store, for rules with Chain. The outcome
// is that of the outermost turn.
type complete struct {
	loaded *kernel.Loaded
	req    *Request

	mu    sync.Mutex
	turns int
	depth int
	first *kernel.Outcome
	fault error
	asked []Asked
}

func runChain(ctx context.Context, l *kernel.Loaded, r *Request) (Outcome, error) {
	w := &complete{loaded: l, req: r}
	red, err := redact.New(redact.Config{Key: make([]byte, 32)})
	if err != nil {
		return Outcome{}, err
	}
	cfg := &kernel.Config{Revision: "kit", Bindings: []kernel.BindingSpec{{
		Name: "guest", Module: "guest", Config: r.Config, Allowed: r.Granted, Budget: tiers.Budget{Fuel: r.Fuel},
	}}}
	k, err := rig.Open(ctx, rig.Options{
		Config: cfg, Loader: w, Redactor: audit.NewDetector(red, red), Time: r.Time, Tools: w,
		Wrap: func(_ kernel.BindingSpec, l *kernel.Loaded) kernel.Hook { return watched{l.Hook, w} },
	})
	if err != nil {
		return Outcome{}, err
	}
	_, err = k.Decide(ctx, rig.Case{
		Invocation: phases.Invocation{Phase: r.Phase, Runtime: "kit", Session: "s-1", Agent: "coder",
			CWD: "/home/dev/project", Action: r.Action, Time: r.Time},
		Options: kernel.InvokeOptions{HoldsScopes: true}, Seed: r.Seed,
	})
	if over := k.Overran(); over != nil {
		return Outcome{}, over
	}
	if w.first == nil {
		return Outcome{}, fmt.Errorf("the hook was not called: %w", err)
	}
	res, err := outcomeOf(w.first, w.fault)
	res.Asked, res.Turns = w.asked, w.turns
	return res, err
}

// Load implements kernel.Loader.
func (w *complete) Load(context.Context, kernel.BindingSpec) (*kernel.Loaded, error) {
	l := *w.loaded
	if len(w.req.Hosts) > 0 {
		p, err := httpcall.NewPolicy(httpcall.Spec{Hosts: w.req.Hosts})
		if err != nil {
			return nil, err
		}
		l.HTTP = unsent{httpcall.New(p, httpcall.Options{})}
	}
	return &l, nil
}

// watched notes the outcome of the outermost turn.
type watched struct {
	inner kernel.Hook
	w     *complete
}

// Run implements kernel.Hook.
func (h watched) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
	h.w.mu.Lock()
	h.w.turns++
	h.w.depth++
	outermost := h.w.depth == 1
	h.w.mu.Unlock()
	out, err := h.inner.Run(ctx, t)
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	h.w.depth--
	if outermost && h.w.first == nil {
		h.w.first, h.w.fault = &out, err
	}
	return out, err
}

// unsent decides on requests as the real client does, and sends nothing.
type unsent struct{ c *httpcall.Client }

// Prepare implements kernel.HTTPCaller.
func (u unsent) Prepare(request jsontext.Value) (kernel.HTTPCall, error) {
	call, err := u.c.Prepare(request)
	if err != nil {
		return kernel.HTTPCall{}, err
	}
	return kernel.HTTPCall{Record: call.Record, Send: func(context.Context) (kernel.HTTPResult, error) {
		reply := jsontext.Value(`{"outcome":"ok","status":204,"headers":{},"body":"","redirects":[]}`)
		return kernel.HTTPResult{Reply: reply, Outcome: kernel.OutcomeOK}, nil
	}}, nil
}

// Tools implements kernel.ToolExecutor.
func (w *complete) Tools(context.Context) ([]kernel.ToolInfo, error) { return nil, nil }

// Call implements kernel.ToolExecutor.
func (w *complete) Call(_ context.Context, c kernel.ToolCall) (kernel.ToolResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, Asked{Call: c.Tool, Request: c.Args.Clone()})
	answer, ok := w.req.Answers["tool"]
	if !ok {
		return kernel.ToolResult{}, kernel.ErrNoTool
	}
	return kernel.ToolResult{Result: answer.document()}, nil
}
