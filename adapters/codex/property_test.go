package codex_test

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
	"github.com/belay-hooks/belay/adapters/codex"
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
	ptrs = append(ptrs, "/args/command", "/args/message", "/args/agent_type", "/args/timeout", "/args/text",
		"/result/content/0/text", "/result/0/image_url", "/data/note", "/tool", "/args", "/child/tools", "/result")
	action := inv.Action
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		ptr := rapid.SampledFrom(ptrs).Draw(t, "ptr")
		value := rapid.SampledFrom([]string{`"[redacted]"`, `""`, `" \n"`, `null`, `7`, `true`, `{}`, `[]`, `["read"]`,
			`{"command":"x"}`, `{"command":7}`, `{"message":"m"}`}).Draw(t, "value")
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
	case 4, 5: // nothing in Codex asks a person
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

// TestNothingPassesUnexpressed: whatever verdicts an event gets, Codex, as it was measured, carries
// out all of it, or the event does not happen, or the session is latched. Every answer is one that
// Codex reads.
func TestNothingPassesUnexpressed(t *testing.T) {
	all, a, c := samples(t), codex.New(), newClient(t)
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
		checkAnswer(t, c, s.Event, ans)
		checkEffect(t, c, s, &d, ans)
	})
}

func checkEffect(t *rapid.T, c *client, s sample, d *drawn, ans adapters.Answer) {
	p, e := parseObject(s.Payload), c.react(s.Event, s.Payload, ans)
	if e.failed && ans.Latch == "" {
		t.Fatalf("the client takes the answer for a failure: %+v", ans)
	}
	if e.goesOn && (!d.retry || p["stop_hook_active"] == true || d.closed) {
		t.Fatalf("the agent is made to go on without a retry: %s", ans.Stdout)
	}
	if e.granted && (!d.grant || d.closed) {
		t.Fatalf("the permission prompt is skipped without a grant: %s", ans.Stdout)
	}
	changed := s.Event == "PostToolUse" && !same(e.output, p["tool_response"])
	if d.closed {
		if !holds(c, s.Event, s.Payload, ans) {
			t.Fatalf("%s: not held: exit %d %s", s.Event, ans.Exit, ans.Stdout)
		}
		return
	}
	if e.blocked || ans.Latch != "" || e.stopped {
		return
	}
	// The event happens: everything that was decided has to be in force.
	switch s.Event {
	case "PreToolUse":
		want, _ := phases.Get(d.final[0], "/args")
		if len(d.final) > 1 {
			if prompt, _ := phases.Get(d.final[1], "/child/prompt"); len(phases.Diff(d.first[1], d.final[1])) > 0 {
				want, _ = phases.Set(want, "/message", prompt)
			}
			if _, tools := phases.Get(d.final[1], "/child/tools"); tools {
				t.Fatalf("the child's tools were narrowed and the answer does not tell: %s", ans.Stdout)
			}
		}
		if !same(e.input, parseObject(want)) {
			t.Fatalf("runs %v, decided was %s", e.input, want)
		}
	case "PostToolUse":
		if slices.ContainsFunc(phases.Diff(d.first[0], d.final[0]), beyondResult) { // nothing carries that
			if !holds(c, s.Event, s.Payload, ans) {
				t.Fatalf("more than the result was changed, and the model reads %v", e.output)
			}
			return
		}
		want, _ := phases.Get(d.final[0], "/result")
		original, _ := phases.Get(d.first[0], "/result")
		if phases.Same(want, original) == changed {
			t.Fatalf("the model reads %v, decided was %s", e.output, want)
		}
		text, isText := phases.GetString(want, "")
		got, _ := e.output.(string)
		switch {
		case !changed:
		case isText && strings.TrimSpace(text) != "" && got != text,
			!isText && !phases.Same(jsontext.Value(got), want):
			t.Fatalf("the model reads %q, decided was %s", got, want)
		}
	default:
		for i := range d.final {
			for _, ptr := range phases.Diff(d.first[i], d.final[i]) {
				if d.final[i] != nil && phasesOf(s.Event) != phases.Audit {
					t.Fatalf("%s was changed, and the answer does not tell: %s", ptr, ans.Stdout)
				}
			}
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

func phasesOf(event string) phases.Phase {
	switch event {
	case "SessionEnd", "Interrupt", "PostCompact", "PreModelRequest", "PostModelRequest":
		return phases.Audit
	}
	return ""
}

// TestRun: a step that cannot be asked, a verdict that is an error, and a panic give the event's
// block form.
func TestRun(t *testing.T) {
	a, c, ctx := codex.New(), newClient(t), context.Background()
	payload := payloadOf(t, "captured.PreToolUse.spawn_agent")
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
		if err == nil || !c.react("PreToolUse", payload, ans).blocked {
			t.Errorf("answer %+v, %v", ans, err)
		}
	}
	boom(func() (phases.Verdict, error) { return phases.Verdict{}, errors.New("no store at /home/dev/secret") })
	boom(func() (phases.Verdict, error) { panic("bug") })
	ans, _ = adapters.Run(ctx, a, []byte("garbage"), adapters.Options{Event: "Stop"}, nil)
	if e := c.react("Stop", nil, ans); !e.stopped || e.goesOn || !ans.GoesOnAt2 {
		t.Errorf("Stop with garbage: %+v", ans)
	}
}

// TestRewrites: Codex takes a changed call only along with a permission, and of a command only the
// command.
func TestRewrites(t *testing.T) {
	grant := &phases.Grant{Hook: "g", Reason: "known"}
	for name, k := range map[string]struct {
		sample, ptr, value string
		grant              bool
		want               string // in the answer
	}{
		"granted":   {"captured.PreToolUse.Bash", "/args/command", `"ls"`, true, `"permissionDecision":"allow"`},
		"refused":   {"captured.PreToolUse.Bash", "/args/command", `"ls"`, false, `"permissionDecision":"deny"`},
		"another":   {"captured.PreToolUse.Bash", "/args/timeout", `7`, true, `"permissionDecision":"deny"`},
		"no text":   {"captured.PreToolUse.Bash", "/args/command", `7`, true, `"permissionDecision":"deny"`},
		"a patch":   {"captured.PreToolUse.apply_patch", "/args/command", `"p"`, true, `"updatedInput":{"command":"p"}`},
		"a tool's":  {"captured.PreToolUse.mcp", "/args/text", `"y"`, true, `"updatedInput":{"text":"y"}`},
		"permitted": {"events.PermissionRequest", "/args/command", `"ls"`, true, `"behavior":"deny"`},
	} {
		ev := decode(t, sample{Payload: payloadOf(t, k.sample)})
		v := verdictcases.RewriteAt(t, ev.Steps[0].Invocation, k.ptr, k.value)
		if k.grant {
			v.Grant = grant
		}
		if ans := codex.New().Encode(ev, []phases.Verdict{v}); !strings.Contains(string(ans.Stdout), k.want) {
			t.Errorf("%s: %s", name, ans.Stdout)
		}
	}
}
