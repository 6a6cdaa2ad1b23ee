package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// plain redacts nothing: what leaves the machine must not depend on it.
type plain struct{}

func (plain) JSON(raw jsontext.Value) (jsontext.Value, []string, error) { return raw, nil, nil }
func (plain) Text(s string) (string, error)                             { return s, nil }

type hookFunc func(context.Context, kernel.Turn) (kernel.Outcome, error)

func (f hookFunc) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) { return f(ctx, t) }

// hooks are by name what a binding's module does.
type hooks map[string]hookFunc

func (h hooks) Load(_ context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	return &kernel.Loaded{
		Hook: h[spec.Name], Digest: "sha256:" + strings.Repeat("ab", 32), Version: "1.2.3", Tier: phases.Sandboxed,
		Phases: []phases.Phase{phases.PreTool}, Capabilities: []string{"block"}, Close: func() error { return nil },
	}, nil
}

func fuel(n int64, effects ...phases.Effect) hookFunc {
	return func(context.Context, kernel.Turn) (kernel.Outcome, error) {
		return kernel.Outcome{Fuel: n, MemoryPeak: 65536, Hostcalls: 2, Effects: effects}, nil
	}
}

func open(t testing.TB, o kernel.Observer, h hooks, names ...string) *kernel.Kernel {
	t.Helper()
	cfg := &kernel.Config{Revision: "rev-1"}
	for i, n := range names {
		cfg.Bindings = append(cfg.Bindings, kernel.BindingSpec{Name: n, Module: n, Priority: -i})
	}
	k, err := kernel.Open(t.Context(), cfg, kernel.Options{Store: memory.New(), Loader: h, Redactor: plain{}, Observer: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

const (
	callerTrace = "0af7651916cd43dd8448eb211c80319c"
	callerSpan  = "b7ad6b7169203331"
)

func call(tool, command string) phases.Invocation {
	return phases.Invocation{
		Phase: phases.PreTool, Runtime: "custom", Session: "session-SECRET", Agent: "agent-SECRET", User: "user-SECRET",
		Run:         "run-SECRET",
		CWD:         "/home/SECRET",
		Action:      jsontext.Value(fmt.Sprintf(`{"tool":%q,"call_id":"c-SECRET","args":{"command":%q}}`, tool, command)),
		Traceparent: "00-" + callerTrace + "-" + callerSpan + "-01",
	}
}

// clean removes what the machine's own environment says about telemetry.
func clean(t testing.TB) {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
}

func start(t *testing.T, endpoint string) *Telemetry {
	t.Helper()
	clean(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	tel, err := Open(t.Context(), Options{Getenv: os.Getenv, Version: "v0"})
	if err != nil || tel == nil {
		t.Fatalf("Open: %v, %v", tel, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = tel.Shutdown(ctx)
	})
	return tel
}

func flush(t *testing.T, tel *Telemetry) {
	t.Helper()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
}

func TestSpansJoinTheCallersTrace(t *testing.T) {
	c := newCollector(t)
	tel := start(t, c.URL)
	k := open(t, tel.Observer(), hooks{
		"counter": fuel(1234), "guard": fuel(99, phases.Effect{Kind: phases.EffectBlock, Text: "because SECRET"}),
	}, "counter", "guard")
	v, err := k.Invoke(t.Context(), call("exec", "echo SECRET"))
	if err != nil || v.Decision != phases.Block {
		t.Fatalf("%s, %v", v.Decision, err)
	}
	flush(t, tel)
	root := c.span(t, "belay pre_tool")
	if id(root.TraceId) != callerTrace || id(root.ParentSpanId) != callerSpan {
		t.Errorf("the invocation's span is in trace %x under %x", root.TraceId, root.ParentSpanId)
	}
	for _, n := range []string{"hook counter", "hook guard"} {
		s := c.span(t, n)
		if id(s.TraceId) != callerTrace || id(s.ParentSpanId) != id(root.SpanId) {
			t.Errorf("%s is in trace %x under %x, not under the invocation's %x", n, s.TraceId, s.ParentSpanId, root.SpanId)
		}
		if s.StartTimeUnixNano < root.StartTimeUnixNano || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s lasts from %d to %d, the invocation from %d to %d", n, s.StartTimeUnixNano, s.EndTimeUnixNano,
				root.StartTimeUnixNano, root.EndTimeUnixNano)
		}
		if s.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET {
			t.Errorf("%s has the status %v: to say no is no failure", n, s.Status)
		}
	}
	got := map[string]string{}
	for _, key := range []string{"belay.decision", "belay.kind", "belay.decided_by", "belay.tool", "gen_ai.tool.name",
		"gen_ai.operation.name", "belay.invocation", "belay.event.id", "belay.recorded"} {
		got[key] = attr(root.Attributes, key)
	}
	want := map[string]string{"belay.decision": "block", "belay.kind": "policy", "belay.decided_by": "guard",
		"belay.tool": "exec", "gen_ai.tool.name": "exec", "gen_ai.operation.name": "",
		"belay.invocation": v.ID, "belay.event.id": v.Event.ID, "belay.recorded": "true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.service != "belay" {
		t.Errorf("service.name is %q", c.service)
	}
}

func TestMetrics(t *testing.T) {
	c := newCollector(t)
	tel := start(t, c.URL)
	k := open(t, tel.Observer(), hooks{
		"counter": fuel(1234),
		"breaks": func(_ context.Context, turn kernel.Turn) (kernel.Outcome, error) {
			if bytes.Contains(turn.Session.Action, []byte("fork")) {
				return kernel.Outcome{Fuel: 7}, phases.NewFault(phases.KindFuel, "out of fuel with SECRET", errors.New("SECRET"))
			}
			return kernel.Outcome{}, nil
		},
	}, "counter", "breaks")
	for _, command := range []string{"ls", "pwd", "fork"} {
		_, _ = k.Invoke(t.Context(), call("exec", command))
	}
	bad := call("exec", "x")
	bad.Action = nil
	_, _ = k.Invoke(t.Context(), bad)
	flush(t, tel)
	for _, check := range []struct {
		metric string
		by     []string
		want   map[string]int64
	}{
		{"belay.decisions", []string{"belay.phase", "belay.decision"},
			map[string]int64{"pre_tool allow": 2, "pre_tool block": 2}},
		{"belay.failures", []string{"belay.kind"}, map[string]int64{"fuel": 1, "protocol": 1}},
		{"belay.invocation.duration", []string{"belay.phase"}, map[string]int64{"pre_tool": 4}},
		{"belay.invocations.running", []string{"belay.phase"}, map[string]int64{"pre_tool": 0}},
		{"belay.hook.turns", []string{"belay.hook.name", "belay.hook.decision", "belay.kind"},
			map[string]int64{"counter none ": 3, "breaks none ": 2, "breaks error fuel": 1}},
		{"belay.hook.duration", []string{"belay.hook.name"}, map[string]int64{"counter": 3, "breaks": 3}},
		{"belay.hook.fuel", []string{"belay.hook.name"}, map[string]int64{"counter": 3, "breaks": 3}},
		{"belay.hook.memory", []string{"belay.hook.name"}, map[string]int64{"counter": 3, "breaks": 3}},
	} {
		if diff := cmp.Diff(check.want, c.points(t, check.metric, check.by...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", check.metric, diff)
		}
	}
}

func TestFailuresAreMarkedAndNothingOfTheActionLeaves(t *testing.T) {
	c := newCollector(t)
	tel := start(t, c.URL)
	k := open(t, tel.Observer(), hooks{
		"breaks": func(context.Context, kernel.Turn) (kernel.Outcome, error) {
			return kernel.Outcome{FailText: "SECRET"}, phases.NewFault(phases.KindTrap, "trap at SECRET", errors.New("SECRET"))
		},
	}, "breaks")
	if v, _ := k.Invoke(t.Context(), call("exec", "echo SECRET")); v.Kind != phases.KindTrap {
		t.Fatalf("kind %s", v.Kind)
	}
	_, _ = k.Refuse(t.Context(), kernel.Refusal{Invocation: call("exec", "SECRET"), Raw: []byte("SECRET"),
		Fault: phases.NewFault(phases.KindProtocol, "no SECRET", errors.New("SECRET"))})
	flush(t, tel)
	s := c.span(t, "hook breaks")
	if s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || s.Status.GetMessage() != "trap" ||
		attr(s.Attributes, "error.type") != "trap" {
		t.Errorf("a hook that failed has the status %v", s.Status)
	}
	if bytes.Contains(c.raw.Bytes(), []byte("SECRET")) {
		t.Errorf("something of the action has left: %q", c.raw.Bytes())
	}
}

func TestNamesAreMadeSafe(t *testing.T) {
	c := newCollector(t)
	tel := start(t, c.URL)
	k := open(t, tel.Observer(), hooks{})
	_, _ = k.Invoke(t.Context(), call("evil\r\n\x1b[31m\x00"+strings.Repeat("x", 200), "ls"))
	bad := call("exec", "ls")
	bad.Traceparent = "00-zz\r\n"
	bad.Phase = "\x1b[2J"
	_, _ = k.Invoke(t.Context(), bad)
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	secret := call(token, "ls")
	secret.Phase, secret.Action = phases.PostTool, []byte(`{"tool":"`+token+`","call_id":"c","args":{}}`)
	secret.Runtime, secret.Agent, secret.Session = token, token, token
	_, _ = k.Invoke(t.Context(), secret)
	flush(t, tel)
	if bytes.Contains(c.raw.Bytes(), []byte(token)) || !bytes.Contains(c.raw.Bytes(), []byte("[redacted:github-token]")) {
		t.Errorf("a name that is a secret has left: %q", c.raw.Bytes())
	}
	for _, s := range []*tracepb.Span{c.span(t, "belay pre_tool"), c.span(t, "belay unknown")} {
		for _, a := range s.Attributes {
			if v := a.Value.GetStringValue(); strings.ContainsAny(v, "\r\n\x1b\x00") || len(v) > 160 {
				t.Errorf("%s is %q", a.Key, v)
			}
		}
	}
}

func TestNothingIsStartedWithoutVariables(t *testing.T) {
	clean(t)
	for _, env := range []map[string]string{
		{},
		{"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_SAMPLER": "always_on"},
		{"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none",
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
		{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
		{"OTEL_METRICS_EXPORTER": "prometheus"}, // of no use to a process that ends at once
	} {
		before := runtime.NumGoroutine()
		tel, err := Open(t.Context(), Options{Getenv: func(k string) string { return env[k] }})
		if tel != nil || err != nil {
			t.Errorf("%v started something: %v", env, err)
		}
		if tel.Observer() != nil {
			t.Errorf("%v: an observer", env)
		}
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%v: %d goroutines became %d", env, before, after)
		}
	}
}

func TestVariablesThatCannotBeFollowed(t *testing.T) {
	clean(t)
	for _, env := range []map[string]string{
		{"OTEL_TRACES_EXPORTER": "console"}, {"OTEL_METRICS_EXPORTER": "console"}, {"OTEL_TRACES_EXPORTER": "zipkin"},
		{"OTEL_TRACES_EXPORTER": "otlp,console"},
	} {
		tel, err := Open(t.Context(), Options{Getenv: func(k string) string { return env[k] }})
		if tel != nil || !errors.Is(err, ErrVariables) {
			t.Errorf("%v: %v, %v", env, tel, err)
		}
	}
}

// A collector that takes connections and never answers is the worst one: verdicts
// come all the same, however many, and the end comes in time.
func TestAHangingCollectorDelaysNoAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // nothing ever accepts: the kernel's backlog takes the connections
	tel := start(t, "http://"+l.Addr().String())
	k := open(t, tel.Observer(), hooks{"counter": fuel(1)}, "counter")
	const many = 3000 // more spans than the queue holds
	for range many {
		if v, err := k.Invoke(t.Context(), call("exec", "ls")); err != nil || v.Decision != phases.Allow {
			t.Fatalf("%s, %v", v.Decision, err)
		}
	}
	// The exporter's own patience is 10 s; this one is shorter, and it counts.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- tel.Shutdown(ctx) }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("what was not sent is lost without a word")
		}
	case <-time.After(8 * time.Second):
		t.Error("Shutdown waits for the collector")
	}
}

func TestACollectorThatIsNotThereIsSaidOnce(t *testing.T) {
	var log bytes.Buffer
	c := &complaints{log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 100 {
		c.Handle(errors.New("connection refused"))
	}
	if n := strings.Count(log.String(), "connection refused"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
}

func TestTheQueueIsMeasured(t *testing.T) {
	c := newCollector(t)
	tel := start(t, c.URL)
	if err := tel.WatchQueue(func() (int64, int64) { return 3, 17 }); err != nil {
		t.Fatal(err)
	}
	if err := tel.WatchConnections(func() Connections {
		return Connections{Open: 5, GaveWay: 7, AllTaken: 11, NoDescriptor: 13}
	}); err != nil {
		t.Fatal(err)
	}
	flush(t, tel)
	for name, want := range map[string]int64{"belay.queue.waiting": 3, "belay.queue.refused": 17,
		"belay.connections.open": 5, "belay.connections.gave_way": 7} {
		if got := c.points(t, name)[""]; got != want {
			t.Errorf("%s is %d, not %d", name, got, want)
		}
	}
	if got := c.points(t, "belay.connections.exhausted", "belay.cause"); got["connections"] != 11 ||
		got["descriptors"] != 13 {
		t.Errorf("exhausted: %v", got)
	}
	var none *Telemetry
	if err := none.WatchConnections(nil); err != nil {
		t.Error(err)
	}
	if err := none.WatchQueue(nil); err != nil {
		t.Error(err)
	}
}

func TestWhatWaitsForAPersonIsMeasured(t *testing.T) {
	c := newCollector(t)
	tel := start(t, c.URL)
	counts := map[string]int{"ask": 2, "unknown": 7}
	if err := tel.WatchApprovals([]string{"ask", "lease"}, func(context.Context) (map[string]int, error) {
		return counts, nil
	}); err != nil {
		t.Fatal(err)
	}
	flush(t, tel)
	got := c.points(t, "belay.approvals.pending", "belay.approval.kind")
	if want := map[string]int64{"ask": 2, "lease": 0}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var none *Telemetry
	if err := none.WatchApprovals(nil, nil); err != nil {
		t.Error(err)
	}
}
