package openclawinterceptors_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	openclawinterceptors "github.com/belay-hooks/belay/adapters/openclaw-interceptors"
	"github.com/belay-hooks/belay/phases"
)

// held reports whether what was blocked does not happen, and nothing of what was said or printed is left.
func held(event string, ans adapters.Answer) bool {
	v := jsontext.Value(ans.Stdout)
	switch event {
	case "tool.before":
		block, _ := phases.Get(v, "/block")
		reason, _ := phases.GetString(v, "/blockReason")
		return block.Kind() == 't' && reason != ""
	case "tool.after":
		status, _ := phases.GetString(v, "/result/status")
		return status == "blocked"
	case "message.before":
		message, _ := phases.GetString(v, "/message")
		return ans.Latch != "" && strings.HasPrefix(message, "belay")
	}
	return ans.Latch != ""
}

// TestEveryBlockHolds: a block and a failure are closed in each event, though a handler of the draft that fails is
// passed over.
func TestEveryBlockHolds(t *testing.T) {
	a := openclawinterceptors.New()
	for _, s := range samples(t) {
		ev := decode(t, s)
		for _, v := range verdictcases.Of(t, a, argument, ev) {
			switch v.Name {
			case "block", "hook_failure", "reply", "ask", "ask_queue", "block_last_step":
				if ans := a.Encode(ev, v.Verdicts); !held(s.Event, ans) {
					t.Errorf("%s: %s is not held: %s", s.Name, v.Name, ans.Stdout)
				}
			}
		}
		for _, b := range [][]byte{s.Payload, s.Payload[:len(s.Payload)/2], nil} {
			if ans := a.Failure(b, adapters.Options{Event: s.Event}, phases.NewFault(phases.KindStore, "x", nil)); !held(s.Event,
				ans) {
				t.Errorf("%s: a failure is not held: %s", s.Name, ans.Stdout)
			}
		}
	}
}

// TestPhases: the adapter has the events and phases of the map.
func TestPhases(t *testing.T) {
	want := map[string][]phases.Phase{"message.before": {phases.PrePlan}, "params.before": {phases.PreSend},
		"tool.before": {phases.PreTool}, "tool.before.sessions_spawn": {phases.PreTool, phases.Spawn},
		"tool.after": {phases.PostTool}}
	for _, s := range samples(t) {
		var got []phases.Phase
		for _, st := range decode(t, s).Steps {
			got = append(got, st.Invocation.Phase)
		}
		if diff := cmp.Diff(want[strings.TrimPrefix(s.Name, "events.")], got); diff != "" {
			t.Errorf("%s: %s", s.Name, diff)
		}
	}
	if len(openclawinterceptors.Events()) != 4 {
		t.Errorf("%v", openclawinterceptors.Events())
	}
}

// TestOutputs: the answer is the whole output, with what a hook changed and nothing else; a verbose line says so.
func TestOutputs(t *testing.T) {
	a := openclawinterceptors.New()
	for _, c := range []struct{ event, output, ptr, value, want, note string }{
		{"message.before", `{"message":"x","metadata":{"a":1}}`, "/text", `"y"`, `{"message":"y","metadata":{"a":1}}`,
			"message.before: the message was changed"},
		{"params.before", `{"provider":"p","model":"m"}`, "/model", `"n"`, `{"provider":"p","model":"n"}`,
			"params.before: changed: model"},
		{"params.before", `{"provider":"p","thinkLevel":"low"}`, "/params/think_level", `"high"`,
			`{"provider":"p","thinkLevel":"high"}`, "params.before: changed: thinkLevel"},
		{"params.before", `{"provider":"p"}`, "/params/temperature", `0.5`, `{"provider":"p","temperature":0.5}`,
			"params.before: changed: temperature"},
		{"params.before", `{"provider":"p"}`, "/params/think_level", `"xhigh"`, "", ""}, // no level of the draft
		{"params.before", `{"provider":"p"}`, "/params/max_tokens", `7`, "", ""},
		{"tool.before", `{"args":{"command":"a","timeout":1},"block":false}`, "/args", `{"command":"b"}`,
			`{"args":{"command":"b"},"block":false}`, ""},
		{"tool.after", `{"result":{"output":"key"}}`, "/result/output", `"[removed]"`, `{"result":{"output":"[removed]"}}`,
			""},
	} {
		b := `{"event":"` + c.event + `","directory":"/p","input":{"toolName":"exec","toolCallId":"c"},"output":` + c.output + `}`
		ev, err := a.Decode([]byte(b), adapters.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ans := a.Encode(ev, []phases.Verdict{verdictcases.RewriteAt(t, ev.Steps[0].Invocation, c.ptr, c.value)})
		if c.want == "" {
			if !held(c.event, ans) {
				t.Errorf("%s %s: %s", c.event, c.ptr, ans.Stdout)
			}
			continue
		}
		if string(ans.Stdout) != c.want || strings.Join(ans.Notes, "|") != c.note {
			t.Errorf("%s %s: %s, %q", c.event, c.ptr, ans.Stdout, ans.Notes)
		}
		same := a.Encode(ev, []phases.Verdict{verdictcases.Allow(ev.Steps[0].Invocation)})
		if string(same.Stdout) != c.output || len(same.Notes) > 0 {
			t.Errorf("%s: nothing was changed: %s, %q", c.event, same.Stdout, same.Notes)
		}
	}
	b := `{"event":"tool.before","directory":"/p","input":{"toolName":"exec"},"output":{"args":{}}}`
	ev, err := a.Decode([]byte(b), adapters.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := verdictcases.Allow(ev.Steps[0].Invocation)
	v.Decision, v.Reason, v.DecidedBy = phases.Block, "no", "gate"
	if ans := a.Encode(ev, []phases.Verdict{v}); len(ans.Notes) != 1 ||
		ans.Notes[0] != "tool.before: blocked exec: belay (gate): no" {
		t.Errorf("a verbose line of a block: %q", ans.Notes)
	}
}

// TestMatchers: a toolMatcher has known names, aliases and groups; with any other the interceptor is refused, since it
// would never be asked.
func TestMatchers(t *testing.T) {
	for list, want := range map[string]string{"": "exec read nodes anything", "exec": "exec bash EXEC",
		"bash":        "exec bash",
		"apply-patch": "apply_patch apply-patch", "group:fs": "read write edit apply_patch",
		"group:runtime,tts": "exec process tts",
		" Read ,group:WEB":  "read web_search web_fetch"} {
		var names []string
		if list != "" {
			names = strings.Split(list, ",")
		}
		m, err := openclawinterceptors.ParseMatcher(names)
		if err != nil {
			t.Errorf("%q: %v", list, err)
		}
		for _, tool := range strings.Fields(want) {
			if !m.Matches(tool) {
				t.Errorf("%q does not match %s", list, tool)
			}
		}
		if list != "" && (m.Matches("message") || m.Matches("")) {
			t.Errorf("%q matches everything", list)
		}
	}
	for _, bad := range []string{"", "*", "ex", "exec.*", "Bash(ls)", "group:", "group:none", "fs", "mcp__a__b"} {
		if _, err := openclawinterceptors.ParseMatcher([]string{"read", bad}); err == nil {
			t.Errorf("%q is no tool, and was taken", bad)
		}
	}
}

// TestOrder: by descending priority, and as they were registered where that is the same.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []openclawinterceptors.Interceptor
		for i := range rapid.IntRange(0, 6).Draw(t, "n") {
			all = append(all, openclawinterceptors.Interceptor{ID: string(rune('a' + i)),
				Priority: rapid.IntRange(-1, 1).Draw(t, "priority")})
		}
		got := openclawinterceptors.Order(all, "exec")
		if len(got) != len(all) {
			t.Fatalf("%d of %d", len(got), len(all))
		}
		for i := 1; i < len(got); i++ {
			a, b := got[i-1], got[i]
			if a.Priority < b.Priority || a.Priority == b.Priority && a.ID > b.ID {
				t.Fatalf("%v", got)
			}
		}
	})
	only, err := openclawinterceptors.ParseMatcher([]string{"read"})
	if err != nil {
		t.Fatal(err)
	}
	one := []openclawinterceptors.Interceptor{{ID: "a", Matcher: only}}
	if got := openclawinterceptors.Order(one, "exec"); len(got) != 0 {
		t.Errorf("%v is asked about exec", got)
	}
}

// TestHostilePayloads: what is missing, doubled or of another type is refused with the member's name.
func TestHostilePayloads(t *testing.T) {
	for in, want := range map[string]string{
		`{"event":"tool.before","directory":"/p","input":{"toolName":"exec"},"output":{}}`:                    "/args",
		`{"event":"tool.before","directory":"/p","input":{"toolName":"exec"},"output":{"args":[]}}`:           "/args",
		`{"event":"tool.before","directory":"/p","input":{},"output":{"args":{}}}`:                            "/toolName",
		`{"event":"tool.before","directory":"/p","input":[],"output":{"args":{}}}`:                            "/input",
		`{"event":"tool.before","directory":"/p","input":{"toolName":"exec"}}`:                                "/output",
		`{"event":"tool.before","input":{"toolName":"exec"},"output":{"args":{}}}`:                            "/directory",
		`{"event":"tool.before","directory":"/p","input":{"toolName":"sessions_spawn"},"output":{"args":{}}}`: "/args",
		`{"event":"tool.after","directory":"/p","input":{"toolName":"exec"},"output":{}}`:                     "/result",
		`{"event":"message.before","directory":"/p","input":{},"output":{"message":7}}`:                       "/message",
		`{"event":"params.before","directory":"/p","input":{},"output":{"temperature":"hot"}}`:                "/temperature",
		`{"event":"tool.sideways","directory":"/p"}`:                                                          "/event",
	} {
		_, err := openclawinterceptors.New().Decode([]byte(in), adapters.Options{})
		var p *adapters.PayloadError
		if !errors.As(err, &p) || p.Member != want {
			t.Errorf("%s: %v, want the member %s", in, err, want)
		}
	}
}

// FuzzDecode: payloads of any bytes are decoded or refused, never with a panic, and what is decoded is valid.
func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.Payload)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := openclawinterceptors.New()
		ev, err := a.Decode(b, adapters.Options{})
		if err != nil {
			if ans := a.Failure(b, adapters.Options{}, err); ans.Exit != 2 || ans.Stderr == "" {
				t.Fatalf("%+v", ans)
			}
			return
		}
		for _, st := range ev.Steps {
			if err := st.Invocation.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
