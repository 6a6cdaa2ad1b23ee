package kernel_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// counted is a redactor that counts how often it is given each document. What
// stands between < and > is a secret, and known from then on.
type counted struct {
	fakeRedactor
	mu   sync.Mutex
	docs map[string]int
	mems int
}

func (r *counted) Remember() kernel.Memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mems++
	return &countedMemory{r: r}
}

type countedMemory struct {
	r       *counted
	secrets []string
}

func (m *countedMemory) Known() int { return len(m.secrets) }

func (m *countedMemory) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	m.r.mu.Lock()
	m.r.docs[string(raw)]++
	m.r.mu.Unlock()
	out := bytes.Clone(raw)
	for _, s := range m.secrets { // secrets known before; the rest is for later
		out = bytes.ReplaceAll(out, []byte(s), []byte("[piece]"))
	}
	if _, s, ok := strings.Cut(string(raw), "<"); ok {
		s, _, _ = strings.Cut(s, ">")
		out = bytes.ReplaceAll(out, []byte("<"+s+">"), []byte("[redacted]"))
		if !strings.Contains(strings.Join(m.secrets, " "), s) {
			m.secrets = append(m.secrets, s)
		}
	}
	return m.r.fakeRedactor.JSON(out)
}

func (m *countedMemory) Text(s string) (string, error) { return m.r.fakeRedactor.Text(s) }

// with returns how often documents that hold the text were covered.
func (r *counted) with(text string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for doc, times := range r.docs {
		if strings.Contains(doc, text) {
			n += times
		}
	}
	return n
}

func newCounted(changes ...change) (*counted, change) {
	r := &counted{docs: map[string]int{}}
	return r, func(c *kernel.Config, o *kernel.Options) {
		o.Redactor = r
		for _, change := range changes {
			change(c, o)
		}
	}
}

// writing is a hook that leaves things behind which are covered before there is a record.
func writing(list ...phases.Effect) func(kernel.Turn) (kernel.Outcome, error) {
	return func(kernel.Turn) (kernel.Outcome, error) {
		return kernel.Outcome{Effects: list, StateWrites: []hostcalls.StateWrite{{Key: "k", Value: []byte("v")}}}, nil
	}
}

func TestEachDocumentIsCoveredOnce(t *testing.T) {
	mutates := []phases.Phase{phases.PreTool}
	writers := []hook{
		{name: "writes", caps: []string{"annotate", "state_put"}, run: writing(annotate("level", `"high"`))},
		{name: "writes too", caps: []string{"annotate", "state_put"}, run: writing(annotate("other", `"low"`))},
	}
	rewriter := hook{name: "rewrites", mutates: mutates, caps: []string{"rewrite:/args", "annotate"},
		run: effects(rewrite("/args/command", `"ls -la"`), annotate("was", `"changed"`))}
	failing := hook{name: "audits", phases: onAudit, caps: []string{"redact"}, run: failing(phases.KindTrap)}
	for name, c := range map[string]struct {
		hooks    []hook
		original int // documents with the action as it came in
		final    int // documents with the action as it was left
		decision phases.Decision
	}{
		"nobody writes":      {nil, 1, 0, phases.Allow},
		"two write":          {writers, 1, 0, phases.Allow},
		"rewritten":          {append([]hook{rewriter}, writers...), 1, 1, phases.Allow},
		"the audit fails":    {append([]hook{failing}, writers...), 1, 0, phases.Block},
		"rewritten, and so.": {append([]hook{failing, rewriter}, writers...), 1, 1, phases.Block},
	} {
		r, use := newCounted()
		h := newHost(t, c.hooks, use)
		v, _ := h.Invoke(t.Context(), invocation(phases.PreTool))
		if v.Decision != c.decision {
			t.Fatalf("%s: %+v", name, v)
		}
		if n := r.with(`"command":"ls"`); n != c.original {
			t.Errorf("%s: the action was covered %d times, want %d", name, n, c.original)
		}
		if n := r.with(`"action":{"tool":"exec","args":{"command":"ls -la"}}`); n != c.final {
			t.Errorf("%s: the action as it was left was covered %d times, want %d", name, n, c.final)
		}
		for doc, n := range r.docs {
			if n > 1 {
				t.Errorf("%s: covered %d times: %s", name, n, doc)
			}
		}
		if r.mems != 1 {
			t.Errorf("%s: %d memories", name, r.mems)
		}
		e := h.events(t, wire.Query{Type: phases.EventVerdict})[0]
		if c.decision == phases.Block {
			if e.Input != nil || e.Output != nil || e.InputDigest == "" || e.OutputDigest == "" {
				t.Errorf("%s: %+v", name, e)
			}
			continue
		}
		if got, _ := phases.GetString(e.Input, "/action/args/command"); got != "ls" {
			t.Errorf("%s: the log has the input %s", name, e.Input)
		}
		if got, ok := phases.GetString(e.Output, "/action/args/command"); ok != (c.final > 0) || ok && got != "ls -la" {
			t.Errorf("%s: the log has the output %s", name, e.Output)
		}
	}
}

// The record of the action is the same whether or not a hook has written something, digests and
// masks included.
func TestWritingChangesNothingOfTheInput(t *testing.T) {
	record := func(run func(kernel.Turn) (kernel.Outcome, error)) phases.Event {
		h := newHost(t, []hook{{name: "a", caps: []string{"annotate", "state_put"}, run: run}},
			func(_ *kernel.Config, o *kernel.Options) {
				o.Redactor = &counted{docs: map[string]int{}}
				o.Digester = plainDigests{}
			})
		inv := invocation(phases.PreTool)
		inv.CWD, inv.Time = "/home/dev/project", h.clock.Now()
		inv.Action = jsontext.Value(`{"tool":"exec","args":{"command":"echo SECRET"}}`)
		h.invoke(t, inv)
		e := h.events(t, wire.Query{Type: phases.EventVerdict})[0]
		return phases.Event{Input: e.Input, InputDigest: e.InputDigest, Masked: e.Masked}
	}
	quiet, wrote := record(nil), record(writing(annotate("level", `"high"`)))
	if diff := cmp.Diff(quiet, wrote); diff != "" {
		t.Errorf("(-quiet +wrote)\n%s", diff)
	}
	if len(wrote.Masked) != 1 || !strings.Contains(string(wrote.Input), "[redacted]") {
		t.Errorf("covered: %+v", wrote)
	}
}

type plainDigests struct{}

func (plainDigests) Digest(use string, b []byte) string { return use + ":" + string(b) }

// A redactor that has learned a secret since the action was covered finds its
// pieces in the action, too.
func TestWhatWasLearnedLaterIsCovered(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		wrote   phases.Effect
	}{
		"from the action":    {"echo half; echo <half>", annotate("level", `"high"`)},
		"from an annotation": {"echo half", annotate("level", `"<half>"`)},
	} {
		r, use := newCounted()
		h := newHost(t, []hook{{name: "a", caps: []string{"annotate", "state_put"}, run: writing(c.wrote)}}, use)
		inv := invocation(phases.PreTool)
		inv.Action = jsontext.Value(`{"tool":"exec","args":{"command":"` + c.command + `"}}`)
		h.invoke(t, inv)
		if n := r.with(`"args"`); n != 2 {
			t.Errorf("%s: covered %d times, want 2", name, n)
		}
		if e := h.events(t, wire.Query{Type: phases.EventVerdict})[0]; strings.Contains(string(e.Input), "half") {
			t.Errorf("%s: logged: %s", name, e.Input)
		}
	}
}

// Another attempt finds other metadata, and redacts it.
func TestEachAttemptIsCoveredOnce(t *testing.T) {
	r, use := newCounted(func(_ *kernel.Config, o *kernel.Options) { o.Store = &meddler{o.Store, 2} })
	h := newHost(t, []hook{{name: "c", run: counting(annotate("level", `"high"`)), caps: []string{"annotate"}}}, use)
	h.invoke(t, invocation(phases.PreTool))
	if n := r.with(`"command"`); n != 3 {
		t.Errorf("covered %d times in 3 attempts", n)
	}
	if e := h.events(t, wire.Query{Type: phases.EventVerdict}); len(e) != 1 || e[0].Input == nil {
		t.Errorf("events %+v", e)
	}
}

// An action that cannot be covered is not stored, and blocked, however early that
// was found; no process tries a second time.
func TestAnActionThatCannotBeCovered(t *testing.T) {
	for name, run := range map[string]func(kernel.Turn) (kernel.Outcome, error){
		"found late": nil, "found early": writing(annotate("level", `"high"`)),
	} {
		r, use := newCounted()
		h := newHost(t, []hook{{name: "a", caps: []string{"annotate", "state_put"}, run: run}}, use)
		inv := invocation(phases.PreTool)
		inv.Action = jsontext.Value(`{"tool":"exec","args":{"command":"EXPLODE"}}`)
		v, err := h.Invoke(t.Context(), inv)
		if v.Decision != phases.Block || v.Kind != phases.KindAudit || !errors.Is(err, errExplode) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		for _, e := range h.events(t, wire.Query{}) {
			if e.Input != nil || e.Output != nil || e.InputDigest == "" {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if n := r.with("EXPLODE"); n != 1 {
			t.Errorf("%s: tried %d times", name, n)
		}
	}
}
