package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// hook is a scripted hook and its binding.
type hook struct {
	name     string
	priority int
	tier     phases.Tier
	phases   []phases.Phase // default: pre_tool
	mutates  []phases.Phase
	caps     []string
	imports  []string
	mode     phases.Mode
	spec     func(*kernel.BindingSpec)
	loadErr  error
	run      func(kernel.Turn) (kernel.Outcome, error)
	runCtx   func(context.Context, kernel.Turn) (kernel.Outcome, error) // instead of run
	http     kernel.HTTPCaller
	ends     bool // kernel.Loaded.EndsItself
}

// calls remembers which turns were run, in order of their ends.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, s)
}

func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.list
	c.list = nil
	return out
}

type hookFunc func(context.Context, kernel.Turn) (kernel.Outcome, error)

func (f hookFunc) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) { return f(ctx, t) }

type fakeLoader struct {
	hooks  []hook
	calls  *calls
	closed *calls
}

func (l *fakeLoader) Load(_ context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	i := slices.IndexFunc(l.hooks, func(h hook) bool { return h.name == spec.Name })
	h := l.hooks[i]
	if h.loadErr != nil {
		return nil, h.loadErr
	}
	tier := h.tier
	if tier == "" {
		tier = phases.Sandboxed
	}
	return &kernel.Loaded{
		HTTP: h.http,
		Hook: hookFunc(func(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
			l.calls.add(h.name + "/" + string(t.Session.Pass))
			if h.runCtx != nil {
				return h.runCtx(ctx, t)
			}
			if h.run == nil {
				return kernel.Outcome{Fuel: 1}, nil
			}
			return h.run(t)
		}),
		Digest: "sha256:" + strings.Repeat("0", 64), Version: "1.0.0", Tier: tier, Phases: hookPhases(h), Mutates: h.mutates,
		Capabilities: h.caps, Imports: h.imports, EndsItself: h.ends,
		Close: func() error { l.closed.add(h.name); return nil },
	}, nil
}

func hookPhases(h hook) []phases.Phase {
	if h.phases != nil {
		return h.phases
	}
	return []phases.Phase{phases.PreTool}
}

// fakeRedactor covers the word SECRET and fails on the word EXPLODE.
type fakeRedactor struct{}

var errExplode = errors.New("the redactor met EXPLODE")

func (fakeRedactor) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	if bytes.Contains(raw, []byte("EXPLODE")) {
		return nil, nil, errExplode
	}
	if !bytes.Contains(raw, []byte("SECRET")) {
		return raw, nil, nil
	}
	return bytes.ReplaceAll(raw, []byte("SECRET"), []byte("[redacted]")), []string{"/somewhere"}, nil
}

func (fakeRedactor) Text(s string) (string, error) {
	if strings.Contains(s, "EXPLODE") {
		return "", errExplode
	}
	return strings.ReplaceAll(s, "SECRET", "[redacted]"), nil
}

type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// host is a kernel with scripted hooks on a store in memory.
type host struct {
	*kernel.Kernel
	store  kernel.Store
	loader *fakeLoader
	calls  *calls
	clock  *fakeClock
}

type change func(*kernel.Config, *kernel.Options)

func newHost(t *testing.T, hooks []hook, changes ...change) *host {
	t.Helper()
	h, err := tryHost(t, hooks, changes...)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return h
}

func tryHost(t testing.TB, hooks []hook, changes ...change) (*host, error) {
	h := &host{
		loader: &fakeLoader{hooks: hooks, calls: &calls{}, closed: &calls{}},
		clock:  &fakeClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
	}
	h.calls = h.loader.calls
	cfg := configOf(hooks)
	o := kernel.Options{Store: memory.New(), Loader: h.loader, Redactor: fakeRedactor{}, Clock: h.clock}
	for _, c := range changes {
		c(cfg, &o)
	}
	h.store = o.Store
	k, err := kernel.Open(t.Context(), cfg, o)
	if err != nil {
		return nil, err
	}
	h.Kernel = k
	t.Cleanup(func() { k.Close() })
	return h, nil
}

func configOf(hooks []hook) *kernel.Config {
	cfg := &kernel.Config{Revision: "rev-1"}
	for _, h := range hooks {
		spec := kernel.BindingSpec{Name: h.name, Module: h.name, Priority: h.priority, Mode: h.mode}
		if h.spec != nil {
			h.spec(&spec)
		}
		cfg.Bindings = append(cfg.Bindings, spec)
	}
	return cfg
}

func action(phase phases.Phase) jsontext.Value {
	return map[phases.Phase]jsontext.Value{
		phases.PrePlan:         jsontext.Value(`{"kind":"message","text":"hello"}`),
		phases.PreSend:         jsontext.Value(`{"provider":"p","model":"m","params":{}}`),
		phases.PostReceive:     jsontext.Value(`{"kind":"final","text":"done"}`),
		phases.PreTool:         jsontext.Value(`{"tool":"exec","args":{"command":"ls"}}`),
		phases.PostTool:        jsontext.Value(`{"tool":"exec","result":"out"}`),
		phases.StateTransition: jsontext.Value(`{"machine":"stage","from":"plan","to":"act"}`),
		phases.Spawn:           jsontext.Value(`{"child":{"agent":"helper"}}`),
		phases.Audit:           jsontext.Value(`{"kind":"notification","data":{"text":"hi"}}`),
	}[phase]
}

func invocation(phase phases.Phase) phases.Invocation {
	return phases.Invocation{Phase: phase, Runtime: "custom", Session: "s-1", Agent: "coder", Run: "r-1",
		Action: action(phase)}
}

func (h *host) events(t *testing.T, q wire.Query) []phases.Event {
	t.Helper()
	q.Limit = wire.MaxLimit
	es, err := h.store.Events(t.Context(), q)
	if err != nil {
		t.Fatalf("Events: %v", err)
	}
	return es
}

// invoke expects an answer without a failure.
func (h *host) invoke(t *testing.T, inv phases.Invocation, o ...kernel.InvokeOptions) phases.Verdict {
	t.Helper()
	v, err := h.InvokeWith(t.Context(), inv, append(o, kernel.InvokeOptions{})[0])
	if err != nil {
		t.Fatalf("InvokeWith: %v (%+v)", err, v)
	}
	checkComplete(t, v)
	return v
}

// fails expects a block by a failure of the kind.
func (h *host) fails(t *testing.T, inv phases.Invocation, kind phases.Kind, o ...kernel.InvokeOptions) phases.Verdict {
	t.Helper()
	v, err := h.InvokeWith(t.Context(), inv, append(o, kernel.InvokeOptions{})[0])
	checkComplete(t, v)
	if v.Decision != phases.Block || v.Kind != kind {
		t.Fatalf("decision %s kind %s (%s), want a block of kind %s", v.Decision, v.Kind, v.Reason, kind)
	}
	if f := phases.FaultOf(err); f == nil || f.Kind != kind {
		t.Fatalf("error %v, want a fault of kind %s", err, kind)
	}
	if v.Reply != nil || v.Retry != nil || v.Grant != nil {
		t.Errorf("leftovers beside a block: %+v", v)
	}
	return v
}

// checkComplete: the verdict can be acted on as it is.
func checkComplete(t *testing.T, v phases.Verdict) {
	t.Helper()
	if v.ID == "" || v.Decision == "" || v.Enforced == "" || v.Changed == nil || v.Metadata == nil || v.Contexts == nil ||
		v.Artifacts == nil || v.Masked == nil || v.Hooks == nil {
		t.Errorf("verdict is not complete: %+v", v)
	}
	if v.Decision == phases.Block && (v.Kind == "" || v.DecidedBy == "") {
		t.Errorf("a block without kind or author: %+v", v)
	}
}

func effects(list ...phases.Effect) func(kernel.Turn) (kernel.Outcome, error) {
	return func(kernel.Turn) (kernel.Outcome, error) { return kernel.Outcome{Effects: list, Fuel: 1}, nil }
}

func failing(kind phases.Kind) func(kernel.Turn) (kernel.Outcome, error) {
	return func(kernel.Turn) (kernel.Outcome, error) {
		return kernel.Outcome{Fuel: 7}, phases.NewFault(kind, "it failed", errors.New("the cause"))
	}
}

func block(text string) phases.Effect { return phases.Effect{Kind: phases.EffectBlock, Text: text} }
func ask(text string) phases.Effect   { return phases.Effect{Kind: phases.EffectAsk, Text: text} }
func rewrite(path, value string) phases.Effect {
	return phases.Effect{Kind: phases.EffectRewrite, Path: path, Value: jsontext.Value(value)}
}
func annotate(key, value string) phases.Effect {
	return phases.Effect{Kind: phases.EffectAnnotate, Key: key, Value: jsontext.Value(value)}
}

// counting adds one to a number in the hook's state.
func counting(list ...phases.Effect) func(kernel.Turn) (kernel.Outcome, error) {
	return func(t kernel.Turn) (kernel.Outcome, error) {
		value, version, err := t.Session.State.Get(context.Background(), "n")
		if err != nil {
			return kernel.Outcome{}, phases.NewFault(phases.KindStore, "state", err)
		}
		n := 0
		fmt.Sscan(string(value), &n)
		return kernel.Outcome{
			Effects: list, StateReads: []hostcalls.StateRead{{Key: "n", Version: version}},
			StateWrites: []hostcalls.StateWrite{{Key: "n", Value: []byte(fmt.Sprint(n + 1)), Version: version}},
		}, nil
	}
}

func (h *host) counter(t *testing.T, namespace string) string {
	t.Helper()
	v, err := h.store.HookState(t.Context(), namespace, "n")
	if err != nil {
		t.Fatal(err)
	}
	return string(v.Value)
}

var preTool = []phases.Phase{phases.PreTool}

var meanwhiles atomic.Int64

// meanwhile is the event of a change that a test makes behind the kernel's back.
func meanwhile() []phases.Event {
	return []phases.Event{{ID: fmt.Sprint("meanwhile-", meanwhiles.Add(1)), Type: phases.EventNotice}}
}

// wall is a moment on a host without a boot clock.
func wall(t time.Time) leases.Instant { return leases.Instant{Wall: t} }
