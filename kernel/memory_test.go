package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func TestMetadataIsCarriedAlongTheRun(t *testing.T) {
	var seen []string
	h := newHost(t, []hook{
		{name: "classify", phases: []phases.Phase{phases.PrePlan}, caps: []string{"annotate"},
			run: effects(annotate("level", `"high SECRET"`))},
		{name: "raise", phases: []phases.Phase{phases.PreSend}, run: func(tu kernel.Turn) (kernel.Outcome, error) {
			v, _ := phases.GetString(tu.Session.Input, "/metadata/level/value")
			caller, _ := phases.GetString(tu.Session.Input, "/metadata/caller/x")
			seen = append(seen, v+"|"+caller)
			return kernel.Outcome{}, nil
		}},
	})
	v := h.invoke(t, invocation(phases.PrePlan))
	if got := string(v.Metadata["level"].Value); got != `"high [redacted]"` {
		t.Errorf("metadata in the verdict: %s", got)
	}
	inv := invocation(phases.PreSend)
	inv.Metadata = map[string]jsontext.Value{"x": jsontext.Value(`"from the caller"`)}
	h.invoke(t, inv)
	inv.Run = "another"
	h.invoke(t, inv)
	inv.Run, inv.Session = "r-1", ""
	h.invoke(t, inv)
	h.clock.add(kernel.MetadataTTL + 1)
	h.invoke(t, invocation(phases.PreSend))
	wantOrder(t, seen, "high [redacted]|from the caller", "|from the caller", "|from the caller", "|")
	if r, err := h.store.RunState(t.Context(), phases.RunKey{Runtime: "custom", Session: "s-1", Run: "r-1"},
		h.clock.Now()); err != nil || r.Version != 0 {
		t.Errorf("what has expired was not dropped: %+v, %v", r, err)
	}
}

func TestMetadataWithoutSession(t *testing.T) {
	h := newHost(t, []hook{{name: "a", caps: []string{"annotate"}, run: effects(annotate("k", "1"))}})
	inv := invocation(phases.PreTool)
	inv.Session = ""
	v := h.invoke(t, inv)
	if len(v.Metadata) != 1 || !strings.Contains(strings.Join(v.Notes, " "), "no session") {
		t.Errorf("verdict %+v", v)
	}
	if r, err := h.store.RunState(t.Context(), inv.RunKey(), h.clock.Now()); err != nil || r.Version != 0 {
		t.Errorf("stored for nobody: %+v, %v", r, err)
	}
}

func TestMetadataTiers(t *testing.T) {
	h := newHost(t, []hook{
		{name: "trusted", tier: phases.Trusted, caps: []string{"annotate"}, phases: []phases.Phase{phases.PrePlan},
			run: effects(annotate("k", `"mine"`))},
		{name: "usurper", caps: []string{"annotate"}, run: effects(annotate("k", `"theirs"`))},
	})
	h.invoke(t, invocation(phases.PrePlan))
	v := h.fails(t, invocation(phases.PreTool), phases.KindOutput)
	if string(v.Metadata["k"].Value) != `"mine"` {
		t.Errorf("metadata %v", v.Metadata)
	}
}

func TestStateCommits(t *testing.T) {
	caps := []string{"block", "state_get", "state_put"}
	h := newHost(t, []hook{
		{name: "counter", priority: 2, caps: caps, run: counting()},
		{name: "blocker", caps: caps, run: counting(block("no"))},
	})
	for range 3 {
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Block {
			t.Fatalf("verdict %+v", v)
		}
	}
	if h.counter(t, "counter") != "3" || h.counter(t, "blocker") != "3" {
		t.Errorf("state of hooks that returned 0: %s %s, want 3 3", h.counter(t, "counter"), h.counter(t, "blocker"))
	}
	broken := func(tu kernel.Turn) (kernel.Outcome, error) {
		out, _ := counting()(tu)
		return out, phases.NewFault(phases.KindTrap, "crash", nil)
	}
	h = newHost(t, []hook{{name: "broken", run: broken}})
	h.fails(t, invocation(phases.PreTool), phases.KindTrap)
	if got := h.counter(t, "broken"); got != "" {
		t.Errorf("state of a hook that failed: %q", got)
	}
	refused := func(tu kernel.Turn) (kernel.Outcome, error) {
		out, err := counting(rewrite("/args/x", "1"))(tu)
		return out, err
	}
	h = newHost(t, []hook{{name: "refused", run: refused}})
	h.fails(t, invocation(phases.PreTool), phases.KindOutput)
	if got := h.counter(t, "refused"); got != "" {
		t.Errorf("state of a hook whose effects were refused: %q", got)
	}
}

func TestStateIsStoredRedacted(t *testing.T) {
	put := func(value string) func(kernel.Turn) (kernel.Outcome, error) {
		return func(kernel.Turn) (kernel.Outcome, error) {
			return kernel.Outcome{StateWrites: []hostcalls.StateWrite{{Key: "n", Value: []byte(value)}}}, nil
		}
	}
	h := newHost(t, []hook{{name: "a", run: put("my SECRET")}})
	h.invoke(t, invocation(phases.PreTool))
	if got := h.counter(t, "a"); got != "my [redacted]" {
		t.Errorf("stored %q", got)
	}
	h = newHost(t, []hook{{name: "a", run: put("\xff\xfe SECRET")}})
	h.invoke(t, invocation(phases.PreTool))
	if got := h.counter(t, "a"); got != "\xff\xfe SECRET" {
		t.Errorf("binary state stored as %q", got)
	}
	newHost(t, []hook{{name: "a", run: put("EXPLODE")}}).fails(t, invocation(phases.PreTool), phases.KindAudit)
}

// Two invocations that count in the same place at the same time both count.
func TestConcurrentState(t *testing.T) {
	h := newHost(t,
		[]hook{{name: "counter", caps: []string{"state_get", "state_put", "annotate"},
			run: func(tu kernel.Turn) (kernel.Outcome, error) {
				out, err := counting(annotate("last", `"`+fmt.Sprint(tu.Session.Seed[0])+`"`))(tu)
				time.Sleep(time.Millisecond) // gives the others time to interfere
				return out, err
			}}})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if v, err := h.Invoke(context.Background(), invocation(phases.PreTool)); err != nil || v.Decision != phases.Allow {
				t.Errorf("%v %+v", err, v)
			}
		})
	}
	wg.Wait()
	if got := h.counter(t, "counter"); got != "20" {
		t.Errorf("counted %s, want 20", got)
	}
	if es := h.events(t, wire.Query{Type: phases.EventVerdict}); len(es) != 20 {
		t.Errorf("%d verdicts logged, want 20", len(es))
	}
}

// meddler changes what an invocation has read, each time before it commits.
type meddler struct {
	kernel.Store
	times int
}

func (m *meddler) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if len(b.StateReads) > 0 && m.times > 0 {
		m.times--
		r := b.StateReads[0]
		if _, err := m.Store.Commit(ctx,
			kernel.Batch{Now: b.Now, Events: meanwhile(),
				StateWrites: []kernel.StateWrite{{Namespace: r.Namespace, Key: r.Key, Value: []byte("100")}}}); err != nil {
			return kernel.Receipt{}, err
		}
	}
	return m.Store.Commit(ctx, b)
}

func TestConflicts(t *testing.T) {
	for times, want := range []string{"1", "101", "101", "101"} {
		h := newHost(t, []hook{{name: "c", run: counting()}}, func(_ *kernel.Config, o *kernel.Options) {
			o.Store = &meddler{o.Store, times}
		})
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow || len(v.Hooks) != 1 {
			t.Errorf("%d conflicts: %+v", times, v)
		}
		if got := h.counter(t, "c"); got != want {
			t.Errorf("%d conflicts: counted %s, want %s", times, got, want)
		}
		if n := len(h.calls.take()); n != times+1 {
			t.Errorf("%d conflicts: ran %d times", times, n)
		}
	}
	h := newHost(t, []hook{{name: "c", run: counting()}}, func(_ *kernel.Config, o *kernel.Options) {
		o.Store = &meddler{o.Store, 99}
	})
	v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
	if v.Decision != phases.Block || v.Kind != phases.KindStore || !errors.Is(err, kernel.ErrConflict) {
		t.Errorf("endless conflicts: %+v, %v", v, err)
	}
	if n := len(h.calls.take()); n != 4 {
		t.Errorf("ran %d times, want 4", n)
	}
	if es := h.events(t, wire.Query{Except: phases.EventNotice}); len(es) != 1 ||
		es[0].Type != phases.EventFailure || es[0].Kind != phases.KindStore || v.Event == nil || v.Event.ID != es[0].ID {
		t.Errorf("events %+v, verdict's %+v", es, v.Event)
	}
}

func TestRetriesAreCountedPerRun(t *testing.T) {
	retry := func(text string, max int) phases.Effect {
		return phases.Effect{Kind: phases.EffectRetry,
			Value: jsontext.Value(fmt.Sprintf(`{"instruction":%q,"max":%d}`, text, max))}
	}
	on := []phases.Phase{phases.PostReceive}
	h := newHost(t, []hook{
		{name: "a", phases: on, caps: []string{"retry"}, run: effects(retry("again", 2))},
		{name: "b", phases: on, caps: []string{"retry"}, run: effects(retry("once more", 1))},
	})
	var got []string
	for range 4 {
		v := h.invoke(t, invocation(phases.PostReceive))
		if v.Retry == nil {
			got = append(got, "")
		} else {
			got = append(got, v.Retry.Instruction)
		}
	}
	wantOrder(t, got, "again", "again", "once more", "")
	inv := invocation(phases.PostReceive)
	inv.Run = "other"
	if v := h.invoke(t, inv); v.Retry == nil || v.Retry.Hook != "a" {
		t.Errorf("another run: %+v", v.Retry)
	}
}

func TestScopes(t *testing.T) {
	project := phases.Scopes{FSRead: phases.Scope{"/p/**"}, FSWrite: phases.Scope{"/p/**"}}
	ceiling := func(cfg *kernel.Config, _ *kernel.Options) {
		cfg.Ceiling = phases.Scopes{FSWrite: phases.Scope{"/p/src/**"}}
	}
	holds := kernel.InvokeOptions{HoldsScopes: true}
	inv := invocation(phases.PreTool)
	inv.Scopes = project
	h := newHost(t, nil, ceiling)
	v := h.invoke(t, inv, holds)
	want := phases.Scopes{FSRead: phases.Scope{"/p/**"}, FSWrite: phases.Scope{"/p/src/**"}}
	if !v.Scopes.Equal(want) || v.Decision != phases.Allow {
		t.Errorf("scopes %+v, %s; want %+v", v.Scopes, v.Decision, want)
	}
	if v = h.invoke(t, inv); v.Decision != phases.Block || v.Kind != phases.KindPolicy || v.DecidedBy != "belay" {
		t.Errorf("nobody holds a command to its scopes: %+v", v)
	}
	inv.Action = []byte(`{"tool":"write","args":{"path":"/p/src/a.go","content":""}}`)
	if v = h.invoke(t, inv); v.Decision != phases.Allow {
		t.Errorf("a file in scope: %+v", v)
	}
	inv.Action = []byte(`{"tool":"write","args":{"path":"/p/etc/a.go","content":""}}`)
	if v = h.invoke(t, inv); v.Decision != phases.Block {
		t.Errorf("a file out of scope: %+v", v)
	}

	clamp := phases.Effect{Kind: phases.EffectClamp, Scopes: &phases.Scopes{FSRead: phases.Scope{"/p/docs/**"}}}
	h = newHost(t, []hook{{name: "c", mutates: preTool, caps: []string{"clamp_scopes"}, run: effects(clamp)}}, ceiling)
	inv = invocation(phases.PreTool)
	inv.Scopes = project
	if v = h.invoke(t, inv, holds); !v.Scopes.FSRead.Equal(phases.ScopePath, phases.Scope{"/p/docs/**"}) ||
		len(v.Changed) != 0 {
		t.Errorf("clamped scopes %+v, changed %v", v.Scopes, v.Changed)
	}
}

func TestSpawnScopes(t *testing.T) {
	h := newHost(t, nil)
	inv := invocation(phases.Spawn)
	inv.Scopes = phases.Scopes{FSRead: phases.Scope{"/**"}, Tools: phases.Scope{"read", "exec"}}
	parent := phases.Scopes{FSRead: phases.Scope{"/p/**"}, Tools: phases.Scope{"read"}}
	v := h.invoke(t, inv, kernel.InvokeOptions{ParentScopes: &parent, HoldsScopes: true})
	if !parent.Contains(v.Scopes) || !v.Scopes.Equal(parent) {
		t.Errorf("child's scopes %+v, parent's %+v", v.Scopes, parent)
	}
	bad := phases.Scopes{FSRead: phases.Scope{"relative"}}
	h.fails(t, inv, phases.KindProtocol, kernel.InvokeOptions{ParentScopes: &bad})
}
