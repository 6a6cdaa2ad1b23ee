package geminicli_test

import (
	"encoding/json"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/phases"
)

// measuredCase is one row of testdata/measured.json.
type measuredCase struct {
	Event    string `json:"event"`
	Case     string `json:"case"`
	Client   string `json:"client"`
	FailOpen bool   `json:"fail_open"`
}

func measured(t testing.TB) []measuredCase {
	t.Helper()
	var out []measuredCase
	if err := json.Unmarshal(readFile(t, "testdata/measured.json"), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// answers gives the answer of each measured case that is one: the others are two hooks at once, or no
// answer at all.
func answers() map[string]adapters.Answer {
	out := func(s string) adapters.Answer { return adapters.Answer{Stdout: []byte(s)} }
	with := func(event, s string) adapters.Answer {
		return out(`{"hookSpecificOutput":{"hookEventName":"` + event + `",` + s + `}}`)
	}
	deny, stop := out(`{"decision":"deny","reason":"no"}`), out(`{"continue":false,"stopReason":"no"}`)
	exit2 := adapters.Answer{Exit: 2, Stderr: "no"}
	return map[string]adapters.Answer{
		"BeforeTool/no-decision":                 {},
		"BeforeTool/deny":                        deny,
		"BeforeTool/exit2-with-stderr":           exit2,
		"BeforeTool/exit2-silent":                {Exit: 2},
		"BeforeTool/exit2-json-without-decision": {Exit: 2, Stdout: []byte(`{"reason":"no"}`)},
		"BeforeTool/exit1":                       {Exit: 1, Stderr: "no"},
		"BeforeTool/deny-and-exit1":              {Exit: 1, Stdout: deny.Stdout},
		"BeforeTool/exit127-with-stderr":         {Exit: 127, Stderr: "not found"},
		"BeforeTool/plain-text-stdout":           out("denied"),
		"BeforeTool/invalid-json":                out(`{"decision":"deny",`),
		"BeforeTool/unknown-decision-value":      out(`{"decision":"reject","reason":"no"}`),
		"BeforeTool/hook-killed":                 {Exit: -1},
		"BeforeTool/tool-input-rewrite":          with("BeforeTool", `"tool_input":{"command":"x"}`),
		"BeforeTool/ask-headless":                out(`{"decision":"ask","reason":"sure?"}`),
		"BeforeTool/continue-false":              stop,
		"AfterTool/deny":                         deny,
		"AfterTool/exit2-with-stderr":            exit2,
		"AfterTool/additional-context":           with("AfterTool", `"additionalContext":"x"`),
		"AfterTool/continue-false":               stop,
		"BeforeModel/deny":                       deny,
		"BeforeModel/exit1":                      {Exit: 1, Stderr: "no"},
		"BeforeModel/request-rewrite":            with("BeforeModel", `"llm_request":{"messages":[{"role":"user","content":"x"}]}`),
		"BeforeModel/response-without-decision":  with("BeforeModel", `"llm_response":{"text":"x"}`),
		"BeforeAgent/deny":                       deny,
		"BeforeToolSelection/mode-none":          with("BeforeToolSelection", `"toolConfig":{"mode":"NONE"}`),
		"AfterModel/response-rewrite": with("AfterModel",
			`"llm_response":{"candidates":[{"content":{"role":"model","parts":["x"]}}]}`),
	}
}

// TestClientModel checks the model of the client, with which the other tests judge answers, against
// the measurements.
func TestClientModel(t *testing.T) {
	known, seen := answers(), map[string]bool{}
	for _, c := range measured(t) {
		key := c.Event + "/" + c.Case
		if c.Case == "timeout" || c.Case == "deny-then-allow" { // no answer, and two at once
			continue
		}
		ans, ok := known[key]
		if !ok {
			t.Errorf("%s: not in the model", key)
			continue
		}
		seen[key] = true
		payload := payloadOf(t, "events."+c.Event)
		p, e := parseObject(payload), react(c.Event, payload, ans)
		got := "ran"
		switch {
		case e.blocked, e.asks:
			got = "blocked"
		case e.stopped:
			got = "stopped"
		case !same(e.input, p["tool_input"]), !same(e.request, p["llm_request"]):
			got = "input_rewritten"
		case !same(e.reply, p["llm_response"]):
			got = "model_reply_replaced"
		case c.Event == "AfterTool" && !same(e.output, p["tool_response"]):
			got = "output_replaced"
		case e.context != "":
			got = "context_added"
		}
		if got != c.Client {
			t.Errorf("%s: the model says %s, the client %s", key, got, c.Client)
		}
		if c.FailOpen && (e.blocked || e.stopped || e.asks) {
			t.Errorf("%s: the client went on, and the model does not", key)
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
	a := geminicli.New()
	for _, s := range samples(t) {
		ev := decode(t, s)
		held := func(name string, payload []byte, ans adapters.Answer) {
			t.Helper()
			if !holds(s.Event, s.Payload, ans) {
				t.Errorf("%s: %s is not held: %+v", s.Name, name, ans)
			}
			e := react(s.Event, s.Payload, ans)
			if (e.failed || e.goesOn) && ans.Latch == "" {
				t.Errorf("%s: %s: the client goes on: %+v", s.Name, name, ans)
			}
			if e.asks {
				t.Errorf("%s: %s: a question: %+v", s.Name, name, ans)
			}
		}
		for _, v := range verdictcases.Of(t, a, argument, ev) {
			switch v.Name {
			case "block", "hook_failure", "reply", "ask", "ask_queue":
				held(v.Name, s.Payload, a.Encode(ev, v.Verdicts))
			}
		}
		for _, b := range [][]byte{s.Payload, s.Payload[:len(s.Payload)/2], nil} {
			ans := a.Failure(b, adapters.Options{Event: s.Event}, phases.NewFault(phases.KindStore, "x", nil))
			held("a failure", b, ans)
			if ans.Exit == 2 { // a pipe that breaks loses the end of the object
				for _, n := range []int{0, 1, len(ans.Stdout) / 2, len(ans.Stdout) - 1} {
					cut := ans
					cut.Stdout = ans.Stdout[:n]
					held("a failure that is cut", b, cut)
				}
			}
		}
	}
}

// TestNeverAsks: a headless run whose hook asks never ends, and no event tells whether a person is there.
func TestNeverAsks(t *testing.T) {
	for _, s := range samples(t) {
		for _, st := range decode(t, s).Steps {
			if st.NativeAsk || st.CarriesScopes {
				t.Errorf("%s: Gemini CLI asks no person for a hook, and carries no scopes", s.Name)
			}
		}
	}
}
