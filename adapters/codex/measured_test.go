package codex_test

import (
	"encoding/json"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
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

// answers gives the answer of each measured case that is one: the others are settings of the client,
// two hooks at once, or no answer at all.
func answers() map[string]adapters.Answer {
	out := func(s string) adapters.Answer { return adapters.Answer{Stdout: []byte(s)} }
	pre := func(s string) adapters.Answer {
		return out(`{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + s + `}}`)
	}
	post := func(s string) adapters.Answer {
		return out(`{"hookSpecificOutput":{"hookEventName":"PostToolUse",` + s + `}}`)
	}
	deny := `"permissionDecision":"deny","permissionDecisionReason":"no"`
	block := out(`{"decision":"block","reason":"no"}`)
	stop := out(`{"continue":false,"stopReason":"no"}`)
	exit2 := adapters.Answer{Exit: 2, Stderr: "no"}
	return map[string]adapters.Answer{
		"PreToolUse/no-decision":                 {},
		"PreToolUse/deny-with-reason":            pre(deny),
		"PreToolUse/deny-without-reason":         pre(`"permissionDecision":"deny"`),
		"PreToolUse/legacy-block":                block,
		"PreToolUse/exit2-with-stderr":           exit2,
		"PreToolUse/exit2-empty-stderr":          {Exit: 2},
		"PreToolUse/exit1":                       {Exit: 1, Stderr: "no"},
		"PreToolUse/deny-and-exit1":              {Exit: 1, Stdout: pre(deny).Stdout},
		"PreToolUse/plain-text-stdout":           out("denied"),
		"PreToolUse/invalid-json":                out(`{"hookSpecificOutput":{"hookEventName":"PreToolUse",`),
		"PreToolUse/unknown-decision-value":      pre(`"permissionDecision":"reject","permissionDecisionReason":"no"`),
		"PreToolUse/deny-unknown-field-inside":   pre(deny + `,"more":1`),
		"PreToolUse/deny-unknown-field-top":      out(`{"more":1,` + string(pre(deny).Stdout[1:])),
		"PreToolUse/deny-suppress-output":        out(`{"suppressOutput":true,` + string(pre(deny).Stdout[1:])),
		"PreToolUse/ask":                         pre(`"permissionDecision":"ask","permissionDecisionReason":"sure?"`),
		"PreToolUse/continue-false":              stop,
		"PreToolUse/command-not-found":           {Exit: 127, Stderr: "not found"},
		"PreToolUse/hook-killed":                 {Exit: -1},
		"PreToolUse/allow-with-updated-input":    pre(`"permissionDecision":"allow","updatedInput":{"command":"x"}`),
		"PreToolUse/updated-input-without-allow": pre(`"updatedInput":{"command":"x"}`),
		"PreToolUse/bare-allow":                  pre(`"permissionDecision":"allow"`),
		"PostToolUse/block-with-reason":          block,
		"PostToolUse/exit2-with-stderr":          exit2,
		"PostToolUse/updated-tool-output":        post(`"updatedToolOutput":"x"`),
		"PostToolUse/updated-mcp-tool-output":    post(`"updatedMCPToolOutput":"x"`),
		"PostToolUse/continue-false":             stop,
		"PostToolUse/additional-context":         post(`"additionalContext":"x"`),
		"UserPromptSubmit/block":                 block,
		"UserPromptSubmit/exit2-with-stderr":     exit2,
		"UserPromptSubmit/continue-false":        stop,
		"Stop/block-with-reason":                 block,
		"PreModelRequest/block":                  block,
		"PreModelRequest/continue-false":         out(`{"continue":false}`),
		"PreModelRequest/exit2":                  exit2,
		"PreModelRequest/exit1":                  {Exit: 1, Stderr: "no"},
	}
}

// apart names the measured cases that are no single answer.
func apart(c measuredCase) bool {
	switch c.Case {
	case "timeout", "two-rewrites", "slow-deny-fast-rewrite", "untrusted-hook":
		return true
	}
	return c.Transport == "mcp_tool"
}

// TestClientModel checks the model of the client, with which the other tests judge answers, against
// the measurements.
func TestClientModel(t *testing.T) {
	known, client := answers(), newClient(t)
	seen := map[string]bool{}
	for _, c := range measured(t) {
		key := c.Event + "/" + c.Case
		if apart(c) {
			continue
		}
		ans, ok := known[key]
		if !ok {
			t.Errorf("%s: not in the model", key)
			continue
		}
		seen[key] = true
		payload := payloadOf(t, "events."+c.Event)
		p := parseObject(payload)
		e := client.react(c.Event, payload, ans)
		got := "ran"
		switch {
		case e.blocked:
			got = "blocked"
		case e.goesOn:
			got = "continued"
		case !same(e.input, p["tool_input"]):
			got = "input_rewritten"
		case e.context != "":
			got = "context_added"
		case c.Event == "PostToolUse" && !same(e.output, p["tool_response"]):
			got = "output_replaced"
		case c.Event == "PostToolUse":
			got = "output_unchanged"
		}
		if got != c.Client {
			t.Errorf("%s: the model says %s, the client %s", key, got, c.Client)
		}
	}
	for key := range known {
		if !seen[key] {
			t.Errorf("%s: not a measured case", key)
		}
	}
}

// TestEveryBlockHolds: what a hook blocks, and what fails, is held in every event by the answer
// itself or by a latch.
func TestEveryBlockHolds(t *testing.T) {
	a, c := codex.New(), newClient(t)
	for _, s := range samples(t) {
		ev := decode(t, s)
		held := func(name string, ans adapters.Answer) {
			e := c.react(s.Event, s.Payload, ans)
			hidden := s.Event == "PostToolUse" && !same(e.output, parseObject(s.Payload)["tool_response"])
			stops := (s.Event == "Stop" || s.Event == "SubagentStop") && e.stopped && !e.goesOn
			if !e.blocked && !hidden && !stops && ans.Latch == "" {
				t.Errorf("%s: %s is not held: %+v", s.Name, name, ans)
			}
			if e.failed && ans.Latch == "" {
				t.Errorf("%s: %s: the client takes the answer for a failure: %+v", s.Name, name, ans)
			}
		}
		for _, v := range verdictcases.Of(t, a, argument, ev) {
			if v.Name == "block" || v.Name == "hook_failure" || v.Name == "reply" || v.Name == "ask" || v.Name == "ask_queue" {
				held(v.Name, a.Encode(ev, v.Verdicts))
			}
		}
		for _, b := range [][]byte{s.Payload, s.Payload[:len(s.Payload)/2], nil} {
			held("a failure", a.Failure(b, adapters.Options{Event: s.Event}, phases.NewFault(phases.KindStore, "x", nil)))
		}
	}
}

// TestNeverAsks: Codex runs a call whose hook asks.
func TestNeverAsks(t *testing.T) {
	for _, s := range samples(t) {
		for _, st := range decode(t, s).Steps {
			if st.NativeAsk || st.CarriesScopes {
				t.Errorf("%s: Codex asks no person for a hook, and carries no scopes", s.Name)
			}
		}
	}
}
