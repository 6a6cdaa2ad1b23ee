package kernel_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// learning is a redactor that keeps in mind what stands between « and », wherever it meets
// that, and covers it from then on. It fails on the word EXPLODE, once it knows a secret.
type learning struct{ fakeRedactor }

func (learning) Remember() kernel.Memory { return &learned{} }

type learned struct{ secrets []string }

func (m *learned) Known() int { return len(m.secrets) }

func (m *learned) cover(s string) (string, bool, error) {
	was := s
	for rest := s; ; {
		_, after, ok := strings.Cut(rest, "«")
		if !ok {
			break
		}
		secret, more, _ := strings.Cut(after, "»")
		if !strings.Contains(strings.Join(m.secrets, " "), secret) {
			m.secrets = append(m.secrets, secret)
		}
		rest = more
	}
	for _, secret := range m.secrets {
		s = strings.ReplaceAll(s, secret, "[redacted]")
	}
	if len(m.secrets) > 0 && strings.Contains(s, "EXPLODE") {
		return s, false, errExplode
	}
	return s, s != was, nil
}

func (m *learned) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	s, changed, err := m.cover(string(raw))
	if !changed {
		return raw, nil, err
	}
	return jsontext.Value(s), []string{"/somewhere"}, err
}

func (m *learned) Text(s string) (string, error) {
	out, _, err := m.cover(s)
	return out, err
}

// A secret that only the record shows is also redacted in values written before it; a name that
// turns out to be one blocks.
func TestSecretsThatOnlyTheRecordShows(t *testing.T) {
	state := func(key, value string, gone bool) hostcalls.StateWrite {
		return hostcalls.StateWrite{Key: key, Value: []byte(value), Delete: gone}
	}
	for name, c := range map[string]struct {
		effects  []phases.Effect
		writes   []hostcalls.StateWrite
		kind     phases.Kind // "": allowed
		metadata string      // of the run, afterwards
		stored   string      // of the state's key k
	}{
		"nothing written":       {},
		"a value":               {effects: []phases.Effect{annotate("k", `"is hush"`)}, metadata: `"is [redacted]"`},
		"a name":                {effects: []phases.Effect{annotate("hush", `1`)}, kind: phases.KindOutput},
		"state":                 {writes: []hostcalls.StateWrite{state("k", "is hush", false)}, stored: "is [redacted]"},
		"state that is no text": {writes: []hostcalls.StateWrite{state("k", "hush\xff", false)}, stored: "hush\xff"},
		"a name of state":       {writes: []hostcalls.StateWrite{state("hush", "v", false)}, kind: phases.KindOutput},
		"a name of state, gone": {writes: []hostcalls.StateWrite{state("hush", "", true)}},
		"a value that fails":    {effects: []phases.Effect{annotate("k", `"EXPLODE"`)}, kind: phases.KindAudit},
		"state that fails":      {writes: []hostcalls.StateWrite{state("k", "EXPLODE", false)}, kind: phases.KindAudit},
		"a name that fails":     {effects: []phases.Effect{annotate("EXPLODE", `1`)}, kind: phases.KindAudit},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t,
				[]hook{{name: "h", caps: []string{"annotate", "state_put"}, run: func(kernel.Turn) (kernel.Outcome, error) {
					return kernel.Outcome{Effects: c.effects, StateWrites: c.writes,
						Logs: []hostcalls.LogEntry{{Text: "it is «hush»"}}}, nil
				}}}, func(_ *kernel.Config, o *kernel.Options) { o.Redactor = learning{} })
			inv := invocation(phases.PreTool)
			v, err := h.Invoke(t.Context(), inv)
			checkComplete(t, v)
			if c.kind == "" && (v.Decision != phases.Allow || err != nil) || c.kind != "" &&
				(v.Decision != phases.Block || v.Kind != c.kind || err == nil) {
				t.Errorf("%s %s %q, %v", v.Decision, v.Kind, v.Reason, err)
			}
			run, err := h.store.RunState(t.Context(), inv.RunKey(), h.clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			if got := string(run.Metadata["k"].Value); got != c.metadata || c.kind != "" && len(run.Metadata) != 0 ||
				c.metadata != "" && string(v.Metadata["k"].Value) != c.metadata {
				t.Errorf("metadata %s, %+v, want %s", got, run.Metadata, c.metadata)
			}
			s, err := h.store.HookState(t.Context(), "h", "k")
			if err != nil || string(s.Value) != c.stored {
				t.Errorf("state %q, %v, want %q", s.Value, err, c.stored)
			}
			for _, e := range h.events(t, wire.Query{}) {
				if raw, err := json.Marshal(&e); err != nil || bytes.Contains(raw, []byte("«hush»")) ||
					bytes.Contains(raw, []byte("is hush")) {
					t.Errorf("logged: %s, %v", raw, err)
				}
			}
		})
	}
}

// Names of a turn that hold a secret block it, and so do those that cannot be looked at.
func TestSecretsAsNames(t *testing.T) {
	for name, kind := range map[string]phases.Kind{"SECRET": phases.KindOutput, "EXPLODE": phases.KindAudit, "fine": ""} {
		for what, out := range map[string]kernel.Outcome{
			"metadata": {Effects: []phases.Effect{annotate(name, "1")}},
			"state":    {StateWrites: []hostcalls.StateWrite{{Key: name, Value: []byte("v")}}},
			"gone":     {StateWrites: []hostcalls.StateWrite{{Key: name, Delete: true}}},
		} {
			h := newHost(t,
				[]hook{{name: "h", caps: []string{"annotate", "state_put"}, run: func(kernel.Turn) (kernel.Outcome, error) {
					return out, nil
				}}})
			v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
			want := kind
			if what == "gone" {
				want = ""
			}
			if v.Kind != want || (err != nil) != (want != "") {
				t.Errorf("%s as a name of %s: %s %s %q, %v", name, what, v.Decision, v.Kind, v.Reason, err)
			}
		}
	}
}

// The names of an invocation that cannot be covered are not stored, and nothing is decided.
func TestNamesThatCannotBeCovered(t *testing.T) {
	for name, set := range map[string]func(*phases.Invocation, string){
		"runtime": func(i *phases.Invocation, s string) { i.Runtime = strings.ToLower(s) },
		"session": func(i *phases.Invocation, s string) { i.Session = s },
		"agent":   func(i *phases.Invocation, s string) { i.Agent = s },
		"run":     func(i *phases.Invocation, s string) { i.Run = s },
		"user":    func(i *phases.Invocation, s string) { i.User = s },
	} {
		if name == "runtime" {
			continue // its letters are too few for the words of the test's redactor
		}
		h := newHost(t, nil)
		inv := invocation(phases.PreTool)
		set(&inv, "the SECRET")
		v := h.invoke(t, inv)
		e := h.events(t, wire.Query{Type: phases.EventVerdict})[0]
		shown := map[string]string{"session": e.Session, "agent": e.Agent, "run": e.Run, "user": e.User}[name]
		if v.Decision != phases.Allow || shown != "the [redacted]" {
			t.Errorf("%s: %q", name, shown)
		}
		set(&inv, "the EXPLODE")
		h.fails(t, inv, phases.KindAudit)
		list := h.events(t, wire.Query{Type: phases.EventFailure})
		if len(list) != 1 || list[0].Session != "" || list[0].Agent != "" || list[0].Run != "" || list[0].User != "" ||
			list[0].Runtime != "" || list[0].Phase != phases.PreTool {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

// Words that a person decides by and that a secret hides are named, and the item can only be denied.
func TestHiddenWordsAreNamed(t *testing.T) {
	inv := invocation(phases.PreTool)
	inv.Action = jsontext.Value(
		`{"tool":"write","args":{"file_path":"/srv/hush","content":"«hush»","hush_path":"x/hush"}}`)
	h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Redactor = learning{} })
	v := h.invoke(t, inv)
	if v.Decision != phases.Ask ||
		!strings.Contains(strings.Join(v.Notes, " "), "argument hidden: a secret of this action stands in /action/args/") {
		t.Fatalf("%s %v", v.Decision, v.Notes)
	}
	it, err := h.Approval(t.Context(), v.Approval.ID)
	if err != nil || len(it.Hidden) == 0 || !strings.HasPrefix(it.Hidden[0], "/action/args/") {
		t.Fatalf("%+v, %v", it, err)
	}
	d := h.drafted(t, v.Approval.ID, approvals.Deny, 1)
	if _, err := h.DecideApproval(t.Context(), v.Approval.ID, d); err != nil {
		t.Error(err)
	}
}
