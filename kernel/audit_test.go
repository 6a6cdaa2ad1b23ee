package kernel_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

var onAudit = []phases.Phase{phases.Audit}

func redact(path string) phases.Effect {
	return phases.Effect{Kind: phases.EffectRedact, Path: path, Label: "private"}
}

func TestRecordIsRedacted(t *testing.T) {
	logs := func(kernel.Turn) (kernel.Outcome, error) {
		return kernel.Outcome{Effects: []phases.Effect{rewrite("/args/token", `"SECRET"`)}, Notes: []string{"SECRET note"},
			Detail: "SECRET detail"}, nil
	}
	mutator := hook{name: "m", mutates: preTool, caps: []string{"rewrite"}, run: logs}
	inv := invocation(phases.PreTool)
	inv.Action = []byte(`{"tool":"exec","args":{"command":"echo SECRET"}}`)
	inv.Metadata = map[string]jsontext.Value{"x": jsontext.Value(`"SECRET"`)}
	v := newHost(t, []hook{mutator}).invoke(t, inv)
	if strings.Count(string(v.Action), "SECRET") != 2 {
		t.Errorf("what runs was redacted: %s", v.Action)
	}
	h := newHost(t, []hook{mutator, {name: "b", run: effects(block("because SECRET\x1b[31m\u202e"))}})
	v = h.invoke(t, inv)
	es := h.events(t, wire.Query{})
	all, err := json.Marshal(es)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(all), "SECRET") || strings.ContainsAny(string(all), "\x1b\u202e") ||
		strings.Contains(string(all), `\u001b`) {
		t.Errorf("logged: %s", all)
	}
	last := es[len(es)-1]
	if !strings.HasPrefix(last.InputDigest, "hmac-sha256:") || !strings.HasPrefix(last.OutputDigest, "hmac-sha256:") ||
		len(last.Masked) == 0 || !slices.Equal(last.Masked, v.Masked) {
		t.Errorf("digests %q %q, masked %v and %v", last.InputDigest, last.OutputDigest, last.Masked, v.Masked)
	}
	if len(last.Seed) != 64 {
		t.Errorf("seed %q", last.Seed)
	}
}

func TestRedactionFailureBlocksAndStoresDigestsOnly(t *testing.T) {
	h := newHost(t, []hook{{name: "b", run: effects(block("readable"))}})
	inv := invocation(phases.PreTool)
	inv.Action = []byte(`{"tool":"exec","args":{"command":"EXPLODE readable"}}`)
	h.fails(t, inv, phases.KindAudit)
	es := h.events(t, wire.Query{})
	all, err := json.Marshal(es)
	if err != nil {
		t.Fatal(err)
	}
	if len(es) != 2 || strings.Contains(string(all), "readable") || es[1].InputDigest == "" ||
		es[1].Kind != phases.KindAudit || es[1].Decision != "block" {
		t.Errorf("logged: %s", all)
	}
}

func TestAuditHooksSeeTheRedactedRecordOnce(t *testing.T) {
	var docs []string
	look := func(tu kernel.Turn) (kernel.Outcome, error) {
		docs = append(docs, string(tu.Session.Input))
		return kernel.Outcome{Effects: []phases.Effect{redact("/data/input/action/args"), redact("/data/hooks/0/reason")}},
			nil
	}
	h := newHost(t, []hook{
		{name: "b", run: effects(block("because of Bob"))},
		{name: "aud", phases: onAudit, caps: []string{"redact"}, run: look},
	})
	inv := invocation(phases.PreTool)
	inv.Action = []byte(`{"tool":"exec","args":{"command":"echo SECRET Bob"}}`)
	inv.Metadata = map[string]jsontext.Value{"x": jsontext.Value(`"SECRET"`)}
	v := h.invoke(t, inv)
	if v.Decision != phases.Block || v.Reason != "because of Bob" {
		t.Errorf("verdict %+v", v)
	}
	if len(docs) != 1 || strings.Contains(docs[0], "SECRET") || !strings.Contains(docs[0], "echo [redacted] Bob") {
		t.Errorf("audit hooks saw %q", docs)
	}
	kind, _ := phases.GetString(jsontext.Value(docs[0]), "/kind")
	decision, _ := phases.GetString(jsontext.Value(docs[0]), "/data/decision")
	if kind != "verdict" || decision != "block" {
		t.Errorf("kind %q, decision %q", kind, decision)
	}
	es := h.events(t, wire.Query{})
	if len(es) != 3 || es[2].Pass != phases.PassAudit || es[2].Binding != "aud" || es[1].Type != phases.EventVerdict {
		t.Fatalf("events %+v", es)
	}
	if v.Event.ID != es[1].ID || v.Event.Seq != es[1].Seq {
		t.Errorf("the verdict points at %+v, want the verdict's own event %d", v.Event, es[1].Seq)
	}
	if es[0].Reason != "[redacted:private]" || strings.Contains(string(es[1].Input), "Bob") ||
		!slices.Contains(es[1].Masked, "/input/action/args") || !slices.Contains(es[0].Masked, "/reason") {
		t.Errorf("after the masks: %+v", es)
	}
	if !slices.Contains(v.Masked, "/input/action/args") || v.Hooks[len(v.Hooks)-1].Pass != phases.PassAudit {
		t.Errorf("verdict %+v", v)
	}
}

func TestAuditHooksCannotTouchTheDecision(t *testing.T) {
	for _, path := range []string{"/data/decision", "/data/id", "/data/kind", "/data/input_digest", "/data", "/data/hooks",
		"/data/hooks/0", "/data/hooks/0/hook_digest", "/data/masked", "/data/decided_by", "/data/time"} {
		h := newHost(t, []hook{
			{name: "b", run: effects(block("no"))},
			{name: "aud", phases: onAudit, caps: []string{"redact"}, run: effects(redact(path))},
		})
		h.fails(t, invocation(phases.PreTool), phases.KindAudit)
	}
}

func TestAuditFailureBlocks(t *testing.T) {
	for name, run := range map[string]func(kernel.Turn) (kernel.Outcome, error){
		"trap":           failing(phases.KindTrap),
		"illegal effect": effects(block("no")),
		"not there":      effects(redact("/data/input/nothing")),
		"panic":          func(kernel.Turn) (kernel.Outcome, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, []hook{{name: "aud", phases: onAudit, caps: []string{"redact"}, run: run}})
			inv := invocation(phases.PreTool)
			inv.Action = []byte(`{"tool":"exec","args":{"command":"readable"}}`)
			v := h.fails(t, inv, phases.KindAudit)
			if v.DecidedBy != "aud" {
				t.Errorf("decided by %s", v.DecidedBy)
			}
			if !strings.HasPrefix(v.Reason, "an audit hook failed") {
				t.Errorf("reason %q", v.Reason)
			}
			es := h.events(t, wire.Query{})
			all, err := json.Marshal(es)
			if err != nil {
				t.Fatal(err)
			}
			if len(es) != 2 || es[0].Decision != "block" || es[0].Kind != phases.KindAudit ||
				strings.Contains(string(all), "readable") {
				t.Errorf("logged: %s", all)
			}
			// Where the event could not be blocked, the session is latched.
			h.fails(t, inv, phases.KindAudit, kernel.InvokeOptions{Unblockable: true})
			if ls, err := h.Latches(t.Context()); err != nil || len(ls) != 1 || ls[0].Kind != phases.KindAudit {
				t.Errorf("latches %+v, %v", ls, err)
			}
		})
	}
	watch := hook{name: "aud", phases: onAudit, mode: phases.Observe, run: failing(phases.KindTrap)}
	if v := newHost(t, []hook{watch}).invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Errorf("an observing audit hook blocked: %+v", v)
	}
}

func TestAuditPhaseInvocation(t *testing.T) {
	turns := 0
	h := newHost(t,
		[]hook{{name: "aud", phases: onAudit, caps: []string{"redact"}, run: func(tu kernel.Turn) (kernel.Outcome, error) {
			turns++
			kind, _ := phases.GetString(tu.Session.Input, "/kind")
			text, _ := phases.GetString(tu.Session.Input, "/data/text")
			if kind != "notification" || text != "hi [redacted]" {
				t.Errorf("saw kind %q, text %q", kind, text)
			}
			return kernel.Outcome{Effects: []phases.Effect{redact("/data/text")}}, nil
		}}})
	inv := invocation(phases.Audit)
	inv.Action = []byte(`{"kind":"notification","data":{"text":"hi SECRET"}}`)
	v := h.invoke(t, inv)
	if v.Decision != phases.Allow || v.Enforced != phases.EnforcedNone || turns != 1 {
		t.Errorf("verdict %+v after %d turns", v, turns)
	}
	if !slices.Equal(v.Changed, []string{"/data/text"}) || strings.Contains(string(v.Action), "hi") {
		t.Errorf("changed %v, action %s", v.Changed, v.Action)
	}
	es := h.events(t, wire.Query{})
	if len(es) != 2 || strings.Contains(string(es[0].Input), "hi") ||
		!slices.Contains(es[0].Masked, "/input/action/data/text") {
		t.Errorf("events %+v", es)
	}
	// Nothing can be blocked here: a failure latches.
	h = newHost(t, []hook{{name: "aud", phases: onAudit, run: failing(phases.KindFuel)}})
	if v = h.fails(t, invocation(phases.Audit), phases.KindAudit); v.Enforced != phases.EnforcedLatched {
		t.Errorf("enforced %s", v.Enforced)
	}
}

func TestLargeRecords(t *testing.T) {
	big := strings.Repeat("x", 700<<10)
	var seen int
	h := newHost(t, []hook{
		{name: "m", mutates: preTool, caps: []string{"rewrite"},
			run: effects(rewrite("/args/x", `"`+strings.Repeat("y", 200<<10)+`"`))},
		{name: "aud", phases: onAudit, caps: []string{"redact"}, run: func(tu kernel.Turn) (kernel.Outcome, error) {
			seen = len(tu.Session.Input)
			return kernel.Outcome{Effects: []phases.Effect{redact("/data/input/action/args/big")}}, nil
		}},
	})
	inv := invocation(phases.PreTool)
	inv.Action = []byte(`{"tool":"exec","args":{"big":"` + big + `"}}`)
	v := h.invoke(t, inv)
	es := h.events(t, wire.Query{})
	if v.Decision != phases.Allow || len(es) != 3 || es[1].Output != nil || es[1].OutputDigest == "" ||
		!slices.Contains(es[1].Masked, "/output") {
		t.Errorf("%s, %d events, output of %d bytes, masked %v", v.Decision, len(es), len(es[1].Output), es[1].Masked)
	}
	if seen == 0 || seen > phases.MaxInputBytes+64<<10 {
		t.Errorf("the audit hook's input had %d bytes", seen)
	}
	// As deep as an action may nest, the record nests deeper.
	inv.Action = []byte(`{"tool":"exec","args":` + strings.Repeat(`{"a":`, 120) + `1` + strings.Repeat(`}`, 120) + `}`)
	h = newHost(t, []hook{{name: "aud", phases: onAudit, caps: []string{"redact"}, run: effects(redact("/data/reason"))}})
	v, err := h.Invoke(t.Context(), inv)
	if err != nil && v.Kind != phases.KindAudit {
		t.Errorf("%v %+v", err, v)
	}
	if errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("a deep action could not be stored: %v", err)
	}
}
