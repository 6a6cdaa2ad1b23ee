package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/phases"
)

// detector is the real redactor with a mask of the operator's.
type detector struct{ *redact.Redactor }

func (d detector) Text(s string) (string, error) {
	out, _ := d.Redactor.Text(s)
	return out, nil
}

type broken struct{}

func (broken) JSON(jsontext.Value) (jsontext.Value, []string, error) {
	return nil, nil, errors.New("broken")
}
func (broken) Text(string) (string, error) { return "", errors.New("broken") }

func keys() audit.Keys {
	k := audit.Keys{}
	for i, u := range audit.Uses() {
		k[u] = bytes.Repeat([]byte{byte(i + 1)}, 32)
	}
	return k
}

func builder(t *testing.T, masks ...string) *audit.Builder {
	t.Helper()
	r, err := redact.New(redact.Config{Key: bytes.Repeat([]byte{9}, 32), Masks: masks})
	if err != nil {
		t.Fatal(err)
	}
	return &audit.Builder{Redactor: detector{r}, Digester: keys()}
}

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func invocation(action string) *audit.Invocation {
	return &audit.Invocation{Invocation: phases.Invocation{ID: "i-1", Phase: phases.PreTool, Runtime: "r", Session: "s",
		Action: jsontext.Value(action), Time: at}}
}

func verdict(action string) *phases.Verdict {
	return &phases.Verdict{ID: "i-1", Phase: phases.PreTool, Decision: phases.Allow, Action: jsontext.Value(action),
		Changed: []string{"/args"}, Enforced: phases.EnforcedDirect}
}

const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSecretsOfEveryMemberAreRedacted(t *testing.T) {
	b := builder(t)
	v := verdict(`{"tool":"exec","args":{"command":"` + token + `"}}`)
	v.Reason, v.Notes, v.Contexts = "r "+token, []string{token}, []string{token}
	v.Reply = &phases.Reply{Text: token}
	inv := invocation(`{"tool":"exec","args":{"command":"` + token + `"}}`)
	inv.Metadata = map[string]jsontext.Value{"k": jsontext.Value(`"` + token + `"`)}
	turn := audit.Turn{ID: "t-1", Detail: "d " + token, Logs: []string{token}, Report: phases.HookReport{
		Hook: "h", Reason: token, Notes: []string{token}, Decision: phases.HookTransform,
		Effects: []phases.Effect{{Kind: phases.EffectContext, Text: token},
			{Kind: phases.EffectRewrite, Path: "/args/command", Value: jsontext.Value(`"` + token + `"`)}},
	}}
	rec, err := b.Build(audit.NewInput(inv), v, phases.Metadata{"k": {Value: jsontext.Value(`"` + token + `"`)}},
		[]audit.Turn{turn}, "v-1", at)
	if err != nil {
		t.Fatal(err)
	}
	if all := text(t, rec.Events()); strings.Contains(all, token) || strings.Count(all, "[redacted:") < 12 {
		t.Errorf("logged: %s", all)
	}
	if !slices.Contains(rec.Verdict.Masked, "/input/action/args/command") ||
		!slices.Contains(rec.Verdict.Masked, "/output/action/args/command") {
		t.Errorf("masked %v", rec.Verdict.Masked)
	}
}

// A value that is secret because of its name, or by the operator's mask, is so in
// the effect that writes it, too.
func TestRewrittenValuesAreRedactedByTheirPlace(t *testing.T) {
	b := builder(t, "/action/args/pin")
	turn := func(path, value string) string {
		e, err := b.Turn(invocation(`{}`), &audit.Turn{ID: "t", Report: phases.HookReport{Effects: []phases.Effect{
			{Kind: phases.EffectRewrite, Path: path, Value: jsontext.Value(value)}}}}, at)
		if err != nil {
			t.Fatal(err)
		}
		return string(e.Output)
	}
	for _, c := range [][2]string{
		{"/args/pin", `"tangerine"`}, {"/args/password", `"tangerine"`}, {"/args", `{"pin":"tangerine"}`},
		{"", `{"args":{"pin":"tangerine"}}`}, {"/args/pin/deep", `"tangerine"`},
	} {
		if out := turn(c[0], c[1]); strings.Contains(out, "tangerine") {
			t.Errorf("rewrite of %q: %s", c[0], out)
		}
	}
	if out := turn("/args/plain", `"tangerine"`); !strings.Contains(out, "tangerine") {
		t.Errorf("a plain value was covered: %s", out)
	}
}

func TestKeyedDigests(t *testing.T) {
	k := keys()
	a, b := k.Digest(audit.UseInput, []byte("x")), k.Digest(audit.UseOutput, []byte("x"))
	if a == b || a != k.Digest(audit.UseInput, []byte("x")) || !strings.HasPrefix(a, "hmac-sha256:") {
		t.Errorf("digests %s and %s", a, b)
	}
	if d := (audit.Keys{audit.UseInput: []byte("short")}).Digest(audit.UseInput, []byte("x")); d != "" {
		t.Errorf("a digest without a proper key: %s", d)
	}
}

func TestBrokenRedactorLeavesDigestsOnly(t *testing.T) {
	b := &audit.Builder{Redactor: broken{}, Digester: keys()}
	turn := audit.Turn{ID: "t", Detail: "readable", Logs: []string{"readable"},
		Report: phases.HookReport{Hook: "h", Reason: "readable",
			Effects: []phases.Effect{{Kind: phases.EffectBlock, Text: "readable"}}}}
	v := verdict(`{}`)
	v.Reason = "readable"
	rec, err := b.Build(audit.NewInput(invocation(`{"x":"readable"}`)), v, nil, []audit.Turn{turn}, "v", at)
	if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindAudit {
		t.Errorf("Build: %v", err)
	}
	if all := text(t, rec.Events()); strings.Contains(all, "readable") || !strings.Contains(all, "hmac-sha256:") {
		t.Errorf("logged: %s", all)
	}
	v.Reason = "readable"
	e := b.Failure(invocation(`{}`), v, []byte("readable"), "f", at)
	if strings.Contains(text(t, e), "readable") || e.InputDigest == "" {
		t.Errorf("failure: %s", text(t, e))
	}
}

// Cleaning must not put a secret together that the redactor saw in pieces.
func TestSplitSecrets(t *testing.T) {
	b := builder(t)
	split := token[:10] + "\u200b" + token[10:20] + "\x1b" + token[20:]
	e, err := b.Turn(invocation(`{}`), &audit.Turn{ID: "t", Detail: split, Report: phases.HookReport{Reason: split}}, at)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(e.Detail, token) || strings.Contains(e.Reason, token) {
		t.Errorf("put together: %q %q", e.Detail, e.Reason)
	}
}

func TestTextsAreBounded(t *testing.T) {
	b := builder(t)
	logs := slices.Repeat([]string{strings.Repeat("l", 20<<10)}, 200)
	e, err := b.Turn(invocation(`{}`), &audit.Turn{ID: "t", Detail: strings.Repeat("d", 1<<20), Logs: logs}, at)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Logs) != 65 || len(e.Logs[0]) > 8<<10 || len(e.Detail) > 4<<10 {
		t.Errorf("%d logs of %d bytes, detail of %d", len(e.Logs), len(e.Logs[0]), len(e.Detail))
	}
}

func record(t *testing.T) audit.Record {
	t.Helper()
	rec, err := builder(t).Build(audit.NewInput(invocation(`{"tool":"exec","args":{"command":"ls","who":"bob"}}`)),
		verdict(`{"tool":"exec","args":{"command":"ls -l"}}`), nil,
		[]audit.Turn{{ID: "t", Logs: []string{"info: bob"},
			Report: phases.HookReport{Hook: "h", Decision: phases.HookBlock, Reason: "bob"}}}, "v", at)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestApply(t *testing.T) {
	rec := record(t)
	doc, err := rec.Document()
	if err != nil {
		t.Fatal(err)
	}
	masks := []string{"/input/action/args/who", "/hooks/0/logs/0", "/hooks/0/reason"}
	for _, m := range masks {
		if doc, err = phases.Set(doc, m, jsontext.Value(`"[redacted]"`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Apply(doc, masks); err != nil {
		t.Fatal(err)
	}
	if all := text(t, rec.Events()); strings.Contains(all, "bob") || rec.Hooks[0].Reason != "[redacted]" {
		t.Errorf("after Apply: %s", all)
	}
	if !slices.Contains(rec.Verdict.Masked, "/input/action/args/who") ||
		!slices.Equal(rec.Hooks[0].Masked, []string{"/logs/0", "/reason"}) {
		t.Errorf("masked %v and %v", rec.Verdict.Masked, rec.Hooks[0].Masked)
	}
}

// Whatever document comes back, only texts and payloads are taken from it.
func TestApplyTakesNothingElse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rec := record(t)
		before := record(t)
		doc, err := rec.Document()
		if err != nil {
			rt.Fatal(err)
		}
		member := rapid.SampledFrom([]string{"decision", "id", "kind", "seq", "hook_digest", "input_digest", "binding",
			"enforced", "session", "fuel", "phase"}).Draw(rt, "member")
		ptr := rapid.SampledFrom([]string{"/", "/hooks/0/"}).Draw(rt, "where") + member
		value := `"forged"`
		if member == "seq" || member == "fuel" {
			value = "99"
		}
		if doc, err = phases.Set(doc, ptr, jsontext.Value(value)); err != nil {
			rt.Fatal(err)
		}
		if audit.CheckMask(ptr) == nil {
			rt.Errorf("%s can be covered", ptr)
		}
		if err := rec.Apply(doc, []string{ptr}); phases.FaultOf(err) == nil || !errors.Is(err, audit.ErrFixed) {
			rt.Errorf("mask of %s: %v", ptr, err)
		}
		if err := rec.Apply(doc, nil); err == nil {
			if diff := cmp.Diff(before, rec); diff != "" {
				rt.Errorf("forging %s changed the record:\n%s", ptr, diff)
			}
		}
	})
	rec := record(t)
	doc, err := rec.Document()
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]jsontext.Value{
		"fewer turns": must(phases.Set(doc, "/hooks", jsontext.Value("[]"))),
		"new member":  must(phases.Set(doc, "/extra", jsontext.Value("1"))),
		"wrong type":  must(phases.Set(doc, "/reason", jsontext.Value("1"))),
		"no JSON":     jsontext.Value("{"),
	} {
		if err := rec.Apply(bad, nil); phases.FaultOf(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func must(v jsontext.Value, err error) jsontext.Value {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRecordsStaySmallAndShallow(t *testing.T) {
	big := strings.Repeat("x", 600<<10)
	deep := strings.Repeat(`[`, 120) + strings.Repeat(`]`, 120)
	for name, action := range map[string]string{"big": `{"args":{"a":"` + big + `"}}`, "deep": `{"args":` + deep + `}`} {
		v := verdict(action)
		turns := []audit.Turn{{ID: "t",
			Report: phases.HookReport{Hook: "h",
				Effects: []phases.Effect{{Kind: phases.EffectRewrite, Path: "/args",
					Value: jsontext.Value(`"` + strings.Repeat("y", 200<<10) + `"`)}}}}}
		rec, err := builder(t).Build(audit.NewInput(invocation(action)), v, nil, turns, "v", at)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		doc, err := rec.Document()
		if err != nil || len(doc) > phases.MaxInputBytes {
			t.Errorf("%s: document of %d bytes, %v", name, len(doc), err)
		}
		a := phases.Invocation{Phase: phases.Audit, Action: jsontext.Value(fmt.Sprintf(`{"kind":"verdict","data":%s}`, doc))}
		if err := a.Validate(); err != nil {
			t.Errorf("%s: audit hooks cannot be shown the record: %v", name, err)
		}
		if rec.Verdict.InputDigest == "" || rec.Verdict.OutputDigest == "" || rec.Hooks[0].OutputDigest == "" {
			t.Errorf("%s: digests are gone", name)
		}
	}
	// Nothing is dropped that fits.
	if rec := record(t); rec.Verdict.Input == nil || rec.Verdict.Output == nil || len(rec.Verdict.Notes) != 0 {
		t.Errorf("dropped without need: %+v", rec.Verdict)
	}
}
