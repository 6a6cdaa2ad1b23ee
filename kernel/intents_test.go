package kernel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// refusing is a store that does not write batches with an event of the type.
type refusing struct {
	kernel.Store
	typ phases.EventType
}

func (s *refusing) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if slices.ContainsFunc(b.Events, func(e phases.Event) bool { return e.Type == s.typ }) {
		return kernel.Receipt{}, kernel.ErrUnavailable
	}
	return s.Store.Commit(ctx, b)
}

func refuse(typ phases.EventType) change {
	return func(_ *kernel.Config, o *kernel.Options) { o.Store = &refusing{o.Store, typ} }
}

func journalIn(dir string) change {
	return func(_ *kernel.Config, o *kernel.Options) { o.IntentDir = dir }
}

// Nothing runs that is not logged first, and a result whose outcome is not
// logged reaches no caller.
func TestToolCallsAndAStoreThatFails(t *testing.T) {
	for typ, ran := range map[phases.EventType]int{phases.EventIntent: 0, phases.EventOutcome: 1} {
		var got []answer
		x := &tools{}
		dir := filepath.Join(t.TempDir(), "intents")
		h := newHost(t, []hook{toolAsker(&got, probeCall)}, withTools(x), refuse(typ), journalIn(dir))
		v := h.fails(t, invocation(phases.PreTool), phases.KindStore)
		if len(x.calls) != ran || got[0] != (answer{}) || v.Decision != phases.Block {
			t.Errorf("%s cannot be written: ran %d times, %+v", typ, len(x.calls), got)
		}
		if left := intentNotes(t, dir); len(left) != ran {
			t.Errorf("%s: notes %v", typ, left)
		}
	}
}

func intentNotes(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	return append(list, hidden...)
}

// A note of a process that lives is left alone; one of a process that is gone
// becomes an outcome, once.
func TestIntentsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	var got []answer
	x := &tools{}
	hooks := []hook{toolAsker(&got, probeCall)}
	h := newHost(t, hooks, withTools(x), journalIn(dir))
	again := func() { // another process on the same store
		newHost(t, hooks, journalIn(dir), func(_ *kernel.Config, o *kernel.Options) { o.Store = h.store })
	}
	outcomes := func() (list []string) {
		for _, e := range h.events(t, wire.Query{Type: phases.EventOutcome}) {
			list = append(list, e.Decision)
		}
		return list
	}
	var kept []byte
	var name string
	x.call = func(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
		again()
		if list := outcomes(); list != nil {
			t.Errorf("a call that is under way was given up: %v", list)
		}
		left := intentNotes(t, dir)
		if len(left) != 1 {
			t.Fatalf("notes %v", left)
		}
		name = left[0]
		var err error
		if kept, err = os.ReadFile(name); err != nil || strings.Contains(string(kept), "SECRET") {
			t.Errorf("note %s, %v", kept, err)
		}
		return kernel.ToolResult{Result: jsontext.Value("1")}, nil
	}
	h.invoke(t, invocation(phases.PreTool))
	wantOrder(t, outcomes(), "ok")
	if left := intentNotes(t, dir); len(left) != 0 {
		t.Errorf("notes %v", left)
	}

	// The process died after its outcome, and before it took the note away.
	write := func(name string, b []byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(name, kept)
	again()
	wantOrder(t, outcomes(), "ok")

	// It died before its outcome: the store holds the intent only.
	old := h.store
	before := old
	h = newHost(t, hooks, withTools(x), refuse(phases.EventOutcome), journalIn(dir))
	x.call = nil
	_, _ = h.Invoke(t.Context(), invocation(phases.PreTool))
	h.store = h.store.(*refusing).Store
	if left := intentNotes(t, dir); len(left) != 1 {
		t.Fatalf("notes %v", left)
	}
	// A store that takes no outcome now leaves the note for the next start.
	newHost(t, hooks, journalIn(dir), func(_ *kernel.Config, o *kernel.Options) { o.Store = h.store },
		refuse(phases.EventOutcome))
	if left := intentNotes(t, dir); len(left) != 1 {
		t.Fatalf("notes %v", left)
	}
	again()
	again()
	es := h.events(t, wire.Query{Type: phases.EventOutcome})
	intent := h.events(t, wire.Query{Type: phases.EventIntent})[0]
	if len(es) != 1 || es[0].Decision != kernel.OutcomeUnknown || es[0].Intent != intent.ID || es[0].Tool != "probe" ||
		es[0].Binding != "asker" || es[0].Reason == "" || es[0].Input != nil {
		t.Errorf("outcome %+v", es)
	}
	if left := intentNotes(t, dir); len(left) != 0 {
		t.Errorf("notes %v", left)
	}

	// It died before its intent was committed, or in the middle of writing the note.
	h.store = before
	write(name, kept)
	write(filepath.Join(dir, "01900000-0000-7000-8000-000000000000.json"), []byte(`{"id`))
	write(filepath.Join(dir, ".new-1"), nil)
	h = newHost(t, hooks, journalIn(dir))
	if left := intentNotes(t, dir); len(left) != 0 || len(h.events(t, wire.Query{Except: phases.EventNotice})) != 0 {
		t.Errorf("notes %v, events %+v", left, h.events(t, wire.Query{}))
	}
}

// caller is an HTTPCaller that says what its test wants.
type caller struct {
	sent int
	send func(context.Context) (kernel.HTTPResult, error)
}

func (c *caller) Prepare(request jsontext.Value) (kernel.HTTPCall, error) {
	if strings.Contains(string(request), "forbidden") {
		return kernel.HTTPCall{}, &hostcalls.Refusal{Errno: hostcalls.Denied, Reply: jsontext.Value(`{"reason":"host"}`)}
	}
	return kernel.HTTPCall{Record: request, Send: func(ctx context.Context) (kernel.HTTPResult, error) {
		c.sent++
		return c.send(ctx)
	}}, nil
}

func TestHTTPRequestsAreRecorded(t *testing.T) {
	for _, c := range []struct {
		name, request, outcome string
		code                   int64
		kind                   phases.Kind
		res                    kernel.HTTPResult
		err                    error
		change                 change
		sent                   int
	}{
		{name: "ok", request: `{"url":"https://a/?k=SECRET"}`, outcome: "ok", code: 7,
			res:  kernel.HTTPResult{Reply: jsontext.Value(`{"a":1}`), Summary: jsontext.Value(`{"s":"SECRET"}`), Outcome: "ok"},
			sent: 1},
		{name: "host", request: `{"url":"forbidden"}`, code: int64(hostcalls.Denied)},
		{name: "refused on the way", request: `{"url":"r"}`, code: int64(hostcalls.TooLarge), outcome: "error",
			err: hostcalls.TooLarge, sent: 1},
		{name: "broken", request: `{"url":"r"}`, kind: phases.KindHostcall, outcome: "error", err: errors.New("SECRET cause"),
			sent: 1},
		{name: "no JSON", request: `{"url":"r"}`, kind: phases.KindHostcall, outcome: "error", sent: 1},
		{name: "intent not written", request: `{"url":"r"}`, kind: phases.KindStore, change: refuse(phases.EventIntent)},
		{name: "outcome not written", request: `{"url":"r"}`, kind: phases.KindStore, change: refuse(phases.EventOutcome),
			res: kernel.HTTPResult{Reply: jsontext.Value(`{}`), Outcome: "ok"}, sent: 1},
		{name: "cannot be covered", request: `{"url":"EXPLODE"}`, kind: phases.KindAudit},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got answer
			by := &caller{send: func(context.Context) (kernel.HTTPResult, error) { return c.res, c.err }}
			change := c.change
			if change == nil {
				change = func(*kernel.Config, *kernel.Options) {}
			}
			dir := t.TempDir()
			h := newHost(t,
				[]hook{{name: "caller", tier: phases.Trusted, caps: []string{"http_request"}, imports: []string{"http_request"},
					http: by,
					runCtx: func(ctx context.Context, tu kernel.Turn) (kernel.Outcome, error) {
						var err error
						got, err = askFor(ctx, tu, "http_request", c.request, 1000)
						return kernel.Outcome{}, err
					}}}, change, journalIn(dir))
			v, err := h.InvokeWith(t.Context(), invocation(phases.PreTool), kernel.InvokeOptions{})
			if f := phases.FaultOf(err); (f != nil) != (c.kind != "") || f != nil && f.Kind != c.kind {
				t.Fatalf("%v %+v", err, v)
			}
			if by.sent != c.sent || got.code != c.code {
				t.Errorf("sent %d times, answer %+v", by.sent, got)
			}
			var list []string
			for _, e := range h.events(t, wire.Query{}) {
				if strings.Contains(string(e.Input)+string(e.Output)+e.Reason, "SECRET") {
					t.Errorf("logged: %+v", e)
				}
				if e.Type == phases.EventOutcome {
					list = append(list, e.Decision)
				}
			}
			if c.outcome != "" && !slices.Equal(list, []string{c.outcome}) || c.outcome == "" && list != nil {
				t.Errorf("outcomes %v", list)
			}
			if left := intentNotes(t, dir); (len(left) != 0) != (c.name == "outcome not written") {
				t.Errorf("notes %v", left)
			}
		})
	}
}

func TestHTTPRequestWithoutHosts(t *testing.T) {
	var got answer
	h := newHost(t,
		[]hook{{name: "caller", tier: phases.Trusted, caps: []string{"http_request"}, imports: []string{"http_request"},
			runCtx: func(ctx context.Context, tu kernel.Turn) (kernel.Outcome, error) {
				var err error
				got, err = askFor(ctx, tu, "http_request", `{"url":"https://a"}`, 1000)
				return kernel.Outcome{}, err
			}}})
	h.invoke(t, invocation(phases.PreTool))
	if got.code != int64(hostcalls.Denied) {
		t.Errorf("%+v", got)
	}
}
