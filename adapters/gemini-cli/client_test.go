package geminicli_test

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// effect is what Gemini CLI does with an answer, as it was measured.
type effect struct {
	blocked bool // the event does not happen: no tool, no request to the model
	stopped bool // the run ends
	goesOn  bool // an end that does not end: the agent works on
	asks    bool // a person is asked; a headless run never ends
	failed  bool // the hook counts as failed, and the event goes on as if there were none
	input   any  // with which the tool runs
	output  any  // that the model reads of a tool
	reply   any  // that counts as the model's
	request any  // that the model gets
	context string
}

// react returns what the client does. payload is the event's own.
func react(event string, payload []byte, ans adapters.Answer) effect {
	p := parseObject(payload)
	e := effect{input: p["tool_input"], output: p["tool_response"], reply: p["llm_response"],
		request: p["llm_request"]}
	m := output(ans)
	if m == nil {
		e.failed = ans.Exit != 0 || len(ans.Stdout) > 0
		return e
	}
	specific, _ := m["hookSpecificOutput"].(map[string]any)
	text := func(m map[string]any, name string) string { s, _ := m[name].(string); return strings.TrimSpace(s) }
	e.context = text(specific, "additionalContext")
	deny := m["decision"] == "deny" || m["decision"] == "block"
	switch event {
	case "SessionStart":
		return e // nothing else is read
	case "BeforeToolSelection", "SessionEnd", "PreCompress", "Notification":
		e.context = ""
		return e
	}
	reason := text(m, "stopReason")
	if reason == "" {
		reason = text(m, "reason")
	}
	switch {
	case m["continue"] == false:
		e.stopped = true
		e.output = map[string]any{"error": reason}
		return e
	case deny && event == "AfterAgent":
		e.goesOn = true
		return e
	case deny && event == "AfterTool":
		e.output = map[string]any{"error": reason}
		return e
	case deny:
		e.blocked = true
		return e
	case m["decision"] == "ask" && event == "BeforeTool":
		e.asks = true
	}
	switch event {
	case "BeforeTool":
		if in, ok := specific["tool_input"].(map[string]any); ok {
			merged := maps.Clone(e.input.(map[string]any))
			maps.Copy(merged, in)
			e.input = merged
		}
	case "BeforeModel":
		if req, ok := specific["llm_request"].(map[string]any); ok {
			merged := maps.Clone(e.request.(map[string]any))
			maps.Copy(merged, req)
			e.request = merged
		}
	case "AfterModel":
		if got, ok := specific["llm_response"].(map[string]any); ok {
			if list, _ := got["candidates"].([]any); len(list) > 0 {
				e.reply = got
			}
		}
	}
	return e
}

// output is the object that the client makes of an answer, nil for none: JSON of any exit status counts,
// a text is the reason of a deny where the status is neither 0 nor 1.
func output(ans adapters.Answer) map[string]any {
	text := strings.TrimSpace(string(ans.Stdout))
	if text == "" {
		text = strings.TrimSpace(ans.Stderr)
	}
	if text == "" {
		return nil
	}
	if m := parseObject([]byte(text)); m != nil {
		return m
	}
	if ans.Exit == 0 || ans.Exit == 1 || ans.Exit < 0 {
		return nil
	}
	return map[string]any{"decision": "deny", "reason": text}
}

func parseObject(b []byte) map[string]any {
	var m map[string]any
	if json.Unmarshal(b, &m) != nil {
		return nil
	}
	return m
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return phases.Same(jsontext.Value(x), jsontext.Value(y))
}

// holds reports whether the answer keeps the event from happening, or has the session latched.
func holds(event string, payload []byte, ans adapters.Answer) bool {
	e := react(event, payload, ans)
	hidden := event == "AfterTool" && !same(e.output, parseObject(payload)["tool_response"])
	return e.blocked || hidden || e.stopped && !e.goesOn || ans.Latch != ""
}
