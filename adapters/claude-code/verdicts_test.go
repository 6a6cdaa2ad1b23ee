package claudecode_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/phases"
)

// verdictCase is one way in which the chain may answer an event.
type verdictCase struct {
	name     string
	verdicts []phases.Verdict
}

func allow(inv phases.Invocation) phases.Verdict {
	return phases.Verdict{Phase: inv.Phase, Decision: phases.Allow, Action: inv.Action, Scopes: inv.Scopes,
		Enforced: phases.EnforcedDirect}
}

// rewriteAt gives a verdict whose final action has another value at ptr.
func rewriteAt(t testing.TB, inv phases.Invocation, ptr, value string) phases.Verdict {
	t.Helper()
	v := allow(inv)
	action, err := phases.Set(inv.Action, ptr, jsontext.Value(value))
	if err != nil {
		t.Fatalf("%s: %v", ptr, err)
	}
	v.Action, v.Changed = action, []string{ptr}
	return v
}

// chain asks every step with f, as the caller would.
func chain(t testing.TB, ev adapters.Event, f func(i int, inv phases.Invocation) phases.Verdict) []phases.Verdict {
	t.Helper()
	var out []phases.Verdict
	for {
		step, more, err := claudecode.New().Next(ev, out)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return out
		}
		out = append(out, f(len(out), step.Invocation))
	}
}

// verdictCases returns every kind of verdict that the event's phases can have.
func verdictCases(t testing.TB, ev adapters.Event) []verdictCase {
	t.Helper()
	var out []verdictCase
	add := func(name string, f func(i int, inv phases.Invocation) phases.Verdict) {
		out = append(out, verdictCase{name, chain(t, ev, f)})
	}
	last := len(ev.Steps) - 1
	phase := ev.Steps[0].Invocation.Phase
	rules := phases.RulesFor(phase)

	add("allow", func(_ int, inv phases.Invocation) phases.Verdict { return allow(inv) })
	add("block", func(_ int, inv phases.Invocation) phases.Verdict {
		v := allow(inv)
		v.Decision, v.Kind, v.DecidedBy, v.Reason = phases.Block, phases.KindPolicy, "command-guard",
			"deletes outside of the project"
		return v
	})
	add("hook_failure", func(_ int, inv phases.Invocation) phases.Verdict {
		return phases.Verdict{Phase: inv.Phase, Decision: phases.Block, Kind: phases.KindTrap, DecidedBy: "belay"}
	})
	if !ev.Steps[0].Blockable {
		add("latched", func(_ int, inv phases.Invocation) phases.Verdict {
			return phases.Verdict{Phase: inv.Phase, Decision: phases.Block, Kind: phases.KindPolicy, DecidedBy: "gate",
				Reason: "closed", Enforced: phases.EnforcedLatched}
		})
	}
	if last > 0 {
		add("block_last_step", func(i int, inv phases.Invocation) phases.Verdict {
			v := allow(inv)
			if i == last {
				v.Decision, v.DecidedBy, v.Reason = phases.Block, "spawn-gate", "too deep"
			}
			return v
		})
	}
	if rules.Context {
		add("context", func(_ int, inv phases.Invocation) phases.Verdict {
			v := allow(inv)
			v.Contexts = []string{"[notes] the tests live in ./spec", "[notes] use make"}
			return v
		})
	}
	if rules.Ask {
		add("ask", func(_ int, inv phases.Invocation) phases.Verdict {
			v := allow(inv)
			v.Decision, v.DecidedBy, v.Reason, v.Enforced = phases.Ask, "ask-push", "confirm the push", phases.EnforcedDelegated
			return v
		})
		add("ask_queue", func(_ int, inv phases.Invocation) phases.Verdict {
			v := allow(inv)
			v.Decision, v.DecidedBy, v.Reason = phases.Ask, "ask-push", "confirm the push"
			v.Approval = &phases.ApprovalRef{ID: "a-17", Expires: time.Unix(1700000000, 0)}
			return v
		})
	}
	if rules.Reply {
		add("reply", func(_ int, inv phases.Invocation) phases.Verdict {
			v := allow(inv)
			v.Reply = &phases.Reply{Text: "the deployment is frozen until Monday", Hook: "freeze"}
			return v
		})
	}
	if rules.Retry {
		add("retry", func(_ int, inv phases.Invocation) phases.Verdict {
			v := allow(inv)
			v.Retry = &phases.Retry{Instruction: "run the tests first", Max: 2, Hook: "definition-of-done"}
			return v
		})
	}
	if rules.Grant {
		grant := &phases.Grant{Reason: "read-only command", Hook: "readonly"}
		add("grant", func(i int, inv phases.Invocation) phases.Verdict {
			v := allow(inv)
			if i == 0 {
				v.Grant = grant
			}
			return v
		})
		add("grant_ask", func(_ int, inv phases.Invocation) phases.Verdict {
			v := allow(inv)
			v.Decision, v.DecidedBy, v.Reason = phases.Ask, "ask-push", "confirm the push"
			if inv.Phase == phases.PreTool {
				v.Grant = grant
			}
			return v
		})
		add("grant_rewrite", func(i int, inv phases.Invocation) phases.Verdict {
			if i > 0 {
				return allow(inv)
			}
			v := rewriteAt(t, inv, "/args/description", `"changed"`)
			v.Grant = grant
			return v
		})
	}
	if rules.Clamp {
		add("clamp", func(_ int, inv phases.Invocation) phases.Verdict {
			v := allow(inv)
			v.Scopes.FSWrite = phases.Scope{"/home/dev/project/**"}
			v.Hooks = []phases.HookReport{{Hook: "clamp", Mode: phases.Enforce,
				Effects: []phases.Effect{{Kind: phases.EffectClamp, Scopes: &v.Scopes}}}}
			return v
		})
	}
	for name, r := range rewrites(t, ev) {
		add("rewrite_"+name, func(i int, inv phases.Invocation) phases.Verdict {
			if i != r.step {
				return allow(inv)
			}
			return rewriteAt(t, inv, r.ptr, r.value)
		})
	}
	return out
}

type rewriteCase struct {
	step       int
	ptr, value string
}

// rewrites lists what hooks may change, in the words of the phase.
func rewrites(t testing.TB, ev adapters.Event) map[string]rewriteCase {
	t.Helper()
	out := map[string]rewriteCase{}
	inv := ev.Steps[0].Invocation
	switch inv.Phase {
	case phases.PrePlan, phases.PostReceive:
		out["text"] = rewriteCase{0, "/text", `"[redacted]"`}
	case phases.PreSend:
		out["params"] = rewriteCase{0, "/params/think_level", `"high"`}
		out["content"] = rewriteCase{0, "/messages/0/content", `"[redacted]"`}
		if _, ok := phases.Get(inv.Action, "/messages/0/content/0/text"); ok {
			out["text"] = rewriteCase{0, "/messages/0/content/0/text", `"[redacted]"`}
		}
	case phases.PreTool:
		out["args"] = rewriteCase{0, "/args/description", `"changed"`}
		if len(ev.Steps) > 1 {
			out["child_prompt"] = rewriteCase{1, "/child/prompt", `"Only read"`}
			out["child_tools"] = rewriteCase{1, "/child/tools", `["read"]`}
		}
	case phases.PostTool:
		out["other_shape"] = rewriteCase{0, "/result", `{"text":"[redacted]"}`}
		out["record_only"] = rewriteCase{0, "/args/description", `"[redacted]"`}
		for name, ptr := range textLeaves(t, inv.Action) {
			out["leaf"+name] = rewriteCase{0, ptr, `"[redacted]"`}
		}
	case phases.StateTransition:
		out["data"] = rewriteCase{0, "/data/note", `"changed"`}
		if ev.Name == "WorktreeCreate" {
			out["path"] = rewriteCase{0, "/data/worktreePath", `"/home/dev/wt/feat-x"`}
		}
	case phases.Spawn:
		out["child_tools"] = rewriteCase{0, "/child/tools", `["read"]`}
	case phases.Audit:
		out["data"] = rewriteCase{0, "/data/session_id", `"[redacted]"`}
	}
	return out
}

// textLeaves returns the first-level texts of a result.
func textLeaves(t testing.TB, action jsontext.Value) map[string]string {
	t.Helper()
	out := map[string]string{}
	var walk func(ptr string, depth int)
	walk = func(ptr string, depth int) {
		v, ok := phases.Get(action, ptr)
		if !ok || depth > 2 {
			return
		}
		switch v.Kind() {
		case '"':
			if !strings.HasSuffix(ptr, "/type") {
				out[strings.ReplaceAll(strings.TrimPrefix(ptr, "/result"), "/", "_")] = ptr
			}
		case '{':
			for _, name := range []string{"stdout", "content", "file", "filePath", "oldString", "prompt"} {
				walk(phases.Join(ptr, name), depth+1)
			}
		case '[':
			walk(ptr+"/"+strconv.Itoa(0), depth+1)
		}
	}
	walk("/result", 0)
	return out
}

// An ask that waits in belay's own queue holds no action, and ends the event with the
// approval's id: the step after it is asked when the person has said yes. An ask that
// Claude Code puts to the person itself carries the action as it would run.
func TestAskThatWaitsEndsTheEvent(t *testing.T) {
	payload := []byte(
		`{"session_id":"s","transcript_path":"/t","cwd":"/w","permission_mode":"default","hook_event_name":"PreToolUse",` +
			`"tool_name":"Agent","tool_input":{"description":"d","prompt":"look","subagent_type":"helper"},"tool_use_id":"t"}`)
	ev, err := claudecode.New().Decode(payload, adapters.Options{})
	if err != nil || len(ev.Steps) != 2 {
		t.Fatalf("%d steps, %v", len(ev.Steps), err)
	}
	waiting := phases.Verdict{Phase: phases.PreTool, Decision: phases.Ask, Reason: "sure?",
		Enforced: phases.EnforcedDirect,
		Approval: &phases.ApprovalRef{ID: "a-1"}, Changed: []string{}}
	asked := 0
	out := chain(t, ev, func(i int, inv phases.Invocation) phases.Verdict { asked++; return waiting })
	if asked != 1 {
		t.Errorf("%d steps were asked about", asked)
	}
	ans := claudecode.New().Encode(ev, out)
	if !strings.Contains(string(ans.Stdout), `"permissionDecision":"deny"`) ||
		!strings.Contains(string(ans.Stdout), "waiting for approval a-1") {
		t.Errorf("answer %s %s", ans.Stdout, ans.Stderr)
	}
	out = chain(t, ev, func(i int, inv phases.Invocation) phases.Verdict {
		v := allow(inv)
		if i == 0 {
			v = rewriteAt(t, inv, "/args/prompt", `"look closely"`)
			v.Decision, v.Reason, v.Enforced = phases.Ask, "sure?", phases.EnforcedDelegated
		}
		return v
	})
	ans = claudecode.New().Encode(ev, out)
	if got := string(ans.Stdout); !strings.Contains(got, `"permissionDecision":"ask"`) ||
		!strings.Contains(got, `"updatedInput":{`) || !strings.Contains(got, "look closely") {
		t.Errorf("what the person is asked about is not what would run: %s", got)
	}
}
