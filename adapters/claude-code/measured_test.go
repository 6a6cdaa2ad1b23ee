package claudecode_test

import (
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/internal/goldens"
	"github.com/belay-hooks/belay/phases"
)

// measuredCase is one row of testdata/measured.json.
type measuredCase struct {
	Event     string `json:"event"`
	Transport string `json:"transport"`
	Case      string `json:"case"`
	Client    string `json:"client"`
	FailOpen  bool   `json:"fail_open"`
}

func measured(t testing.TB) []measuredCase {
	t.Helper()
	var out []measuredCase
	if err := json.Unmarshal(readFile(t, "testdata/measured.json"), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// openForm recognises an answer in which Claude Code was seen to fail open.
type openForm func(event string, payload []byte, ans adapters.Answer) bool

// none is an answer that never came: nothing on any channel.
func none(_ string, _ []byte, ans adapters.Answer) bool {
	return len(ans.Stdout) == 0 && ans.Stderr == "" && ans.Exit == 0
}

func exitIs(code int) openForm {
	return func(_ string, _ []byte, ans adapters.Answer) bool { return ans.Exit == code }
}

// notSuccess: only a 2xx body decides. Exempt is what has no JSON form at all.
func notSuccess(event string, _ []byte, ans adapters.Answer) bool {
	status, _, _ := ans.HTTP()
	return status != 200 && event != "WorktreeCreate"
}

func notJSON(_ string, _ []byte, ans adapters.Answer) bool {
	return ans.Exit == 0 && parseObject(ans.Stdout) == nil
}

func bodyNotJSON(_ string, _ []byte, ans adapters.Answer) bool {
	status, _, body := ans.HTTP()
	return status == 200 && parseObject(body) == nil
}

func continueFalse(event string, _ []byte, ans adapters.Answer) bool {
	m := parseObject(ans.Stdout)
	return m["continue"] == false && event == "PreToolUse"
}

// killed is the status of a process that a signal has ended.
func killed(_ string, _ []byte, ans adapters.Answer) bool { return ans.Exit < 0 || ans.Exit > 127 }

func specificOf(ans adapters.Answer) map[string]any {
	m, _ := parseObject(ans.Stdout)["hookSpecificOutput"].(map[string]any)
	return m
}

// openForms returns, for event/transport/case, the form that must never be answered.
func openForms() map[string]openForm {
	return map[string]openForm{
		"PreToolUse/command/continue-false":                    continueFalse,
		"PreToolUse/http/continue-false":                       continueFalse,
		"PreToolUse/command/exit1":                             exitIs(1),
		"PreToolUse/command/exit3":                             exitIs(3),
		"PreToolUse/command/exit127":                           exitIs(127),
		"PreToolUse/command/command-not-found":                 exitIs(127),
		"PreToolUse/command/hook-killed":                       killed,
		"PreToolUse/command/plain-text-stdout":                 notJSON,
		"PreToolUse/command/plain-text-stdout+onFailure-block": notJSON,
		"PreToolUse/command/invalid-json":                      notJSON,
		"PreToolUse/command/invalid-json+onFailure-block":      notJSON,
		"PreToolUse/command/unknown-decision-value":            unknownDecision,
		"PreToolUse/command/wrong-event-name":                  wrongEventName,
		"PreToolUse/command/timeout":                           none,
		"PreToolUse/http/timeout":                              none,
		"PreToolUse/http/connection-refused":                   none,
		"PreToolUse/http/status-500":                           notSuccess,
		"PreToolUse/http/status-500-deny-body":                 notSuccess,
		"PreToolUse/http/status-403":                           notSuccess,
		"PreToolUse/http/status-403-deny-body":                 notSuccess,
		"PreToolUse/http/body-not-json":                        bodyNotJSON,
		"PreToolUse/http/body-bad-schema":                      badSchema,
		"PostToolUse/command/updated-tool-output-string":       otherShape,
		"PostToolUse/http/updated-tool-output-string":          otherShape,
		"PostToolUse/command/updated-tool-output-other-words":  otherShape,
		"PostToolUse/command/exit1+onFailure-block":            exitIs(1),
		"PostToolUse/command/hook-killed+onFailure-block":      killed,
		"PostToolUse/command/block-with-reason":                feedbackOnly,
		"PostToolUse/http/block-with-reason":                   feedbackOnly,
		"PostToolUse/command/updated-mcp-tool-output":          wrongMember,
		"PostToolUse/command/exit2-with-stderr": func(event string, _ []byte, ans adapters.Answer) bool {
			return event == "PostToolUse" && ans.Exit == 2
		},
	}
}

func unknownDecision(_ string, _ []byte, ans adapters.Answer) bool {
	d, ok := specificOf(ans)["permissionDecision"]
	return ok && d != "allow" && d != "deny" && d != "ask"
}

func wrongEventName(event string, _ []byte, ans adapters.Answer) bool {
	s := specificOf(ans)
	return s != nil && s["hookEventName"] != event
}

func otherShape(event string, payload []byte, ans adapters.Answer) bool {
	for _, member := range []string{"updatedToolOutput", "updatedMCPToolOutput"} {
		if v, ok := specificOf(ans)[member]; ok &&
			(event != "PostToolUse" || !taken(toolOf(parseObject(payload)), parseObject(payload)["tool_response"], v)) &&
			ans.Latch == "" { // what the client may not take ends the run, and holds the session
			return true
		}
	}
	return false
}

// feedbackOnly: a block leaves the output readable, unless another output stands in its place.
func feedbackOnly(event string, _ []byte, ans adapters.Answer) bool {
	s := specificOf(ans)
	return event == "PostToolUse" && parseObject(ans.Stdout)["decision"] != nil && s["updatedToolOutput"] == nil &&
		s["updatedMCPToolOutput"] == nil
}

func wrongMember(_ string, payload []byte, ans adapters.Answer) bool {
	name, _ := parseObject(payload)["tool_name"].(string)
	mcp := len(name) > 5 && name[:5] == "mcp__"
	s := specificOf(ans)
	return (s["updatedMCPToolOutput"] != nil && !mcp) || (s["updatedToolOutput"] != nil && mcp)
}

// badSchema: members and types that Claude Code's output has; anything else is
// outside of it for this test, even where the client was seen to tolerate it.
func badSchema(event string, _ []byte, ans adapters.Answer) bool {
	m := parseObject(ans.Stdout)
	types := map[string]string{
		"continue": "bool", "stopReason": "string", "systemMessage": "string", "decision": "string", "reason": "string",
		"hookSpecificOutput": "object",
	}
	specific := map[string]map[string]string{
		"PreToolUse": {"permissionDecision": "string", "permissionDecisionReason": "string",
			"updatedInput": "object", "additionalContext": "string"},
		"PermissionRequest":   {"decision": "object"},
		"PostToolUse":         {"updatedToolOutput": "any", "updatedMCPToolOutput": "any", "additionalContext": "string"},
		"PostToolUseFailure":  {"additionalContext": "string"},
		"PostToolBatch":       {"additionalContext": "string"},
		"UserPromptSubmit":    {"additionalContext": "string"},
		"UserPromptExpansion": {"additionalContext": "string"},
		"SessionStart":        {"additionalContext": "string"},
		"SubagentStart":       {"additionalContext": "string"},
		"PreModelSwitch":      {"permissionDecision": "string", "permissionDecisionReason": "string"},
		"Elicitation":         {"action": "string"},
		"ElicitationResult":   {"action": "string", "content": "object"},
		"WorktreeCreate":      {"worktreePath": "string"},
	}
	ok := true
	check := func(m map[string]any, types map[string]string) {
		for k, v := range m {
			switch types[k] {
			case "bool":
				_, is := v.(bool)
				ok = ok && is
			case "string":
				s, is := v.(string)
				ok = ok && is && s != ""
			case "object":
				_, is := v.(map[string]any)
				ok = ok && is
			case "any":
			default:
				ok = false
			}
		}
	}
	check(m, types)
	if s := specificOf(ans); s != nil {
		delete(s, "hookEventName")
		check(s, specific[event])
	}
	return !ok
}

// badAnswers gives for each form an answer that has it, so that a form which
// recognises nothing is noticed.
func badAnswers() map[string]adapters.Answer {
	out := func(s string) adapters.Answer { return adapters.Answer{Stdout: []byte(s)} }
	deny := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`
	return map[string]adapters.Answer{
		"PreToolUse/command/continue-false":                    out(`{"continue":false,"stopReason":"no"}`),
		"PreToolUse/http/continue-false":                       out(`{"continue":false}`),
		"PreToolUse/command/exit1":                             {Stderr: "no", Exit: 1},
		"PreToolUse/command/exit3":                             {Stderr: "no", Exit: 3},
		"PreToolUse/command/exit127":                           {Stderr: "no", Exit: 127},
		"PreToolUse/command/command-not-found":                 {Stderr: "not found", Exit: 127},
		"PreToolUse/command/hook-killed":                       {Exit: 137},
		"PreToolUse/command/plain-text-stdout":                 out("denied"),
		"PreToolUse/command/plain-text-stdout+onFailure-block": out("denied"),
		"PreToolUse/command/invalid-json":                      out(deny[:len(deny)-1]),
		"PreToolUse/command/invalid-json+onFailure-block":      out(deny[:40]),
		"PreToolUse/command/unknown-decision-value": out(
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"reject"}}`),
		"PreToolUse/command/wrong-event-name": out(
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","permissionDecision":"deny"}}`),
		"PreToolUse/command/timeout":           {},
		"PreToolUse/http/timeout":              {},
		"PreToolUse/http/connection-refused":   {},
		"PreToolUse/http/status-500":           {Stderr: "no", Exit: 2},
		"PreToolUse/http/status-500-deny-body": {Stderr: deny, Exit: 2},
		"PreToolUse/http/status-403":           {Stderr: "no", Exit: 2},
		"PreToolUse/http/status-403-deny-body": {Stderr: deny, Exit: 2},
		"PreToolUse/http/body-not-json":        out("denied"),
		"PreToolUse/http/body-bad-schema": out(
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":{"deny":true}}}`),
		"PostToolUse/command/updated-tool-output-string": out(
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":"[redacted]"}}`),
		"PostToolUse/http/updated-tool-output-string": out(
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":"[redacted]"}}`),
		"PostToolUse/command/updated-tool-output-other-words": out(
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"stdout":7,"stderr":"",` +
				`"interrupted":false}}}`),
		"PostToolUse/command/exit1+onFailure-block":       {Stderr: "no", Exit: 1},
		"PostToolUse/command/hook-killed+onFailure-block": {Exit: 137},
		"PostToolUse/command/block-with-reason":           out(`{"decision":"block","reason":"no"}`),
		"PostToolUse/http/block-with-reason":              out(`{"decision":"block","reason":"no"}`),
		"PostToolUse/command/updated-mcp-tool-output": out(
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedMCPToolOutput":[{"type":"text","text":"x"}]}}`),
		"PostToolUse/command/exit2-with-stderr": {Stderr: "no", Exit: 2},
	}
}

func payloadOf(t testing.TB, name string) []byte {
	t.Helper()
	return goldens.PayloadOf(t, samples(t), name)
}

// TestOpenFormsCovered: each case in which the client failed open has a form,
// the form recognises an answer of that kind, and none is left over.
func TestOpenFormsCovered(t *testing.T) {
	forms, bad := openForms(), badAnswers()
	seen := map[string]bool{}
	for _, c := range measured(t) {
		if !c.FailOpen {
			continue
		}
		key := c.Event + "/" + c.Transport + "/" + c.Case
		seen[key] = true
		form, ok := forms[key]
		if !ok {
			t.Errorf("%s: no form", key)
			continue
		}
		ans, ok := bad[key]
		if !ok || !form(c.Event, payloadOf(t, "events."+c.Event), ans) {
			t.Errorf("%s: the form does not recognise %+v", key, ans)
		}
	}
	for key := range forms {
		if !seen[key] {
			t.Errorf("%s: not a measured case", key)
		}
	}
}

// assertClosed fails when the answer has one of the forms, for any event: what
// fails open in one is not tried in another.
func assertClosed(t rapid.TB, forms map[string]openForm, event string, payload []byte, ans adapters.Answer) {
	t.Helper()
	for key, form := range forms {
		if form(event, payload, ans) {
			t.Fatalf("%s: answer in the form of %s: exit %d stdout %s stderr %q", event, key, ans.Exit, ans.Stdout, ans.Stderr)
		}
	}
}

// TestNeverOpen holds every golden answer against every form.
func TestNeverOpen(t *testing.T) {
	forms, a := openForms(), claudecode.New()
	for _, s := range samples(t) {
		ev := decode(t, s)
		for _, c := range verdictCases(t, ev) {
			assertClosed(t, forms, s.Event, s.Payload, a.Encode(ev, c.verdicts))
		}
		for _, b := range [][]byte{s.Payload, s.Payload[:len(s.Payload)/2], nil} {
			ans := a.Failure(b, adapters.Options{Event: s.Event}, phases.NewFault(phases.KindStore, "x", nil))
			assertClosed(t, forms, s.Event, s.Payload, ans)
		}
	}
}

// TestClientModel checks the model of the client against the measurements.
func TestClientModel(t *testing.T) {
	bad := badAnswers()
	out := func(s string) adapters.Answer { return adapters.Answer{Stdout: []byte(s)} }
	specific := func(event, rest string) adapters.Answer {
		return out(`{"hookSpecificOutput":{"hookEventName":"` + event + `",` + rest + `}}`)
	}
	fine := map[string]adapters.Answer{
		"no-decision":            out("{}"),
		"body-empty":             out("{}"),
		"allow-needs-permission": specific("PreToolUse", `"permissionDecision":"allow"`),
		"deny": specific("PreToolUse",
			`"permissionDecision":"deny","permissionDecisionReason":"x"`),
		"deny-with-reason": specific("PreToolUse",
			`"permissionDecision":"deny","permissionDecisionReason":"x"`),
		"deny-unknown-fields": specific("PreToolUse", `"permissionDecision":"deny","more":1`),
		"deny-and-exit1":      {Stdout: specific("PreToolUse", `"permissionDecision":"deny"`).Stdout, Exit: 1},
		"legacy-block":        out(`{"decision":"block","reason":"x"}`),
		"block":               out(`{"decision":"block","reason":"x"}`),
		"exit2-with-stderr":   {Stderr: "x", Exit: 2},
		"exit2-empty-stderr":  {Exit: 2},
		"allow-with-updated-input": specific("PreToolUse",
			`"permissionDecision":"allow","updatedInput":{"command":"ls"}`),
		"updated-input-without-decision": specific("PreToolUse", `"updatedInput":{"command":"ls"}`),
		"updated-tool-output-with-block": out(`{"decision":"block","reason":"x","hookSpecificOutput":{"hookEventName":` +
			`"PostToolUse","updatedToolOutput":{"stdout":"x","stderr":"","interrupted":false,"isImage":false}}}`),
		"updated-tool-output-right-shape": specific("PostToolUse",
			`"updatedToolOutput":{"stdout":"x","stderr":"","interrupted":false,"isImage":false}`),
	}
	// Not an answer, but a setting of the client, its mode, or several hooks at once.
	apart := map[string]bool{
		"no-decision-needs-permission": true, "ask-headless": true, "defer-headless": true, "two-rewrites": true,
	}
	for _, c := range measured(t) {
		key := c.Event + "/" + c.Transport + "/" + c.Case
		ans, ok := bad[key]
		if !ok {
			ans, ok = fine[c.Case]
		}
		if !ok {
			if !apart[c.Case] && !isOnFailure(c.Case) {
				t.Errorf("%s: not in the model", key)
			}
			continue
		}
		payload := payloadOf(t, "events."+c.Event)
		e := react(c.Event, payload, ans, c.Transport == "http")
		in := !same(e.input, parseObject(payload)["tool_input"])
		replaced := !same(e.output, parseObject(payload)["tool_response"])
		got := "ran"
		switch {
		case e.blocked:
			got = "blocked"
		case e.stopped:
			got = "stopped"
		case in:
			got = "input_rewritten"
		case c.Event == "PostToolUse" && replaced:
			got = "output_replaced"
		case c.Event == "PostToolUse":
			got = "output_unchanged"
		}
		if got != c.Client {
			t.Errorf("%s: the model says %s, the client %s", key, got, c.Client)
		}
	}
}

// isOnFailure: the setting onFailure is no form of answer.
func isOnFailure(name string) bool {
	const suffix = "+onFailure-block"
	return len(name) > len(suffix) && name[len(name)-len(suffix):] == suffix
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return phases.Same(jsontext.Value(x), jsontext.Value(y))
}
