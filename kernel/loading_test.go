package kernel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// A configuration that would not be taken into use can be looked at, hook by hook.
func TestExamine(t *testing.T) {
	cfg := configOf([]hook{{name: "a", priority: 3}, {name: "b"}, {name: "c"}})
	var closed []string
	look := func(spec kernel.BindingSpec) (*kernel.Loaded, error) {
		switch spec.Name {
		case "b":
			return nil, phases.NewFault(phases.KindLoad, "not there", errors.New("the\x00cause"))
		case "c":
			return nil, errors.New("odd")
		}
		return &kernel.Loaded{Hook: hookFunc(nil), Digest: "d", Version: "1", Signer: "me", Tier: phases.Trusted,
			Phases: preTool, Mutates: preTool, Capabilities: []string{"block"},
			Close: func() error { closed = append(closed, spec.Name); return nil }}, nil
	}
	list, err := kernel.Examine(cfg, look)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	if a := list[0]; a.Name != "a" || a.Digest != "d" || a.Version != "1" || a.Signer != "me" ||
		a.Tier != phases.Trusted || a.Mode != phases.Enforce || a.Priority != 3 ||
		len(a.Phases) != 1 || len(a.Mutates) != 1 || len(a.Capabilities) != 1 || a.Problem != "" || a.Detail != "" {
		t.Errorf("%+v", a)
	}
	if b := list[1]; b.Name != "b" || b.Problem != "not there" || b.Detail != phases.SafeText("the\x00cause", 99) ||
		b.Phases != nil {
		t.Errorf("%+v", b)
	}
	if c := list[2]; c.Problem != "a hook could not be loaded" || c.Detail != "odd" {
		t.Errorf("%+v", c)
	}
	cfg.Bindings[1].Name = "a"
	if list, err := kernel.Examine(cfg, look); !errors.Is(err, kernel.ErrConfig) || list != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

// loading answers what its test wants.
type loading func(kernel.BindingSpec) (*kernel.Loaded, error)

func (l loading) Load(_ context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	return l(spec)
}

// A loader's wrong answer makes a hook that fails, with a reason; everything that it had opened
// is closed.
func TestLoadersThatAnswerWrongly(t *testing.T) {
	run := hookFunc(func(context.Context, kernel.Turn) (kernel.Outcome, error) { return kernel.Outcome{}, nil })
	good := func() *kernel.Loaded {
		return &kernel.Loaded{Hook: run, Digest: "d", Tier: phases.Sandboxed, Phases: preTool}
	}
	for name, c := range map[string]struct {
		load   func(*kernel.Loaded) (*kernel.Loaded, error)
		spec   kernel.BindingSpec
		text   string // "": it is loaded
		kind   phases.Kind
		closes bool
	}{
		"good": {},
		"nothing": {load: func(*kernel.Loaded) (*kernel.Loaded, error) { return nil, nil }, text: "could not be loaded",
			kind: phases.KindLoad},
		"no hook": {load: func(l *kernel.Loaded) (*kernel.Loaded, error) { l.Hook = nil; return l, nil },
			text: "could not be loaded", kind: phases.KindLoad},
		"a panic": {load: func(*kernel.Loaded) (*kernel.Loaded, error) { panic("odd") }, text: "could not be loaded",
			kind: phases.KindLoad},
		"a fault": {load: func(*kernel.Loaded) (*kernel.Loaded, error) {
			return nil, phases.NewFault(phases.KindMemory, "too large", nil)
		}, text: "too large", kind: phases.KindMemory},
		"a fault of policy": {load: func(*kernel.Loaded) (*kernel.Loaded, error) {
			return nil, phases.NewFault(phases.KindPolicy, "no", nil)
		}, text: "could not be loaded", kind: phases.KindLoad},
		"a fault of no kind": {load: func(*kernel.Loaded) (*kernel.Loaded, error) { return nil, &phases.Fault{Text: "no"} },
			text: "could not be loaded", kind: phases.KindLoad},
		"too high a priority": {spec: kernel.BindingSpec{Priority: kernel.TrustedPriority}, text: "a priority of 100 or more",
			kind: phases.KindLoad, closes: true},
		"as high as may be": {spec: kernel.BindingSpec{Priority: kernel.TrustedPriority - 1}},
		"high, trusted": {spec: kernel.BindingSpec{Priority: kernel.TrustedPriority, Tier: phases.Trusted},
			load: func(l *kernel.Loaded) (*kernel.Loaded, error) { l.Tier = phases.Trusted; return l, nil }},
		"bound as trusted": {spec: kernel.BindingSpec{Tier: phases.Trusted}, text: "bound as trusted and is not",
			kind: phases.KindLoad, closes: true},
		"another phase": {spec: kernel.BindingSpec{Phases: []phases.Phase{phases.PreTool, phases.Spawn}},
			text: "a phase that it does not serve", kind: phases.KindLoad, closes: true},
		"its phase": {spec: kernel.BindingSpec{Phases: preTool}},
		"a bad matcher": {load: func(l *kernel.Loaded) (*kernel.Loaded, error) {
			l.Match = tiers.Match{Tools: "("}
			return l, nil
		}, text: "matcher is not valid", kind: phases.KindLoad, closes: true},
		"a bad matcher, bound": {spec: kernel.BindingSpec{Match: &tiers.Match{Agents: "("}}, text: "matcher is not valid",
			kind: phases.KindLoad, closes: true},
		"a matcher over a bad one": {spec: kernel.BindingSpec{Match: &tiers.Match{}},
			load: func(l *kernel.Loaded) (*kernel.Loaded, error) { l.Match = tiers.Match{Tools: "("}; return l, nil }},
		"configured": {spec: kernel.BindingSpec{Config: jsontext.Value(`{"a":1}`)}},
		"badly configured": {spec: kernel.BindingSpec{Config: jsontext.Value(`{`)}, text: "configuration is not valid",
			kind: phases.KindLoad, closes: true},
		"a bad capability": {load: func(l *kernel.Loaded) (*kernel.Loaded, error) {
			l.Capabilities = []string{"odd"}
			return l, nil
		}, text: "capability is not valid", kind: phases.KindLoad, closes: true},
	} {
		t.Run(name, func(t *testing.T) {
			closed := 0
			c.spec.Name = "h"
			log, text := logger()
			k, err := kernel.Open(t.Context(), &kernel.Config{Revision: "r", Bindings: []kernel.BindingSpec{c.spec}},
				kernel.Options{Store: memory.New(), Redactor: fakeRedactor{}, Logger: log,
					Loader: loading(func(kernel.BindingSpec) (*kernel.Loaded, error) {
						l := good()
						l.Close = func() error { closed++; return nil }
						if c.load != nil {
							return c.load(l)
						}
						return l, nil
					})})
			if err != nil {
				t.Fatal(err)
			}
			v, err := k.Invoke(t.Context(), invocation(phases.PreTool))
			if c.text == "" {
				if v.Decision != phases.Allow || err != nil || closed != 0 || text.String() != "" {
					t.Errorf("%s %q, %v; closed %d times", v.Decision, v.Reason, err, closed)
				}
			} else if v.Decision != phases.Block || v.Kind != c.kind || !strings.Contains(v.Reason, c.text) ||
				(closed == 1) != c.closes || !strings.Contains(text.String(), "hook not loaded") {
				t.Errorf("%s %s %q, %v; closed %d times", v.Decision, v.Kind, v.Reason, err, closed)
			}
			if err := k.Close(); err != nil || (closed == 1) != (c.closes || c.text == "") {
				t.Errorf("%v, closed %d times", err, closed)
			}
		})
	}
}

// Budgets of a hook: the operator's, else the manifest's, else the default; up to the bound.
func TestTimeoutsOfHooks(t *testing.T) {
	most := kernel.MaxHookTimeout.Milliseconds()
	for _, c := range []struct {
		operator, wanted int64
		want             time.Duration
	}{
		{0, 0, kernel.DefaultHookTimeout}, {-1, 0, kernel.DefaultHookTimeout}, {1, 0, time.Millisecond},
		{0, 1, time.Millisecond}, {2, 1, 2 * time.Millisecond},
		{most, 0, kernel.MaxHookTimeout}, {most + 1, 0, kernel.MaxHookTimeout}, {1 << 62, 0, kernel.MaxHookTimeout},
	} {
		var got time.Duration
		k, err := kernel.Open(t.Context(),
			&kernel.Config{ChainBudget: time.Hour,
				Bindings: []kernel.BindingSpec{{Name: "h", Budget: tiers.Budget{DeadlineMS: c.operator}}}},
			kernel.Options{Store: memory.New(), Redactor: fakeRedactor{},
				Loader: loading(func(kernel.BindingSpec) (*kernel.Loaded, error) {
					return &kernel.Loaded{Phases: preTool, Budget: tiers.Budget{DeadlineMS: c.wanted},
						Hook: hookFunc(func(_ context.Context, t kernel.Turn) (kernel.Outcome, error) {
							got = t.Timeout
							return kernel.Outcome{}, nil
						})}, nil
				})})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Invoke(t.Context(), invocation(phases.PreTool)); err != nil || got != c.want {
			t.Errorf("operator %d, manifest %d: %v, want %v (%v)", c.operator, c.wanted, got, c.want, err)
		}
	}
}

// What Open and Reload refuse, and what they log of modules that do not close.
func TestOpenAndReloadRefuse(t *testing.T) {
	o := kernel.Options{Store: memory.New(), Redactor: fakeRedactor{}, Loader: loading(nil)}
	if _, err := kernel.Open(t.Context(), nil, o); !errors.Is(err, kernel.ErrConfig) {
		t.Errorf("%v", err)
	}
	if _, err := kernel.Open(t.Context(), &kernel.Config{}, kernel.Options{}); err == nil {
		t.Error("no options")
	}
	log, text := logger()
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Logger = log })
	if err := h.Reload(t.Context(), nil); !errors.Is(err, kernel.ErrConfig) {
		t.Errorf("%v", err)
	}
	if err := h.Reload(t.Context(), &kernel.Config{Bindings: []kernel.BindingSpec{{}}}); !errors.Is(err,
		kernel.ErrConfig) || h.Revision() != "rev-1" {
		t.Errorf("%v", err)
	}
	jam := errors.New("it jams")
	l := loading(func(kernel.BindingSpec) (*kernel.Loaded, error) {
		return &kernel.Loaded{Phases: preTool,
			Hook:  hookFunc(func(context.Context, kernel.Turn) (kernel.Outcome, error) { return kernel.Outcome{}, nil }),
			Close: func() error { return jam }}, nil
	})
	k, err := kernel.Open(t.Context(), &kernel.Config{Revision: "1", Bindings: []kernel.BindingSpec{{Name: "h"}}},
		kernel.Options{Store: memory.New(), Redactor: fakeRedactor{}, Loader: l, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Reload(t.Context(),
		&kernel.Config{Revision: "2", Bindings: []kernel.BindingSpec{{Name: "h"}}}); err != nil || k.Revision() != "2" ||
		!strings.Contains(text.String(), "closing modules") {
		t.Errorf("%v, logged %s", err, text)
	}
	if err := k.Close(); !errors.Is(err, jam) {
		t.Errorf("%v", err)
	}
	// Fail-open that cannot be announced is not used.
	for fails := range 2 {
		f := &faulty{Store: memory.New()}
		closed := false
		f.arm(2*fails, 0, false) // the second call: the notice; the first is the look at the newest event
		_, err := kernel.Open(t.Context(), &kernel.Config{Bindings: []kernel.BindingSpec{{Name: "h"}}},
			kernel.Options{Store: f, Redactor: fakeRedactor{}, UnsafeFailOpen: true,
				Loader: loading(func(spec kernel.BindingSpec) (*kernel.Loaded, error) {
					l, err := l(spec)
					l.Close = func() error { closed = true; return nil }
					return l, err
				})})
		if (err != nil) != (fails == 1) || closed != (fails == 1) {
			t.Errorf("%v, closed %v", err, closed)
		}
	}
}

// Nothing is done where it cannot be noted before.
func TestIntentsThatCannotBeNoted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"a file": file, "below a file": filepath.Join(file, "intents")} {
		var got []answer
		x := &tools{}
		h := newHost(t, []hook{toolAsker(&got, probeCall)}, withTools(x), journalIn(dir))
		v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
		if len(x.calls) != 0 || len(h.events(t, wire.Query{Type: phases.EventIntent})) != 0 || len(got) != 1 ||
			got[0].code >= 0 && v.Decision != phases.Block {
			t.Errorf("%s: ran %d times, %+v, %s %v", name, len(x.calls), got, v.Decision, err)
		}
		by := &caller{send: func(context.Context) (kernel.HTTPResult, error) { return kernel.HTTPResult{}, nil }}
		h = newHost(t,
			[]hook{{name: "caller", tier: phases.Trusted, caps: []string{"http_request"}, imports: []string{"http_request"},
				http: by,
				runCtx: func(ctx context.Context, tu kernel.Turn) (kernel.Outcome, error) {
					_, err := askFor(ctx, tu, "http_request", `{"url":"r"}`, 1000)
					return kernel.Outcome{}, err
				}}}, journalIn(dir))
		if v := h.fails(t, invocation(phases.PreTool), phases.KindStore); by.sent != 0 ||
			!strings.Contains(v.Reason, "could not be noted") {
			t.Errorf("%s: sent %d times, %q", name, by.sent, v.Reason)
		}
	}
}

// State of a hook: one read counts, the later write of a mutator counts, and how much there is.
func TestStateOfAHookThatRunsTwice(t *testing.T) {
	n := 0
	var used [2]int
	mutator := hook{name: "m", mutates: preTool, caps: []string{"block", "rewrite:/args", "state_put"},
		imports: []string{"block"}, run: func(tu kernel.Turn) (kernel.Outcome, error) {
			n++
			var err error
			if used[0], used[1], err = tu.Session.State.Usage(context.Background()); err != nil {
				return kernel.Outcome{}, err
			}
			_, version, err := tu.Session.State.Get(context.Background(), "k")
			if err != nil {
				return kernel.Outcome{}, err
			}
			out := kernel.Outcome{StateReads: []hostcalls.StateRead{{Key: "k", Version: version}},
				StateWrites: []hostcalls.StateWrite{{Key: "k", Value: []byte{byte('0' + n)}}}}
			if n == 1 {
				out.StateWrites = append(out.StateWrites, hostcalls.StateWrite{Key: "once", Value: []byte("first")})
			}
			return out, nil
		}}
	later := hook{name: "later", mutates: preTool, caps: []string{"rewrite:/args", "state_put"},
		run: func(kernel.Turn) (kernel.Outcome, error) {
			return kernel.Outcome{Effects: []phases.Effect{rewrite("/args/x", "1")},
				StateWrites: []hostcalls.StateWrite{{Key: "k", Value: []byte("other")}}}, nil
		}}
	h := newHost(t, []hook{mutator, later})
	h.allowed(t, invocation(phases.PreTool))
	if n != 2 {
		t.Fatalf("it ran %d times", n)
	}
	for key, want := range map[[2]string]string{{"m", "k"}: "2", {"m", "once"}: "first", {"later", "k"}: "other"} {
		if v, err := h.store.HookState(t.Context(), key[0], key[1]); err != nil || string(v.Value) != want {
			t.Errorf("%v: %q, %v, want %q", key, v.Value, err, want)
		}
	}
	if used != [2]int{} {
		t.Errorf("%v", used)
	}
	h.allowed(t, invocation(phases.PreTool))
	if used != [2]int{2, len("k") + len("2") + len("once") + len("first")} {
		t.Errorf("%v", used)
	}
}
