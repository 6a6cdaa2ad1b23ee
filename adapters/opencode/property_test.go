package opencode_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/adapters/opencode"
	"github.com/belay-hooks/belay/phases"
)

// drawn is one generated way through an event.
type drawn struct {
	verdicts []phases.Verdict
	first    []jsontext.Value // action of each step as it was asked
	closed   bool             // something must keep the event from happening
	grant    bool
}

func genAction(t *rapid.T, inv phases.Invocation) jsontext.Value {
	var ptrs []string
	for _, r := range phases.RulesFor(inv.Phase).Rewrite {
		ptrs = append(ptrs, r.Pointer)
	}
	ptrs = append(ptrs, phases.RulesFor(inv.Phase).Redact...)
	ptrs = append(ptrs, "/args/command", "/args/prompt", "/args/env/X", "/args/timeout", "/params/temperature",
		"/params/options/x", "/headers/x", "/system", "/system/0", "/messages/0/content/0/text", "/messages/0/role",
		"/result/output", "/result/metadata/output", "/data/enabled", "/data/context", "/data/note", "/tool", "/args",
		"/child/tools", "/result", "/text")
	action := inv.Action
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		ptr := rapid.SampledFrom(ptrs).Draw(t, "ptr")
		value := rapid.SampledFrom([]string{`"[redacted]"`, `""`, `null`, `7`, `true`, `false`, `{}`, `[]`, `["read"]`,
			`{"command":"x"}`, `{"output":"x"}`, `{"prompt":"m"}`}).Draw(t, "value")
		if next, err := phases.Set(action, ptr, jsontext.Value(value)); err == nil {
			if _, err := phases.DecodeAction(inv.Phase, next); err == nil {
				action = next
			}
		}
	}
	return action
}

func genVerdict(t *rapid.T, step adapters.Step, d *drawn) phases.Verdict {
	inv := step.Invocation
	v := verdictcases.Allow(inv)
	v.Reason, v.DecidedBy = rapid.String().Draw(t, "reason"), rapid.String().Draw(t, "by")
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		v.Decision, d.closed = phases.Block, true
	case 1:
		v.Decision = rapid.SampledFrom([]phases.Decision{"", "deny", "ALLOW"}).Draw(t, "nonsense")
		d.closed = true
	case 2:
		bad := []jsontext.Value{nil, jsontext.Value(`{`), jsontext.Value(`{"x":1}`)}
		v.Action = rapid.SampledFrom(bad).Draw(t, "no action")
		d.closed = true
		return v
	case 3:
		v.Phase, d.closed = "audit_", true
	case 4:
		v.Decision = phases.Ask
		if !step.NativeAsk || rapid.Bool().Draw(t, "queue") {
			v.Approval, d.closed = &phases.ApprovalRef{ID: "a", Expires: time.Unix(1, 0)}, true
		}
	case 5:
		v.Reply, d.closed = &phases.Reply{Text: "no"}, true
	case 6:
		if inv.Phase == phases.PreTool {
			v.Grant = &phases.Grant{Reason: "known", Hook: "h"}
			d.grant = v.Decision == phases.Allow
		}
	case 7:
		if inv.Phase == phases.Spawn || inv.Phase == phases.StateTransition {
			v.Scopes.Tools = phases.Scope{"read"}
			v.Hooks = []phases.HookReport{{Hook: "c", Mode: phases.Enforce,
				Effects: []phases.Effect{{Kind: phases.EffectClamp}}}}
			d.closed = true
		}
	}
	v.Action = genAction(t, inv)
	return v
}

// TestNothingPassesUnexpressed: whatever verdicts an event gets, the plugin carries out all of it, or the event does
// not happen, or the session is latched.
func TestNothingPassesUnexpressed(t *testing.T) {
	all, a := samples(t), opencode.New()
	rapid.Check(t, func(t *rapid.T) {
		s := all[rapid.IntRange(0, len(all)-1).Draw(t, "sample")]
		ev, err := a.Decode(s.Payload, adapters.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var d drawn
		for {
			step, more, err := a.Next(ev, d.verdicts)
			if err != nil {
				d.closed = true
				break
			}
			if !more {
				break
			}
			v := genVerdict(t, step, &d)
			d.verdicts, d.first = append(d.verdicts, v), append(d.first, step.Invocation.Action)
			if d.closed {
				break
			}
		}
		ans := a.Encode(ev, d.verdicts)
		checkAnswer(t, s.Event, ans)
		if d.closed {
			if !held(s.Event, s.Payload, ans) {
				t.Fatalf("%s: not held: exit %d %s", s.Event, ans.Exit, ans.Stdout)
			}
			return
		}
		e := react(s.Event, s.Payload, ans)
		if e.granted && !d.grant {
			t.Fatalf("a permission without a grant: %s", ans.Stdout)
		}
		if held(s.Event, s.Payload, ans) || ev.Steps[0].Invocation.Phase == phases.Audit {
			return
		}
		// The event happens: read again, it has to be the action that was decided.
		checkDecided(t, s, ev, &d, e)
	})
}

// checkDecided reads the output again as it is after the answer, and compares the actions with those of the verdicts.
func checkDecided(t *rapid.T, s sample, ev adapters.Event, d *drawn, e effect) {
	if e.output == nil {
		for i, v := range d.verdicts {
			if ptrs := phases.Diff(d.first[i], v.Action); len(ptrs) > 0 {
				t.Fatalf("%s: %v was changed, and nothing can carry it", s.Event, ptrs)
			}
		}
		return
	}
	after, err := phases.Set(s.Payload, "/output", e.output)
	if err != nil {
		t.Fatal(err)
	}
	again, err := opencode.New().Decode(after, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: what was decided reads no more: %v\n%s", s.Event, err, after)
	}
	for i, v := range d.verdicts {
		want := v.Action
		if i == 0 && len(d.verdicts) > 1 { // the prompt of the child is that of the spawn step
			prompt, _ := phases.Get(d.verdicts[1].Action, "/child/prompt")
			if want, err = phases.Set(want, "/args/prompt", prompt); err != nil {
				t.Fatal(err)
			}
		}
		for _, ptr := range phases.Diff(want, again.Steps[i].Invocation.Action) {
			if ev.Name == "tool.execute.after" && (phases.Covers("/args", ptr) || phases.Covers("/original_args", ptr)) {
				continue // for the record alone
			}
			t.Fatalf("%s: at %s OpenCode has %s, decided was %s", s.Event, ptr, again.Steps[i].Invocation.Action, want)
		}
	}
}

// TestRun: a verdict that is an error, and a panic, give the event's block form.
func TestRun(t *testing.T) {
	payload := payloadOf(t, "events.tool.execute.before.task")
	boom := func(f func() (phases.Verdict, error)) {
		t.Helper()
		ans, err := adapters.Run(context.Background(), opencode.New(), payload, adapters.Options{},
			func(context.Context, adapters.Step) (phases.Verdict, error) { return f() })
		if err == nil || !react("tool.execute.before", payload, ans).threw {
			t.Errorf("answer %+v, %v", ans, err)
		}
	}
	boom(func() (phases.Verdict, error) { return phases.Verdict{}, errors.New("no store") })
	boom(func() (phases.Verdict, error) { panic("bug") })
}

// FuzzDecode: payloads of any bytes are decoded or refused, never with a panic, and what is decoded is valid.
func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		if len(s.Payload) < 8<<10 {
			f.Add(s.Payload)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := opencode.New()
		before := bytes.Clone(b)
		ev, err := a.Decode(b, adapters.Options{})
		if !bytes.Equal(before, b) {
			t.Fatal("the payload was changed")
		}
		if err != nil {
			if ans := a.Failure(b, adapters.Options{}, err); ans.Exit != 2 || ans.Stderr == "" {
				t.Fatalf("%+v", ans)
			}
			return
		}
		var verdicts []phases.Verdict
		for _, st := range ev.Steps {
			if err := st.Invocation.Validate(); err != nil {
				t.Fatal(err)
			}
			verdicts = append(verdicts, verdictcases.Allow(st.Invocation))
		}
		if ans := a.Encode(ev, verdicts); string(ans.Stdout) != `{"decision":"allow"}` {
			t.Fatalf("nothing was changed: %s", ans.Stdout)
		}
	})
}

// TestHostilePayloads: what is missing, doubled or of another type is refused with the member's name.
func TestHostilePayloads(t *testing.T) {
	for in, want := range map[string]string{
		`{"event":"tool.execute.before","directory":"/p","input":{"tool":"bash"},"output":{}}`:           "/args",
		`{"event":"tool.execute.before","directory":"/p","input":{"tool":"bash"},"output":{"args":[]}}`:  "/args",
		`{"event":"tool.execute.before","directory":"/p","input":{},"output":{"args":{}}}`:               "/tool",
		`{"event":"tool.execute.before","directory":"/p","input":[],"output":{"args":{}}}`:               "/input",
		`{"event":"tool.execute.before","input":{"tool":"bash"},"output":{"args":{}}}`:                   "/directory",
		`{"event":"tool.execute.after","directory":"/p","input":{"tool":"bash","args":{}},"output":"x"}`: "/output",
		`{"event":"tool.execute.before","directory":"/p","input":{"tool":"task"},"output":{"args":{}}}`:  "/args",
		`{"event":"chat.message","directory":"/p","input":{},"output":{"parts":{}}}`:                     "/parts",
		`{"event":"event","directory":"/p","input":{"event":{"properties":{}}}}`:                         "/type",
		`{"event":"event","directory":"/p","input":{"event":{"type":"x","properties":[]}}}`:              "/properties",
		`{"event":"experimental.text.complete","directory":"/p","input":{},"output":{"text":7}}`:         "/text",
		`{"event":"tool.execute.sideways","directory":"/p"}`:                                             "/event",
		`{"event":"chat.params","directory":"/p","input":{},"output":{"temperature":"hot"}}`:             "/temperature",
	} {
		_, err := opencode.New().Decode([]byte(in), adapters.Options{})
		var p *adapters.PayloadError
		if !errors.As(err, &p) || p.Member != want {
			t.Errorf("%s: %v, want the member %s", in, err, want)
		}
	}
}
