// Package verdictcases has every kind of verdict that an event can get, for the tests of adapters.
package verdictcases

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// Case is one way in which the chain may answer an event.
type Case struct {
	Name     string
	Verdicts []phases.Verdict
}

// Allow is the verdict that lets the invocation through as it is.
func Allow(inv phases.Invocation) phases.Verdict {
	return phases.Verdict{Phase: inv.Phase, Decision: phases.Allow, Action: inv.Action, Scopes: inv.Scopes,
		Enforced: phases.EnforcedDirect}
}

// RewriteAt gives a verdict whose final action has another value at ptr.
func RewriteAt(t testing.TB, inv phases.Invocation, ptr, value string) phases.Verdict {
	t.Helper()
	v := Allow(inv)
	action, err := phases.Set(inv.Action, ptr, jsontext.Value(value))
	if err != nil {
		t.Fatalf("%s: %v", ptr, err)
	}
	v.Action, v.Changed = action, []string{ptr}
	return v
}

// Chain asks every step with f, as the caller would.
func Chain(t testing.TB, ad adapters.Adapter, ev adapters.Event,
	f func(i int, inv phases.Invocation) phases.Verdict) []phases.Verdict {
	t.Helper()
	var out []phases.Verdict
	for {
		step, more, err := ad.Next(ev, out)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return out
		}
		out = append(out, f(len(out), step.Invocation))
	}
}

// Of returns every kind of verdict that the event's phases can have.
func Of(t testing.TB, ad adapters.Adapter, argument string, ev adapters.Event) []Case {
	t.Helper()
	var out []Case
	add := func(name string, f func(i int, inv phases.Invocation) phases.Verdict) {
		out = append(out, Case{name, Chain(t, ad, ev, f)})
	}
	last := len(ev.Steps) - 1
	phase := ev.Steps[0].Invocation.Phase
	rules := phases.RulesFor(phase)

	add("allow", func(_ int, inv phases.Invocation) phases.Verdict { return Allow(inv) })
	add("block", func(_ int, inv phases.Invocation) phases.Verdict {
		v := Allow(inv)
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
			v := Allow(inv)
			if i == last {
				v.Decision, v.DecidedBy, v.Reason = phases.Block, "spawn-gate", "too deep"
			}
			return v
		})
	}
	if rules.Context {
		add("context", func(_ int, inv phases.Invocation) phases.Verdict {
			v := Allow(inv)
			v.Contexts = []string{"[notes] the tests live in ./spec", "[notes] use make"}
			return v
		})
	}
	if rules.Ask {
		add("ask", func(_ int, inv phases.Invocation) phases.Verdict {
			v := Allow(inv)
			v.Decision, v.DecidedBy, v.Reason, v.Enforced = phases.Ask, "ask-push", "confirm the push", phases.EnforcedDelegated
			return v
		})
		add("ask_queue", func(_ int, inv phases.Invocation) phases.Verdict {
			v := Allow(inv)
			v.Decision, v.DecidedBy, v.Reason = phases.Ask, "ask-push", "confirm the push"
			v.Approval = &phases.ApprovalRef{ID: "a-17", Expires: time.Unix(1700000000, 0)}
			return v
		})
	}
	if rules.Reply {
		add("reply", func(_ int, inv phases.Invocation) phases.Verdict {
			v := Allow(inv)
			v.Reply = &phases.Reply{Text: "the deployment is frozen until Monday", Hook: "freeze"}
			return v
		})
	}
	if rules.Retry {
		add("retry", func(_ int, inv phases.Invocation) phases.Verdict {
			v := Allow(inv)
			v.Retry = &phases.Retry{Instruction: "run the tests first", Max: 2, Hook: "definition-of-done"}
			return v
		})
	}
	if rules.Grant {
		grant := &phases.Grant{Reason: "read-only command", Hook: "readonly"}
		add("grant", func(i int, inv phases.Invocation) phases.Verdict {
			v := Allow(inv)
			if i == 0 {
				v.Grant = grant
			}
			return v
		})
		add("grant_ask", func(_ int, inv phases.Invocation) phases.Verdict {
			v := Allow(inv)
			v.Decision, v.DecidedBy, v.Reason = phases.Ask, "ask-push", "confirm the push"
			if inv.Phase == phases.PreTool {
				v.Grant = grant
			}
			return v
		})
		add("grant_rewrite", func(i int, inv phases.Invocation) phases.Verdict {
			if i > 0 {
				return Allow(inv)
			}
			v := RewriteAt(t, inv, argument, `"changed"`)
			v.Grant = grant
			return v
		})
	}
	if rules.Clamp {
		add("clamp", func(_ int, inv phases.Invocation) phases.Verdict {
			v := Allow(inv)
			v.Scopes.FSWrite = phases.Scope{"/home/dev/project/**"}
			v.Hooks = []phases.HookReport{{Hook: "clamp", Mode: phases.Enforce,
				Effects: []phases.Effect{{Kind: phases.EffectClamp, Scopes: &v.Scopes}}}}
			return v
		})
	}
	for name, r := range rewrites(t, argument, ev) {
		add("rewrite_"+name, func(i int, inv phases.Invocation) phases.Verdict {
			if i != r.step {
				return Allow(inv)
			}
			return RewriteAt(t, inv, r.ptr, r.value)
		})
	}
	return out
}

type rewriteCase struct {
	step       int
	ptr, value string
}

// rewrites lists what hooks may change, in the words of the phase.
func rewrites(t testing.TB, argument string, ev adapters.Event) map[string]rewriteCase {
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
		out["args"] = rewriteCase{0, argument, `"changed"`}
		if len(ev.Steps) > 1 {
			out["child_prompt"] = rewriteCase{1, "/child/prompt", `"Only read"`}
			out["child_tools"] = rewriteCase{1, "/child/tools", `["read"]`}
		}
	case phases.PostTool:
		out["other_shape"] = rewriteCase{0, "/result", `{"text":"[redacted]"}`}
		out["record_only"] = rewriteCase{0, argument, `"[redacted]"`}
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
	// Of a request, and of what is only observed, runtimes tell more in some events than in others.
	for name, r := range out {
		_, there := phases.Get(ev.Steps[r.step].Invocation.Action, r.ptr[:strings.LastIndexByte(r.ptr, '/')])
		if !there && (inv.Phase == phases.PreSend || inv.Phase == phases.Audit) {
			delete(out, name)
		}
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
