package opencode_test

import (
	"encoding/json"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/adapters/opencode"
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
		"tool.execute.before/throw":             "blocked",
		"tool.execute.before/mutate-args-field": "input_rewritten",
		"tool.execute.after/throw":              "output_replaced",
		"tool.execute.after/set-output":         "output_replaced",
		"chat.message/throw":                    "failed",
		"chat.params/set-temperature":           "input_rewritten",
		"experimental.text.complete/set-text":   "model_reply_replaced",
		// so that the bus event stands in its place
		"permission.ask/status-deny": "hook_not_called",
		// so that the plugin has a deadline
		"tool.execute.before/never-resolves": "hung",
		// so that the plugin returns nothing
		"tool.execute.before/return-value": "ran",
		// so that it changes members in place
		"tool.execute.before/replace-args-object":                 "ran",
		"experimental.chat.system.transform/replace-system-array": "ran",
	} {
		if ways[way] != want {
			t.Errorf("%s: the client did %q, the plugin relies on %q", way, ways[way], want)
		}
	}
	a := opencode.New()
	block := func(name string) effect {
		s := sample{Name: name, Payload: payloadOf(t, name)}
		ev := decode(t, s)
		v := verdictcases.Allow(ev.Steps[0].Invocation)
		v.Decision, v.Reason = phases.Block, "no"
		return react(ev.Name, s.Payload, a.Encode(ev, []phases.Verdict{v}))
	}
	for _, name := range []string{"captured.tool.execute.before.bash", "captured.tool.execute.after.bash",
		"captured.chat.message"} {
		if !block(name).threw {
			t.Errorf("%s: a block does not throw", name)
		}
	}
	if e := block("captured.experimental.text.complete"); e.threw {
		t.Error("a throw at the end of a text leaves the text as it is")
	}
	s := sample{Payload: payloadOf(t, "captured.tool.execute.before.bash")}
	ev := decode(t, s)
	ans := a.Encode(ev, []phases.Verdict{verdictcases.RewriteAt(t, ev.Steps[0].Invocation, argument, `"ls"`)})
	if string(ans.Stdout) != `{"decision":"allow","set":[{"path":"/args/command","value":"ls"}]}` {
		t.Errorf("a changed argument: %s", ans.Stdout)
	}
}

// TestEveryBlockHolds: what a hook blocks, and what fails, is held in every event by the answer itself or by a latch.
func TestEveryBlockHolds(t *testing.T) {
	a := opencode.New()
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
					continue // OpenCode asks its person
				}
				check(v.Name, a.Encode(ev, v.Verdicts))
			case "block", "hook_failure", "reply", "ask_queue", "retry":
				check(v.Name, a.Encode(ev, v.Verdicts))
			}
		}
		for _, b := range [][]byte{s.Payload, s.Payload[:len(s.Payload)/2], nil} {
			check("a failure", a.Failure(b, adapters.Options{Event: s.Event}, phases.NewFault(phases.KindStore, "x", nil)))
			check("one of no known event", a.Failure(b, adapters.Options{}, phases.NewFault(phases.KindStore, "x", nil)))
		}
	}
}

// TestNoKeys: neither actions nor metadata have anything of a provider's options.
func TestNoKeys(t *testing.T) {
	seen := false
	for _, s := range samples(t) {
		seen = seen || contains(s.Payload, "example-key")
		for _, st := range decode(t, s).Steps {
			wire, err := phases.EncodeInvocation(st.Invocation)
			if err != nil || contains(wire, "example-key") {
				t.Errorf("%s: the key of a provider reaches hooks (%v)", s.Name, err)
			}
		}
	}
	if !seen {
		t.Error("no sample has a key")
	}
}

func contains(b []byte, s string) bool {
	for i := 0; i+len(s) <= len(b); i++ {
		if string(b[i:i+len(s)]) == s {
			return true
		}
	}
	return false
}
