package claudecode_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/phases"
)

// draw is one generated way through an event.
type drawn struct {
	verdicts []phases.Verdict
	final    []jsontext.Value // final action of each allowed or asked step
	first    []jsontext.Value // action of each step as it was asked
	closed   bool             // something must keep the event from happening
	ask      bool
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

// genAction returns the step's action, perhaps changed where the phase permits
// it and now and then where it does not.
func genAction(t *rapid.T, inv phases.Invocation) jsontext.Value {
	ptrs := []string{}
	for _, r := range phases.RulesFor(inv.Phase).Rewrite {
		ptrs = append(ptrs, r.Pointer)
	}
	ptrs = append(ptrs, phases.RulesFor(inv.Phase).Redact...)
	for _, deep := range []string{
		"/args/command", "/args/prompt", "/args/subagent_type", "/args/timeout", "/result/stdout", "/result/stderr",
		"/result/isImage", "/result/file/content",
		"/result/type", "/result/0/text", "/messages/0/content/0/text", "/messages/0/content/0/name", "/data/worktreePath",
		"/data/note", "/tool", "/args", "/child/tools",
	} {
		ptrs = append(ptrs, deep)
	}
	action := inv.Action
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		ptr := rapid.SampledFrom(ptrs).Draw(t, "ptr")
		value := rapid.SampledFrom([]string{`"[redacted]"`, `""`, `null`, `7`, `true`, `{}`, `[]`, `["read"]`,
			`{"stdout":"x"}`, `[{"type":"text","text":"x"}]`}).Draw(t, "value")
		if next, err := phases.Set(action, ptr, jsontext.Value(value)); err == nil &&
			validAction(inv.Phase, next) {
			action = next
		}
	}
	return action
}

func genVerdict(t *rapid.T, step adapters.Step, d *drawn) phases.Verdict {
	inv := step.Invocation
	v := allow(inv)
	v.Reason, v.DecidedBy = genText(t, "reason"), genText(t, "by")
	if rapid.Bool().Draw(t, "contexts") {
		v.Contexts = []string{genText(t, "context")}
	}
	v.Enforced = rapid.SampledFrom([]phases.Enforced{phases.EnforcedDirect, phases.EnforcedDelegated,
		phases.EnforcedNone}).Draw(t, "enforced")
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0:
		v.Decision, v.Kind = phases.Block,
			rapid.SampledFrom([]phases.Kind{phases.KindPolicy, phases.KindTrap, ""}).Draw(t, "failure")
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
	case 4, 5:
		v.Decision = phases.Ask
		d.ask = true
		if !step.NativeAsk || rapid.Bool().Draw(t, "queue") {
			v.Approval = &phases.ApprovalRef{ID: genText(t, "approval"), Expires: time.Unix(1, 0)}
			d.closed = true
		}
		if inv.Phase == phases.PreTool && rapid.Bool().Draw(t, "grant too") {
			v.Grant, d.grant = &phases.Grant{Reason: "fine", Hook: "h"}, true
		}
	case 6:
		v.Reply = &phases.Reply{Text: genText(t, "reply")}
		d.closed = true
	case 7:
		if inv.Phase == phases.PreTool {
			v.Grant = &phases.Grant{Reason: genText(t, "grant"), Hook: "h"}
			d.grant = true
		}
	case 8:
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

// TestNothingPassesUnexpressed: whatever verdicts an event gets, the client, as
// it was measured, carries out all of it, or the event does not happen, or the
// session is latched. And no answer has a form in which the client fails open.
func TestNothingPassesUnexpressed(t *testing.T) {
	all, forms, a := samples(t), openForms(), claudecode.New()
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
		checkAnswerRapid(t, ans)
		assertClosed(t, forms, s.Event, s.Payload, ans)
		for _, http := range []bool{false, true} {
			e := react(s.Event, s.Payload, ans, http)
			checkEffect(t, s, &d, ans, e)
		}
	})
}

func checkAnswerRapid(t *rapid.T, ans adapters.Answer) {
	if ans.Exit != 0 && ans.Exit != 2 || ans.Exit != 0 && ans.Stderr == "" {
		t.Fatalf("exit %d stderr %q", ans.Exit, ans.Stderr)
	}
	if len(ans.Stdout) > 0 && parseObject(ans.Stdout) == nil {
		t.Fatalf("stdout %s", ans.Stdout)
	}
}

func checkEffect(t *rapid.T, s sample, d *drawn, ans adapters.Answer, e effect) {
	p := parseObject(s.Payload)
	if e.failed && !e.blocked {
		t.Fatalf("the client takes the answer for a failure: %+v", ans)
	}
	if e.goesOn && (!d.retry || p["stop_hook_active"] == true || d.closed) {
		t.Fatalf("the agent is made to go on without a retry: %s", ans.Stdout)
	}
	if e.granted && (!d.grant || d.ask || d.closed) {
		t.Fatalf("the permission prompt is skipped without a grant: %s", ans.Stdout)
	}
	stopLike := s.Event == "Stop" || s.Event == "SubagentStop" || s.Event == "TaskCompleted" || s.Event == "TeammateIdle"
	hidden := s.Event == "PostToolUse" && !leaks(p["tool_response"], e.output)
	held := e.blocked || ans.Latch != "" || hidden || (stopLike && e.stopped)
	if d.closed && !held {
		t.Fatalf("%s: not held: exit %d %s", s.Event, ans.Exit, ans.Stdout)
	}
	if held {
		return
	}
	// The event happens: everything that was decided has to be in force.
	switch s.Event {
	case "PreToolUse", "PermissionRequest":
		want, _ := phases.Get(d.final[0], "/args")
		if len(d.final) > 1 {
			prompt, _ := phases.Get(d.final[1], "/child/prompt")
			want, _ = phases.Set(want, "/prompt", prompt)
			if _, tools := phases.Get(d.final[1], "/child/tools"); tools {
				t.Fatalf("the child's tools were narrowed without a word: %s", ans.Stdout)
			}
		}
		if !same(e.input, parseObject(want)) {
			t.Fatalf("runs %v, decided was %s", e.input, want)
		}
		if d.ask && s.Event == "PreToolUse" && !e.ask {
			t.Fatalf("the person is not asked: %s", ans.Stdout)
		}
	case "PostToolUse":
		want, _ := phases.Get(d.final[0], "/result")
		if !sameRaw(e.output, want) {
			t.Fatalf("the model reads %v, decided was %s", e.output, want)
		}
	case "ElicitationResult":
		var parts []map[string]any
		raw, _ := phases.Get(d.final[0], "/messages/0/content")
		if err := unmarshal(raw, &parts); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{}
		for _, part := range parts {
			want[part["name"].(string)] = part["value"]
			if part["type"] == "text" {
				want[part["name"].(string)] = part["text"]
			}
		}
		got, _ := e.content.(map[string]any)
		if len(want) != len(got) || (len(want) > 0 && !same(want, got)) {
			t.Fatalf("sent is %v, decided was %s", e.content, raw)
		}
	case "WorktreeCreate":
		if path, _ := phases.GetString(d.final[0], "/data/worktreePath"); path != e.path || path == "" {
			t.Fatalf("path %q, decided was %q", e.path, path)
		}
	default:
		for i := range d.final {
			for _, ptr := range phases.Diff(d.first[i], d.final[i]) {
				recordOnly := phases.Covers("/args", ptr) && (s.Event == "PostToolBatch" || s.Event == "PostToolUseFailure")
				if !recordOnly && !isAudit(s.Event) {
					t.Fatalf("%s was changed without a word: %s", ptr, ans.Stdout)
				}
			}
		}
	}
}

func isAudit(event string) bool {
	return isObserved(event) && event != "SessionStart" && event != "SubagentStart"
}

// leaks reports whether any text of the original is still in the output.
func leaks(original, output any) bool {
	switch o := original.(type) {
	case string:
		return o != "" && output == original && !isShapeWord(o)
	case map[string]any:
		m, _ := output.(map[string]any)
		for k, v := range o {
			if leaks(v, m[k]) {
				return true
			}
		}
	case []any:
		l, _ := output.([]any)
		for i, v := range o {
			if i < len(l) && leaks(v, l[i]) {
				return true
			}
		}
	}
	return false
}

func sameRaw(v any, raw jsontext.Value) bool {
	if raw == nil {
		return v == nil
	}
	var w any
	if err := unmarshal(raw, &w); err != nil {
		return false
	}
	return same(v, w)
}

// TestRun: a step that cannot be asked, a verdict that is an error, and a panic
// give the event's block form.
func TestRun(t *testing.T) {
	a, ctx := claudecode.New(), context.Background()
	payload := payloadOf(t, "captured.PreToolUse.Agent")
	var asked []phases.Phase
	ans, err := adapters.Run(ctx, a, payload, adapters.Options{},
		func(_ context.Context, s adapters.Step) (phases.Verdict, error) {
			asked = append(asked, s.Invocation.Phase)
			return allow(s.Invocation), nil
		})
	if err != nil || string(ans.Stdout) != "{}" || len(asked) != 2 || asked[0] != phases.PreTool ||
		asked[1] != phases.Spawn {
		t.Errorf("asked %v, answer %s, %v", asked, ans.Stdout, err)
	}
	boom := func(f func() (phases.Verdict, error)) {
		t.Helper()
		ans, err := adapters.Run(ctx, a, payload, adapters.Options{},
			func(context.Context, adapters.Step) (phases.Verdict, error) { return f() })
		if err == nil || !react("PreToolUse", payload, ans, false).blocked ||
			!react("PreToolUse", payload, ans, true).blocked {
			t.Errorf("answer %+v, %v", ans, err)
		}
	}
	boom(func() (phases.Verdict, error) { return phases.Verdict{}, errors.New("no store at /home/dev/secret") })
	boom(func() (phases.Verdict, error) { panic("bug") })
	ans, _ = adapters.Run(ctx, a, []byte("garbage"), adapters.Options{Event: "Stop"}, nil)
	if e := react("Stop", nil, ans, false); !e.stopped || e.goesOn {
		t.Errorf("Stop with garbage: %+v", ans)
	}
}

// TestSpawnJudgesTheFinalPrompt: the spawn step sees what pre_tool made of the call.
func TestSpawnJudgesTheFinalPrompt(t *testing.T) {
	ev := decode(t, sample{Payload: payloadOf(t, "captured.PreToolUse.Agent")})
	v := rewriteAt(t, ev.Steps[0].Invocation, "/args/prompt", `"changed"`)
	step, more, err := claudecode.New().Next(ev, []phases.Verdict{v})
	if err != nil || !more {
		t.Fatal(more, err)
	}
	if got, _ := phases.GetString(step.Invocation.Action, "/child/prompt"); got != "changed" {
		t.Errorf("the spawn step sees %q", got)
	}
}

func validAction(p phases.Phase, action []byte) bool {
	_, err := phases.DecodeAction(p, action)
	return err == nil
}
