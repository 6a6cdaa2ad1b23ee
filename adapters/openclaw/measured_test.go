package openclaw_test

import (
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/adapters/openclaw"
	"github.com/belay-hooks/belay/phases"
)

// measuredCase is one row of testdata/measured.json.
type measuredCase struct {
	Event    string `json:"event"`
	Case     string `json:"case"`
	Client   string `json:"client"`
	FailOpen bool   `json:"fail_open"`
}

// TestMeasured compares what the answers have the plugin do with the measurements: each way of the plugin is one that
// held in the client, and the plugin has no way that failed open.
func TestMeasured(t *testing.T) {
	var rows []measuredCase
	if err := json.Unmarshal(readFile(t, "testdata/measured.json"), &rows); err != nil {
		t.Fatal(err)
	}
	ways := map[string]string{} // what the plugin relies on, and what the client did
	for _, r := range rows {
		ways[r.Event+"/"+r.Case] = r.Client
	}
	for way, want := range map[string]string{
		"before_tool_call/no-op":                     "ran",
		"before_tool_call/block":                     "blocked",
		"before_tool_call/params-rewrite":            "input_rewritten",
		"before_tool_call/throw":                     "blocked",
		"before_tool_call/require-approval-headless": "blocked",
		// so that the plugin returns objects of the right types alone
		"before_tool_call/returns-string": "ran",
		"before_tool_call/wrong-types":    "ran",
		// so that the middleware decides what the model reads
		"tool_result_persist/replace-message": "output_unchanged",
		// so that a block latches the session
		"after_tool_call/throw": "ran",
	} {
		if ways[way] != want {
			t.Errorf("%s: the client did %q, the plugin relies on %q", way, ways[way], want)
		}
	}
	a := openclaw.New()
	s := sample{Payload: payloadOf(t, "captured.before_tool_call.exec")}
	ev := decode(t, s)
	v := verdictcases.Allow(ev.Steps[0].Invocation)
	v.Decision, v.Reason = phases.Block, "no"
	ans := a.Encode(ev, []phases.Verdict{v})
	if string(ans.Stdout) !=
		`{"decision":"block","reason":"belay: no","set":[{"path":"","value":{"block":true,"blockReason":"belay: no"}}]}` {
		t.Errorf("a block: %s", ans.Stdout)
	}
	ans = a.Encode(ev, []phases.Verdict{verdictcases.RewriteAt(t, ev.Steps[0].Invocation, argument, `"ls"`)})
	if string(ans.Stdout) != `{"decision":"allow","set":[{"path":"","value":{"params":{"command":"ls"}}}]}` {
		t.Errorf("a changed argument: %s", ans.Stdout)
	}
}

// TestEveryBlockHolds: what a hook blocks, and what fails, is held in every event by the answer itself or by a latch.
func TestEveryBlockHolds(t *testing.T) {
	a := openclaw.New()
	for _, s := range samples(t) {
		ev := decode(t, s)
		check := func(name string, ans adapters.Answer) {
			if !held(s.Event, s.Payload, ans) {
				t.Errorf("%s: %s is not held: %+v", s.Name, name, ans)
			}
		}
		for _, v := range verdictcases.Of(t, a, argument, ev) {
			switch v.Name {
			case "ask":
				if ev.Steps[0].NativeAsk {
					continue // OpenClaw asks its person
				}
				check(v.Name, a.Encode(ev, v.Verdicts))
			case "retry":
				if s.Event == "before_agent_finalize" {
					if !react(s.Event, s.Payload, a.Encode(ev, v.Verdicts)).goesOn {
						t.Errorf("%s: the agent does not go on", s.Name)
					}
					continue
				}
				check(v.Name, a.Encode(ev, v.Verdicts))
			case "block", "hook_failure", "reply", "ask_queue":
				check(v.Name, a.Encode(ev, v.Verdicts))
			}
		}
		for _, b := range [][]byte{s.Payload, s.Payload[:len(s.Payload)/2], nil} {
			check("a failure", a.Failure(b, adapters.Options{Event: s.Event}, phases.NewFault(phases.KindStore, "x", nil)))
			check("one of no known event", a.Failure(b, adapters.Options{}, phases.NewFault(phases.KindStore, "x", nil)))
		}
	}
}

// TestAQuestionNeedsAPerson: OpenClaw asks its person where the plugin knows that there is one; elsewhere an ask waits
// in belay's queue, or is a block.
func TestAQuestionNeedsAPerson(t *testing.T) {
	a, payload := openclaw.New(), payloadOf(t, "captured.before_tool_call.exec")
	for _, person := range []bool{false, true} {
		b, err := phases.Set(payload, "/person", jsontext.Value(map[bool]string{false: "false", true: "true"}[person]))
		if err != nil {
			t.Fatal(err)
		}
		ev, err := a.Decode(b, adapters.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := verdictcases.Allow(ev.Steps[0].Invocation)
		v.Decision, v.DecidedBy, v.Reason, v.Enforced = phases.Ask, "ask-push", "confirm", phases.EnforcedDelegated
		ans := a.Encode(ev, []phases.Verdict{v})
		if e := react(ev.Name, b, ans); e.asked != person || e.held == person {
			t.Errorf("person %v: %s", person, ans.Stdout)
		}
	}
}

// TestNoArgumentIsTakenOut: OpenClaw lays changed arguments over those of the model, so that one that a hook takes out
// would stay.
func TestNoArgumentIsTakenOut(t *testing.T) {
	a := openclaw.New()
	ev, err := a.Decode([]byte(`{"hook":"before_tool_call","directory":"/p","event":{"toolName":"exec",`+
		`"params":{"command":"ls","elevated":true}}}`), adapters.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := verdictcases.RewriteAt(t, ev.Steps[0].Invocation, "/args", `{"command":"ls"}`)
	if ans := a.Encode(ev, []phases.Verdict{v}); !held(ev.Name, ev.Payload, ans) {
		t.Errorf("an argument that is taken out stays: %s", ans.Stdout)
	}
}

// TestShellsThatStayOpen: what the tool process writes into a command is judged by no guard, so that the command says
// that its input is not seen.
func TestShellsThatStayOpen(t *testing.T) {
	for tool, want := range map[string]bool{"exec": true, "bash": true, "process": false, "read": false} {
		b := `{"hook":"before_tool_call","directory":"/p","event":{"toolName":"` + tool + `","params":{"command":"bash","pty":true}}}`
		ev, err := openclaw.New().Decode([]byte(b), adapters.Options{})
		if err != nil || ev.Steps[0].UnseenInput != want {
			t.Errorf("%s: %v, %v", tool, ev.Steps, err)
		}
	}
}

// TestChangedMessages: a message of the transcript goes back with its role and the shape of its content; any other is
// withheld.
func TestChangedMessages(t *testing.T) {
	a := openclaw.New()
	ev := decode(t, sample{Name: "m", Payload: []byte(`{"hook":"before_message_write","directory":"/p","event":{"message":` +
		`{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"secret"}]}}}`)})
	for ptr, c := range map[string]struct {
		value string
		ok    bool
	}{
		"/data/message/content/0/text": {`"[removed]"`, true}, "/data/message/role": {`"user"`, false},
		"/data/message/toolCallId": {`"d"`, false}, "/data/message/content": {`"[removed]"`, false},
		"/data/message/content/0": {`{"type":"text"}`, false}, "/data/message": {`"x"`, false},
	} {
		ans := a.Encode(ev, []phases.Verdict{verdictcases.RewriteAt(t, ev.Steps[0].Invocation, ptr, c.value)})
		got, err := readAnswer(ans.Stdout)
		if err != nil || (got.Decision == "allow") != c.ok {
			t.Errorf("%s: %v: %s", ptr, err, ans.Stdout)
		}
	}
}
