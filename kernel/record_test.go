package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

var unblockable = kernel.InvokeOptions{Unblockable: true}

func TestLatch(t *testing.T) {
	for name, run := range map[string]func(kernel.Turn) (kernel.Outcome, error){
		"block": effects(block("stop here")), "ask": effects(ask("stop here")),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t,
				[]hook{{name: "b", phases: []phases.Phase{phases.PrePlan}, caps: []string{"block", "request_approval"}, run: run},
					{name: "quiet"}})
			v := h.invoke(t, invocation(phases.PrePlan), unblockable)
			if v.Decision != phases.Block || v.Enforced != phases.EnforcedLatched {
				t.Fatalf("verdict %+v", v)
			}
			h.calls.take()
			for range 2 {
				v = h.invoke(t, invocation(phases.PreTool))
				if v.Decision != phases.Block ||
					!strings.HasPrefix(v.Reason,
						"stop here (latch "+latched(t, h).ID+" of kind decision since 2026-03-01T12:00:00Z, event ") ||
					!strings.HasSuffix(v.Reason, "; `belay latch clear custom s-1` clears it)") || v.DecidedBy != "b" ||
					v.Kind != phases.KindPolicy || v.Enforced != phases.EnforcedLatched {
					t.Fatalf("a later event: %+v", v)
				}
			}
			if c := h.calls.take(); len(c) != 0 {
				t.Errorf("hooks ran for a latched session: %v", c)
			}
			// Others go on, and so do events of the session that cannot be blocked.
			inv := invocation(phases.PreTool)
			inv.Session = "s-2"
			if v = h.invoke(t, inv); v.Decision != phases.Allow {
				t.Errorf("another session: %+v", v)
			}
			if v = h.invoke(t, invocation(phases.PreTool), unblockable); v.Decision != phases.Allow {
				t.Errorf("an unblockable event: %+v", v)
			}
			key := wire.Session{Runtime: "custom", Session: "s-1"}
			if err := h.ClearLatch(t.Context(), key, "op", nil); err != nil {
				t.Fatal(err)
			}
			if err := h.ClearLatch(t.Context(), key, "op", nil); !errors.Is(err, kernel.ErrConflict) {
				t.Errorf("clearing twice: %v, want ErrConflict", err)
			}
			if v = h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
				t.Errorf("after clearing: %+v", v)
			}
			es := h.events(t, wire.Query{Type: phases.EventLatch})
			if len(es) != 2 || es[0].Decision != "latched" || es[0].Reason != "stop here" || es[1].Decision != "cleared" ||
				es[1].User != "op" {
				t.Errorf("latch events %+v", es)
			}
		})
	}
}

func TestFailureLatches(t *testing.T) {
	h := newHost(t, []hook{{name: "bad", phases: []phases.Phase{phases.PrePlan}, run: failing(phases.KindFuel)}})
	h.fails(t, invocation(phases.PrePlan), phases.KindFuel, unblockable)
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Block || v.Kind != phases.KindFuel {
		t.Errorf("verdict %+v", v)
	}
	// What does not even decode latches, too, under the names that it claims.
	h = newHost(t, nil)
	inv := invocation(phases.PrePlan)
	inv.Action = []byte(`{"kind":"nonsense"}`)
	v := h.fails(t, inv, phases.KindProtocol, unblockable)
	if v.Enforced != phases.EnforcedLatched {
		t.Errorf("enforced %s", v.Enforced)
	}
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Block || v.Enforced != phases.EnforcedLatched {
		t.Errorf("verdict %+v", v)
	}
}

// latcher latches the session between what an invocation reads and its commit.
type latcher struct {
	kernel.Store
	once sync.Once
}

func (l *latcher) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	l.once.Do(func() {
		l.Store.Commit(ctx, kernel.Batch{Now: b.Now, Events: meanwhile(), Latch: &kernel.Latch{
			Runtime: "custom", Session: "s-1", Reason: "meanwhile", Kind: phases.KindPolicy,
			DecidedBy: "x", Since: b.Now}})
	})
	return l.Store.Commit(ctx, b)
}

func TestLatchedMeanwhile(t *testing.T) {
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Store = &latcher{Store: o.Store} })
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Block ||
		!strings.HasPrefix(v.Reason, "meanwhile (latch of kind unknown since ") {
		t.Errorf("verdict %+v", v)
	}
}

func TestRefusals(t *testing.T) {
	h := newHost(t, nil)
	for name, change := range map[string]func(*phases.Invocation){
		"unknown phase":  func(i *phases.Invocation) { i.Phase = "lunch" },
		"bad id":         func(i *phases.Invocation) { i.ID = "not-a-uuid" },
		"bad action":     func(i *phases.Invocation) { i.Action = []byte(`{"tool":`) },
		"unknown member": func(i *phases.Invocation) { i.Action = []byte(`{"tool":"exec","args":{},"sneaky":1}`) },
		"control":        func(i *phases.Invocation) { i.Session = "a\nb" },
		"bad scope":      func(i *phases.Invocation) { i.Scopes.Net = phases.Scope{"a b"} },
	} {
		t.Run(name, func(t *testing.T) {
			inv := invocation(phases.PreTool)
			change(&inv)
			v := h.fails(t, inv, phases.KindProtocol)
			es := h.events(t, wire.Query{Newest: true})
			e := es[len(es)-1]
			if e.Type != phases.EventFailure || e.ID != v.Event.ID || e.Input != nil || e.InputDigest == "" ||
				strings.ContainsAny(e.Session, "\n") {
				t.Errorf("event %+v", e)
			}
		})
	}
	v, err := h.Refuse(t.Context(), kernel.Refusal{Raw: []byte("garbage"), Fault: nil})
	if err == nil || v.Decision != phases.Block || v.Kind != phases.KindProtocol || v.Event == nil {
		t.Errorf("Refuse: %+v, %v", v, err)
	}
}

// flaky is a store that fails, or panics, while it is told to.
type flaky struct {
	kernel.Store
	mu     sync.Mutex
	reads  bool
	writes bool
	panics bool
}

func (f *flaky) set(reads, writes, panics bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads, f.writes, f.panics = reads, writes, panics
}

func (f *flaky) state() (reads, writes, panics bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads, f.writes, f.panics
}

func (f *flaky) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	_, writes, panics := f.state()
	if panics {
		panic("store")
	}
	if writes {
		return kernel.Receipt{}, errors.New("disk full") // not even of the right class
	}
	return f.Store.Commit(ctx, b)
}

func (f *flaky) Latch(ctx context.Context, k wire.Session) (*kernel.Latch, error) {
	if reads, _, _ := f.state(); reads {
		return nil, kernel.ErrUnavailable
	}
	return f.Store.Latch(ctx, k)
}

func TestStoreFailures(t *testing.T) {
	for name, set := range map[string][3]bool{"reads": {true, false, false}, "writes": {false, true, false},
		"panics": {false, false, true}} {
		for _, spooled := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				f := &flaky{Store: memory.New()}
				dir := t.TempDir()
				both := []phases.Phase{phases.PreTool, phases.PrePlan} // what could not be recorded would have been judged
				h := newHost(t, []hook{{name: "a", phases: both}}, func(_ *kernel.Config, o *kernel.Options) {
					o.Store = f
					if spooled {
						o.SpoolPath = filepath.Join(dir, "spool.jsonl")
					}
				})
				f.set(set[0], set[1], set[2])
				for range 3 {
					v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
					checkComplete(t, v)
					if v.Decision != phases.Block || (v.Event != nil) != set[0] || err == nil {
						t.Fatalf("released without a record: %+v, %v", v, err)
					}
					if !set[2] && (v.Kind != phases.KindStore || h.Health().OK != set[0] || !errors.Is(err, kernel.ErrUnavailable)) {
						t.Errorf("%+v, %v, health %+v", v, err, h.Health())
					}
				}
				h.InvokeWith(t.Context(), invocation(phases.PrePlan), unblockable)
				f.set(false, false, false)
				if set[2] {
					return
				}
				// The latch that is owed comes before anything is let through.
				v := h.invoke(t, invocation(phases.PreTool))
				if v.Decision != phases.Block || v.Enforced != phases.EnforcedLatched || !h.Health().OK {
					t.Errorf("after recovery: %+v, health %+v", v, h.Health())
				}
				gaps := h.events(t, wire.Query{Type: phases.EventGap})
				if set[0] { // what cannot be read can still be written: each block is logged
					if es := h.events(t, wire.Query{Type: phases.EventFailure}); len(gaps) != 0 || len(es) != 4 {
						t.Errorf("gaps %+v, failures %+v", gaps, es)
					}
					return
				}
				sum := 0
				for _, g := range gaps {
					n, _ := phases.Get(g.Output, "/blocked")
					k, _ := strconv.Atoi(string(n))
					sum += k
				}
				if sum != 4 {
					t.Errorf("%d unrecorded blocks are told of, want 4: %+v", sum, gaps)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "*.jsonl*")); len(left) != 0 ||
					notes.InReserve(filepath.Join(dir, "spool.jsonl")) {
					t.Errorf("left in the spool: %v", left)
				}
				h.invoke(t, invocation(phases.PrePlan), unblockable)
				if again := h.events(t, wire.Query{Type: phases.EventGap}); len(again) != len(gaps) {
					t.Errorf("the gap was reported again: %+v", again)
				}
			})
		}
	}
}

// Where an invocation cannot be decided, the gap is logged first, too.
func TestRefusalReportsTheGap(t *testing.T) {
	f := &flaky{Store: memory.New()}
	h := newHost(t, []hook{{name: "a", phases: []phases.Phase{phases.PrePlan}}},
		func(_ *kernel.Config, o *kernel.Options) { o.Store = f })
	f.set(false, true, false)
	h.InvokeWith(t.Context(), invocation(phases.PrePlan), unblockable)
	f.set(false, false, false)
	bad := kernel.Refusal{Invocation: invocation(phases.PreTool),
		Fault: phases.NewFault(phases.KindProtocol, "garbage", nil)}
	if v, _ := h.Refuse(t.Context(), bad); v.Event == nil {
		t.Fatalf("verdict %+v", v)
	}
	var types []phases.EventType
	for _, e := range h.events(t, wire.Query{}) {
		types = append(types, e.Type)
	}
	if diff := cmp.Diff([]phases.EventType{phases.EventLatch, phases.EventGap, phases.EventFailure}, types); diff != "" {
		t.Error(diff)
	}
}

// A process that ended while the store was down leaves its spool to the next one.
func TestSpoolOutlivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool.jsonl")
	f := &flaky{Store: memory.New()}
	use := func(_ *kernel.Config, o *kernel.Options) { o.Store, o.SpoolPath = f, path }
	h := newHost(t, nil, use)
	f.set(false, true, false)
	for range 2000 { // far beyond what the spool takes
		h.Invoke(t.Context(), invocation(phases.PreTool))
	}
	fi, err := os.Stat(path)
	if err != nil || fi.Size() > 300<<10 || fi.Mode().Perm() != 0o600 {
		t.Fatalf("spool: %v, %v", fi, err)
	}
	f.set(false, false, false)
	next := newHost(t, nil, use)
	next.invoke(t, invocation(phases.PreTool))
	gaps := next.events(t, wire.Query{Type: phases.EventGap})
	if len(gaps) != 2 { // notes taken once already, then notes that came after them
		t.Fatalf("gaps %+v", gaps)
	}
	gaps = gaps[1:]
	ids, _ := phases.Get(gaps[0].Output, "/invocations")
	if strings.Count(string(ids), ",") != 63 {
		t.Errorf("invocations %s", ids)
	}
}

// A client that could not ask leaves a note for the kernel that runs: the session
// that its answer did not hold is latched before anything more of it is decided.
func TestNotesOfOthersAreTakenUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool.jsonl")
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.SpoolPath = path })
	h.invoke(t, invocation(phases.PreTool))
	refusal := kernel.Refusal{
		Invocation:  phases.Invocation{Runtime: "custom", Session: "s-1"},
		Fault:       phases.NewFault(phases.KindLoad, "nobody could be asked", nil),
		Unblockable: true,
	}
	if err := kernel.Spool(path, refusal, h.clock.Now()); err != nil {
		t.Fatal(err)
	}
	v := h.invoke(t, invocation(phases.PreTool))
	if v.Decision != phases.Block || v.Enforced != phases.EnforcedLatched || v.Kind != phases.KindLoad {
		t.Errorf("%+v", v)
	}
	other := invocation(phases.PreTool)
	other.Session = "s-2"
	if v := h.invoke(t, other); v.Decision != phases.Allow {
		t.Errorf("another session: %+v", v)
	}
	if es := h.events(t, wire.Query{Type: phases.EventGap}); len(es) != 1 {
		t.Errorf("gaps %+v", es)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// A hook's own invocation, made while it runs, waits for no other: not even when
// another invocation wants to run alone.
func TestInvocationInsideATurn(t *testing.T) {
	var h *host
	inner := make(chan phases.Verdict, 1)
	h = newHost(t, []hook{{name: "outer", phases: []phases.Phase{phases.PrePlan}}, {name: "c", run: counting()}},
		func(_ *kernel.Config, o *kernel.Options) {
			o.Store = &meddler{o.Store, 2} // makes the inner one run alone
			o.Loader = &nesting{o.Loader, func(ctx context.Context) {
				v, _ := h.Invoke(ctx, invocation(phases.PreTool))
				inner <- v
			}}
		})
	if v := h.invoke(t, invocation(phases.PrePlan)); v.Decision != phases.Allow {
		t.Errorf("outer: %+v", v)
	}
	if v := <-inner; v.Decision != phases.Allow || h.counter(t, "c") != "101" {
		t.Errorf("inner: %+v", v)
	}
}

// nesting makes the hook named outer do something with the context of its turn.
type nesting struct {
	kernel.Loader
	do func(context.Context)
}

func (n *nesting) Load(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	l, err := n.Loader.Load(ctx, spec)
	if err == nil && spec.Name == "outer" {
		l.Hook = hookFunc(func(ctx context.Context, _ kernel.Turn) (kernel.Outcome, error) {
			n.do(ctx)
			return kernel.Outcome{}, nil
		})
	}
	return l, err
}

func TestPanicsInTheKernel(t *testing.T) {
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Redactor = panicking{} })
	v := h.fails(t, invocation(phases.PreTool), phases.KindProtocol)
	if v.Event == nil {
		t.Error("a panic left no record")
	}
}

type panicking struct{ fakeRedactor }

func (panicking) JSON(jsontext.Value) (jsontext.Value, []string, error) { panic("redactor") }

func TestCallersContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := newHost(t, []hook{{name: "a", run: failing(phases.KindDeadline)}})
	v, err := h.Invoke(ctx, invocation(phases.PreTool))
	if v.DecidedBy != "belay" || v.Kind != phases.KindDeadline || v.Event == nil || !errors.Is(err, context.Canceled) ||
		len(h.calls.take()) != 0 {
		t.Errorf("a caller that gave up before: %+v, %v; want a recorded block, and no hook run", v, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	h = newHost(t, []hook{{name: "a", run: func(turn kernel.Turn) (kernel.Outcome, error) {
		cancel()
		return failing(phases.KindDeadline)(turn)
	}}})
	v, err = h.Invoke(ctx, invocation(phases.PreTool))
	if v.DecidedBy != "a" || v.Kind != phases.KindDeadline || v.Event == nil || err == nil {
		t.Errorf("a caller that gave up: %+v, %v; want a recorded block", v, err)
	}
}

func TestReloadAndClose(t *testing.T) {
	started, release := make(chan bool), make(chan bool)
	h := newHost(t, []hook{{name: "old", run: func(kernel.Turn) (kernel.Outcome, error) {
		started <- true
		<-release
		return kernel.Outcome{}, nil
	}}})
	done := make(chan phases.Verdict)
	go func() {
		v, _ := h.Invoke(context.Background(), invocation(phases.PreTool))
		done <- v
	}()
	<-started
	h.loader.hooks = append(h.loader.hooks, hook{name: "new"})
	cfg := configOf(h.loader.hooks[1:])
	cfg.Revision = "rev-2"
	if err := h.Reload(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if c := h.loader.closed.take(); len(c) != 0 {
		t.Errorf("closed in use: %v", c)
	}
	v := h.invoke(t, invocation(phases.PreTool))
	if v.PolicyRevision != "rev-2" || v.Hooks[0].Hook != "new" {
		t.Errorf("after Reload: %+v", v)
	}
	release <- true
	if v = <-done; v.PolicyRevision != "rev-1" || v.Hooks[0].Hook != "old" {
		t.Errorf("begun before Reload: %+v", v)
	}
	wantOrder(t, h.loader.closed.take(), "old")
	if err := h.Reload(t.Context(), &kernel.Config{Bindings: []kernel.BindingSpec{{}}}); !errors.Is(err,
		kernel.ErrConfig) {
		t.Errorf("Reload of nonsense: %v", err)
	}
	if v = h.invoke(t, invocation(phases.PreTool)); v.PolicyRevision != "rev-2" {
		t.Errorf("after a Reload that failed: %+v", v)
	}
	if es := h.events(t, wire.Query{Type: phases.EventNotice}); len(es) != 1 || es[0].PolicyRevision != "rev-2" {
		t.Errorf("notices %+v", es)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	wantOrder(t, h.loader.closed.take(), "new")
	v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
	if v.Decision != phases.Block || !errors.Is(err, kernel.ErrClosed) {
		t.Errorf("after Close: %+v, %v", v, err)
	}
	if err := h.Reload(t.Context(), cfg); !errors.Is(err, kernel.ErrClosed) {
		t.Errorf("Reload after Close: %v", err)
	}
}

// plain drops what may differ between two runs of the same invocation.
var plain = cmp.Options{
	cmpopts.IgnoreFields(phases.HookReport{}, "DurationUS"), cmpopts.IgnoreFields(phases.Verdict{}, "Event"),
	cmpopts.IgnoreFields(phases.Event{}, "ID", "DurationUS"), cmpopts.EquateEmpty(),
}

// The same chain gives the same verdict and the same events whatever ran in parallel.
func TestParallelEqualsSequential(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var hooks []hook
		n := rapid.IntRange(1, 12).Draw(rt, "hooks")
		for i := range n {
			h := hook{
				name: string(rune('a' + i)), priority: rapid.IntRange(-1, 1).Draw(rt, "priority"),
				caps: []string{"block", "request_approval", "annotate", "rewrite", "add_context", "state_get", "state_put"},
			}
			var list []phases.Effect
			for range rapid.IntRange(0, 2).Draw(rt, "effects") {
				list = append(list, rapid.SampledFrom([]phases.Effect{
					ask("ask " + h.name), annotate("k", `"`+h.name+`"`), annotate("k"+h.name, "1"),
					{Kind: phases.EffectContext, Text: "context " + h.name}, rewrite("/args/x", `"`+h.name+`"`),
					rewrite("/args/y", `1`),
				}).Draw(rt, "effect"))
			}
			switch rapid.IntRange(0, 9).Draw(rt, "end") {
			case 0:
				list = append(list, block("block "+h.name))
			case 1:
				h.run = failing(phases.KindTrap)
			case 2:
				h.run = counting(list...)
				h.imports = []string{"state_get", "state_put"}
			}
			if h.run == nil {
				// The hook's effects and fuel depend on its input.
				h.run = func(tu kernel.Turn) (kernel.Outcome, error) {
					out := kernel.Outcome{Effects: list, Fuel: int64(len(tu.Session.Input)),
						Notes: []string{string(tu.Session.Seed[:4])}}
					out.Notes = nil
					if _, ok := phases.Get(tu.Session.Input, "/metadata/kb"); ok {
						out.Effects = append([]phases.Effect{ask("saw kb")}, list...)
					}
					return out, nil
				}
			}
			if rapid.IntRange(0, 2).Draw(rt, "mutates") == 0 {
				h.mutates = preTool
				h.imports = append(h.imports, "rewrite", "block")
			}
			if rapid.IntRange(0, 5).Draw(rt, "observe") == 0 {
				h.mode = phases.Observe
			}
			hooks = append(hooks, h)
		}
		inv := invocation(phases.PreTool)
		inv.ID = "01890a5d-ac96-774b-bcce-b302099a8057"
		seed := [32]byte{1, 2, 3}
		run := func(sequential bool) (phases.Verdict, string, []phases.Event) {
			h, err := tryHost(t, hooks, func(_ *kernel.Config, o *kernel.Options) {
				o.Sequential = sequential
				o.Digester = digester{}
				var n atomic.Int64 // ids are in what an approval says, too
				o.NewID = func(time.Time) string { return fmt.Sprintf("01890a5d-ac96-774b-8000-%012x", n.Add(1)) }
			})
			if err != nil {
				rt.Fatal(err)
			}
			v, err := h.InvokeWith(t.Context(), inv, kernel.InvokeOptions{Seed: &seed})
			text := ""
			if err != nil {
				text = err.Error()
			}
			es, _ := h.store.Events(t.Context(), wire.Query{})
			return v, text, es
		}
		v1, err1, es1 := run(true)
		v2, err2, es2 := run(false)
		if diff := cmp.Diff(v1, v2, plain); diff != "" {
			rt.Errorf("verdicts differ (-sequential +parallel):\n%s", diff)
		}
		if diff := cmp.Diff(es1, es2, plain); diff != "" {
			rt.Errorf("events differ (-sequential +parallel):\n%s", diff)
		}
		if err1 != err2 {
			rt.Errorf("errors differ: %q, %q", err1, err2)
		}
		blocked := false
		for _, h := range v1.Hooks {
			if blocked && h.Mode != phases.Observe {
				rt.Errorf("%s counted after the chain had ended", h.Hook)
			}
			if h.Mode != phases.Observe && (h.Decision == phases.HookBlock || h.Decision == phases.HookError) {
				blocked = true
			}
		}
		if blocked != (v1.Decision == phases.Block) {
			rt.Errorf("decision %s, hooks %+v", v1.Decision, v1.Hooks)
		}
	})
}

type digester struct{}

func (digester) Digest(u string, original []byte) string {
	return u + ":" + string(original)
}
