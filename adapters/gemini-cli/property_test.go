package geminicli_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/phases"
)

// drawn is one generated way through an event.
type drawn struct {
	verdicts []phases.Verdict
	final    []jsontext.Value // final action of each allowed step
	first    []jsontext.Value // action of each step as it was asked
	closed   bool             // something must keep the event from happening
	grant    bool
	retry    bool
}

func genText(t *rapid.T, name string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", " ", "not here", "\x00\x1b[31m", "\xff\xfe", "\u202e", `{"continue":false}`,
			"line\nline"}),
		rapid.String(),
	).Draw(t, name)
}

// genAction returns the step's action, perhaps changed.
func genAction(t *rapid.T, inv phases.Invocation) jsontext.Value {
	var ptrs []string
	for _, r := range phases.RulesFor(inv.Phase).Rewrite {
		ptrs = append(ptrs, r.Pointer)
	}
	ptrs = append(ptrs, phases.RulesFor(inv.Phase).Redact...)
	ptrs = append(ptrs, "/args/command", "/args/prompt", "/args/timeout", "/args/title", "/result/llmContent",
		"/result/returnDisplay", "/result/error/message", "/data/note", "/tool", "/args", "/child/tools", "/result",
		"/messages/0/content", "/messages/0/role", "/messages/-", "/params/temperature", "/params/topK", "/model")
	action := inv.Action
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		ptr := rapid.SampledFrom(ptrs).Draw(t, "ptr")
		value := rapid.SampledFrom([]string{`"[redacted]"`, `""`, `" \n"`, `null`, `7`, `true`, `{}`, `[]`, `["read"]`,
			`{"command":"x"}`, `{"command":7}`, `{"prompt":"m"}`, `0.5`,
			`{"role":"user","content":"m"}`}).Draw(t, "value")
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
	v.Reason, v.DecidedBy = genText(t, "reason"), genText(t, "by")
	if rapid.Bool().Draw(t, "contexts") {
		v.Contexts = []string{genText(t, "context")}
	}
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0:
		v.Decision = phases.Block
		v.Kind = rapid.SampledFrom([]phases.Kind{phases.KindPolicy, phases.KindTrap, ""}).Draw(t, "failure")
		d.closed = true
	case 1: // not a verdict
		v.Decision = rapid.SampledFrom([]phases.Decision{"", "deny", "approve", "ALLOW"}).Draw(t, "nonsense")
		d.closed = true
	case 2:
		v.Action = rapid.SampledFrom([]jsontext.Value{nil, jsontext.Value(`{`), jsontext.Value(`[]`),
			jsontext.Value(`{"x":1}`)}).Draw(t, "no action")
		d.closed = true
		return v
	case 3:
		v.Phase = "audit_"
		d.closed = true
	case 4, 5: // nothing in Gemini CLI asks a person
		v.Decision = phases.Ask
		d.closed = true
		if rapid.Bool().Draw(t, "queue") {
			v.Approval = &phases.ApprovalRef{ID: genText(t, "approval"), Expires: time.Unix(1, 0)}
		}
	case 6:
		v.Reply = &phases.Reply{Text: genText(t, "reply")}
		d.closed = true
	case 7, 8:
		if inv.Phase == phases.PreTool {
			v.Grant = &phases.Grant{Reason: genText(t, "grant"), Hook: "h"}
			d.grant = true
		}
		if inv.Phase == phases.PostReceive {
			v.Retry = &phases.Retry{Instruction: genText(t, "retry"), Max: 1, Hook: "h"}
			d.retry = true
		}
	case 9:
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

// TestNothingPassesUnexpressed: whatever verdicts an event gets, Gemini CLI, as it was measured, carries
// out all of it, or the event does not happen, or the session is latched.
func TestNothingPassesUnexpressed(t *testing.T) {
	all, a := samples(t), geminicli.New()
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
			if rapid.IntRange(0, 30).Draw(t, "missing") == 0 {
				d.closed = true
				break
			}
			v := genVerdict(t, step, &d)
			d.verdicts = append(d.verdicts, v)
			d.first, d.final = append(d.first, step.Invocation.Action), append(d.final, v.Action)
			if d.closed {
				break
			}
		}
		ans := a.Encode(ev, d.verdicts)
		checkAnswer(t, s.Event, ans)
		checkEffect(t, s, &d, ans)
	})
}

func checkEffect(t *rapid.T, s sample, d *drawn, ans adapters.Answer) {
	p, e := parseObject(s.Payload), react(s.Event, s.Payload, ans)
	if (e.failed || e.asks) && ans.Latch == "" {
		t.Fatalf("the client goes on, or waits: %+v", ans)
	}
	if e.goesOn && (!d.retry || p["stop_hook_active"] == true || d.closed) {
		t.Fatalf("the agent is made to go on without a retry: %s", ans.Stdout)
	}
	if d.closed {
		if !holds(s.Event, s.Payload, ans) {
			t.Fatalf("%s: not held: exit %d %s", s.Event, ans.Exit, ans.Stdout)
		}
		return
	}
	if e.blocked || ans.Latch != "" || e.stopped {
		return
	}
	// The event happens: everything that was decided has to be in force.
	final := func(i int, ptr string) jsontext.Value { v, _ := phases.Get(d.final[i], ptr); return v }
	changed := phases.Diff(d.first[0], d.final[0])
	switch s.Event {
	case "BeforeTool":
		want := final(0, "/args")
		if len(d.final) > 1 {
			if len(phases.Diff(d.first[1], d.final[1])) > 0 {
				want, _ = phases.Set(want, "/prompt", final(1, "/child/prompt"))
			}
			if final(1, "/child/tools") != nil {
				t.Fatalf("the child's tools were narrowed and the answer does not tell: %s", ans.Stdout)
			}
		}
		if !same(e.input, parseObject(want)) {
			t.Fatalf("runs %v, decided was %s", e.input, want)
		}
	case "AfterTool":
		if slices.ContainsFunc(changed, beyondResult) { // nothing carries that: the result is replaced
			if !holds(s.Event, s.Payload, ans) {
				t.Fatalf("%v was changed, and the model reads %v", changed, e.output)
			}
			return
		}
		result, first := final(0, "/result"), jsontext.Value(nil)
		first, _ = phases.Get(d.first[0], "/result")
		hidden := !same(e.output, p["tool_response"])
		if phases.Same(result, first) == hidden {
			t.Fatalf("the model reads %v, decided was %s", e.output, result)
		}
		if text, ok := phases.GetString(result, "/llmContent"); hidden && ok && strings.TrimSpace(text) != "" {
			got, _ := e.output.(map[string]any)["error"].(string)
			message, isError := phases.GetString(result, "/error/message")
			if !strings.HasPrefix(got, strings.TrimSpace(text)) &&
				!(isError && strings.HasPrefix(got, strings.TrimSpace(message))) {
				t.Fatalf("the model reads %q, decided was %s", got, result)
			}
		}
	case "BeforeModel":
		request, _ := e.request.(map[string]any)
		if !same(request["messages"], value(final(0, "/messages"))) || !same(request["model"], value(final(0, "/model"))) {
			t.Fatalf("the model gets %v, decided was %s", request, d.final[0])
		}
		if config, _ := request["config"].(map[string]any); !same(config, value(final(0, "/params"))) {
			t.Fatalf("the model gets %v, decided was %s", request, d.final[0])
		}
	case "AfterModel":
		if len(changed) > 0 {
			reply, _ := e.reply.(map[string]any)
			if !same(reply["text"], value(final(0, "/text"))) {
				t.Fatalf("the reply is %v, decided was %s", reply, d.final[0])
			}
		}
	case "SessionEnd", "PreCompress", "Notification":
	default:
		if len(changed) > 0 {
			t.Fatalf("%s was changed, and the answer does not tell: %s", changed, ans.Stdout)
		}
	}
}

// beyondResult reports whether a change of a call that has run is of more than its result, and than what it was
// called with, which stands in the record alone.
func beyondResult(ptr string) bool {
	return !slices.ContainsFunc([]string{"/result", "/args", "/original_args"}, func(of string) bool {
		return phases.Covers(of, ptr)
	})
}

func value(v jsontext.Value) any {
	m := parseObject([]byte(`{"v":` + string(v) + `}`))
	return m["v"]
}

// TestRun: a step that cannot be asked, a verdict that is an error, and a panic give the event's
// block form.
func TestRun(t *testing.T) {
	a, ctx := geminicli.New(), context.Background()
	payload := payloadOf(t, "events.BeforeTool.invoke_agent")
	var asked []phases.Phase
	ans, err := adapters.Run(ctx, a, payload, adapters.Options{},
		func(_ context.Context, s adapters.Step) (phases.Verdict, error) {
			asked = append(asked, s.Invocation.Phase)
			return verdictcases.Allow(s.Invocation), nil
		})
	if err != nil || string(ans.Stdout) != "{}" || len(asked) != 2 || asked[0] != phases.PreTool ||
		asked[1] != phases.Spawn {
		t.Errorf("asked %v, answer %s, %v", asked, ans.Stdout, err)
	}
	boom := func(f func() (phases.Verdict, error)) {
		t.Helper()
		ans, err := adapters.Run(ctx, a, payload, adapters.Options{},
			func(context.Context, adapters.Step) (phases.Verdict, error) { return f() })
		if err == nil || !react("BeforeTool", payload, ans).blocked {
			t.Errorf("answer %+v, %v", ans, err)
		}
	}
	boom(func() (phases.Verdict, error) { return phases.Verdict{}, errors.New("no store at /home/dev/secret") })
	boom(func() (phases.Verdict, error) { panic("bug") })
	ans, _ = adapters.Run(ctx, a, []byte("garbage"), adapters.Options{Event: "AfterAgent"}, nil)
	if e := react("AfterAgent", nil, ans); !e.stopped || e.goesOn || !ans.GoesOnAt2 || ans.Exit != 0 {
		t.Errorf("AfterAgent with garbage: %+v", ans)
	}
}

// TestRewrites: what Gemini CLI takes back, and what it would not take as it was decided.
func TestRewrites(t *testing.T) {
	const call, request, deny = "captured.BeforeTool.run_shell_command", "captured.BeforeModel", `"decision":"deny"`
	for name, k := range map[string]struct{ sample, ptr, value, want string }{
		"an argument": {call, "/args/command", `"ls"`,
			`"tool_input":{"command":"ls","description":"Show working tree status"}`},
		"one more":           {call, "/args/timeout", `7`, `"timeout":7`},
		"one less":           {call, "/args", `{"command":"ls"}`, deny},
		"a prompt":           {"captured.BeforeAgent", "/text", `"x"`, deny},
		"a parameter":        {request, "/params/temperature", `0.1`, `"config":{"temperature":0.1,"topP":0.95,"topK":64}`},
		"a strange one":      {request, "/params/think_level", `"high"`, deny},
		"no number":          {request, "/params/temperature", `"hot"`, deny},
		"a message":          {request, "/messages/0/content", `"x"`, `"llm_request":{"messages":[{"role":"user","content":"x"}]}`},
		"parts of a message": {request, "/messages/0/content", `[{"type":"text","text":"x"}]`, deny},
		"another role":       {request, "/messages/0/role", `"system"`, deny},
		"no messages":        {request, "/messages", `[]`, deny},
		"the model":          {request, "/model", `"gemini-2.5-pro"`, `"llm_request":{"model":"gemini-2.5-pro"}`},
		"no model":           {request, "/model", `""`, deny},
		"the tools":          {"captured.BeforeToolSelection", "/messages/0/content", `"x"`, `"mode":"NONE"`},
		"a chunk":            {"events.AfterModel", "/text", `"x"`, `"parts":["x"]`},
		"the last answer":    {"captured.AfterAgent", "/text", `"x"`, `"continue":false`},
		"an output": {"captured.AfterTool.run_shell_command", "/result/llmContent", `"x"`,
			`{"decision":"deny","reason":"x"}`},
		"what is shown": {"captured.AfterTool.run_shell_command", "/result/returnDisplay", `"x"`,
			`{"decision":"deny","reason":"<untrusted_context>`},
		"nothing left": {"captured.AfterTool.run_shell_command", "/result/llmContent", `" "`, "nothing is left"},
		"an error":     {"events.AfterTool.error", "/result/error/message", `"x"`, `{"decision":"deny","reason":"x"}`},
		"parts":        {"events.AfterTool.mcp", "/result/llmContent/0/text", `"x"`, `"reason":"[{\"text\":\"x\"}]"`},
	} {
		ev := decode(t, sample{Payload: payloadOf(t, k.sample)})
		ans := geminicli.New().Encode(ev, []phases.Verdict{
			verdictcases.RewriteAt(t, ev.Steps[0].Invocation, k.ptr, k.value)})
		if !strings.Contains(string(ans.Stdout), k.want) {
			t.Errorf("%s: %s", name, ans.Stdout)
		}
	}
}

// TestContextBesideRedaction: the client reads no context beside a deny, so that both stand in the reason.
func TestContextBesideRedaction(t *testing.T) {
	ev := decode(t, sample{Payload: payloadOf(t, "captured.AfterTool.run_shell_command")})
	v := verdictcases.RewriteAt(t, ev.Steps[0].Invocation, "/result/llmContent", `"x"`)
	v.Contexts = []string{"use make"}
	ans := geminicli.New().Encode(ev, []phases.Verdict{v})
	if want := `{"decision":"deny","reason":"x\n\nuse make"}`; string(ans.Stdout) != want {
		t.Errorf("%s, want %s", ans.Stdout, want)
	}
}
