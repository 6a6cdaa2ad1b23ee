package openclaw_test

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
	"github.com/belay-hooks/belay/adapters/openclaw"
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
	ptrs = append(ptrs, "/args/command", "/args/task", "/args/env/X", "/args/timeout", "/params/temperature",
		"/model", "/provider", "/result/content", "/result/content/0/text", "/result/content/0", "/result/details",
		"/result/role", "/data/message", "/data/message/content", "/data/message/role", "/data/note", "/tool", "/args",
		"/child/tools", "/child/prompt", "/result", "/text")
	action := inv.Action
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		ptr := rapid.SampledFrom(ptrs).Draw(t, "ptr")
		value := rapid.SampledFrom([]string{`"[redacted]"`, `""`, `null`, `7`, `true`, `false`, `{}`, `[]`, `["read"]`,
			`{"command":"x"}`, `{"content":"x"}`, `{"task":"m"}`, `{"type":"text","text":"m"}`,
			`[{"type":"video"}]`}).Draw(t, "value")
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
	all, a := samples(t), openclaw.New()
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
		if held(s.Event, s.Payload, ans) || openclaw.Records(s.Event) {
			return
		}
		// The action happens: read again, it has to be the one that was decided.
		checkDecided(t, s, ev, &d, e)
	})
}

// checkDecided reads the payload again as it is after the answer, and compares the actions with those of the verdicts.
func checkDecided(t *rapid.T, s sample, ev adapters.Event, d *drawn, e effect) {
	if s.Event == "resolve_exec_env" { // what it carries is in the answer alone
		return
	}
	again, err := openclaw.New().Decode(e.payload, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: what was decided reads no more: %v\n%s", s.Event, err, e.payload)
	}
	for i, v := range d.verdicts {
		want := v.Action
		if i == 0 && len(d.verdicts) > 1 { // the prompt of the child is that of the spawn step
			prompt, _ := phases.Get(d.verdicts[1].Action, "/child/prompt")
			if want, err = phases.Set(want, "/args/task", prompt); err != nil {
				t.Fatal(err)
			}
		}
		for _, ptr := range phases.Diff(want, again.Steps[i].Invocation.Action) {
			recorded := phases.Covers("/args", ptr) || phases.Covers("/original_args", ptr)
			if ev.Steps[0].Invocation.Phase == phases.PostTool && recorded {
				continue // for the record alone
			}
			t.Fatalf("%s: at %s OpenClaw has %s, decided was %s", s.Event, ptr, again.Steps[i].Invocation.Action, want)
		}
	}
}

// TestRun: a verdict that is an error, and a panic, give the event's block form.
func TestRun(t *testing.T) {
	payload := payloadOf(t, "events.before_tool_call.sessions_spawn")
	boom := func(f func() (phases.Verdict, error)) {
		t.Helper()
		ans, err := adapters.Run(context.Background(), openclaw.New(), payload, adapters.Options{},
			func(context.Context, adapters.Step) (phases.Verdict, error) { return f() })
		if err == nil || !react("before_tool_call", payload, ans).held {
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
		a := openclaw.New()
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
	const call = `{"hook":"before_tool_call","directory":"/p","event":`
	for in, want := range map[string]string{
		call + `{"toolName":"exec"}}`:                                                      "/params",
		call + `{"toolName":"exec","params":[]}}`:                                          "/params",
		call + `{"params":{}}}`:                                                            "/toolName",
		call + `[]}`:                                                                       "/event",
		call + `{"toolName":"exec","params":{}},"ctx":7}`:                                  "/ctx",
		`{"hook":"before_tool_call","event":{"toolName":"exec","params":{}}}`:              "/directory",
		`{"hook":"before_tool_call","directory":"/p"}`:                                     "/event",
		call + `{"toolName":"sessions_spawn","params":{}}}`:                                "/params",
		`{"hook":"before_agent_run","directory":"/p","event":{"prompt":7}}`:                "/prompt",
		`{"hook":"before_agent_finalize","directory":"/p","event":{}}`:                     "/stopHookActive",
		`{"hook":"before_message_write","directory":"/p","event":{"message":"x"}}`:         "/message",
		`{"hook":"tool_result_persist","directory":"/p","event":{"message":{}}}`:           "/toolName",
		`{"hook":"agent_tool_result","directory":"/p","event":{"toolName":"x","args":{}}}`: "/result",
		`{"hook":"reply_payload_sending","directory":"/p","event":{"payload":{"text":7}}}`: "/text",
		`{"hook":"subagent_spawned","directory":"/p","event":{}}`:                          "/childSessionKey",
		`{"hook":"before_tool_sideways","directory":"/p","event":{}}`:                      "/hook",
	} {
		_, err := openclaw.New().Decode([]byte(in), adapters.Options{})
		var p *adapters.PayloadError
		if !errors.As(err, &p) || p.Member != want {
			t.Errorf("%s: %v, want the member %s", in, err, want)
		}
	}
}
