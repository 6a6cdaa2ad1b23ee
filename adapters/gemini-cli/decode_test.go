package geminicli_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/phases"
)

// with returns the payload with another value of a top-level member; "" takes the member away.
func with(t testing.TB, b []byte, member, value string) []byte {
	t.Helper()
	var m map[string]jsontext.Value
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if m[member] = jsontext.Value(value); value == "" {
		delete(m, member)
	}
	out, err := json.Marshal(m, json.Deterministic(true), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPhases: events and phases are those of the table that all adapters were written from.
func TestPhases(t *testing.T) {
	var want map[string]phases.Phase
	if err := json.Unmarshal(readFile(t, "testdata/phase-map.json"), &want); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range samples(t) {
		seen[s.Event] = true
		if got := decode(t, s).Steps[0].Invocation.Phase; got != want[s.Event] {
			t.Errorf("%s: %s, want %s", s.Name, got, want[s.Event])
		}
	}
	for _, name := range geminicli.Events() {
		if !seen[name] || want[name] == "" {
			t.Errorf("%s: no sample, or not in the phase map", name)
		}
	}
	if len(want) != len(geminicli.Events()) {
		t.Errorf("%d events, the phase map has %d", len(geminicli.Events()), len(want))
	}
}

// TestDecodeRefuses: each refusal names the place, is of a class, and is held by the answer.
func TestDecodeRefuses(t *testing.T) {
	pre := payloadOf(t, "captured.BeforeTool.run_shell_command")
	post := payloadOf(t, "captured.AfterTool.run_shell_command")
	spawn, mcp := payloadOf(t, "events.BeforeTool.invoke_agent"), payloadOf(t, "events.BeforeTool.mcp")
	event := func(name string) []byte { return payloadOf(t, "captured."+name) }
	deep := strings.Repeat("[", phases.MaxInputDepth+1) + strings.Repeat("]", phases.MaxInputDepth+1)
	a := geminicli.New()
	for _, k := range []struct {
		name, event string
		payload     []byte
		want        string
		class       error
	}{
		{"nothing", "BeforeTool", nil, "not a JSON object", adapters.ErrPayload},
		{"no JSON", "AfterAgent", []byte("hello"), "not a JSON object", adapters.ErrPayload},
		{"array", "AfterTool", []byte("[]"), "not a JSON object", adapters.ErrPayload},
		{"cut", "BeforeTool", pre[:len(pre)-4], "ends too early", adapters.ErrPayload},
		{"two", "BeforeTool", append(append([]byte{}, pre...), pre...), "after the JSON", adapters.ErrPayload},
		{"duplicate", "BeforeTool", []byte(`{"tool_name":"x",` + string(pre[1:])), "occurs twice", adapters.ErrPayload},
		{"duplicate inside", "BeforeTool",
			[]byte(strings.Replace(string(pre), `"command":`, `"command":"rm","command":`, 1)), "occurs twice",
			adapters.ErrPayload},
		{"utf-8", "BeforeTool", []byte(strings.Replace(string(pre), "git", "\xff", 1)), "UTF-8", adapters.ErrPayload},
		{"lone surrogate", "BeforeTool", []byte(strings.Replace(string(pre), "git", `\ud800`, 1)), "UTF-8",
			adapters.ErrPayload},
		{"deep", "BeforeTool", with(t, pre, "x", deep), "nest deeper", adapters.ErrPayload},
		{"large", "BeforeTool", with(t, pre, "x", `"`+strings.Repeat("a", adapters.Options{}.Limit())+`"`), "larger than",
			adapters.ErrTooLarge},
		{"no event", "BeforeTool", with(t, pre, "hook_event_name", ""), "missing at /hook_event_name", adapters.ErrPayload},
		{"unknown event", "BeforeTool", with(t, pre, "hook_event_name", `"BeforeTool2"`), "does not know",
			adapters.ErrUnknownEvent},
		{"other event", "BeforeTool", post, "registered for", adapters.ErrPayload},
		{"no session", "BeforeTool", with(t, pre, "session_id", ""), "missing at /session_id", adapters.ErrPayload},
		{"empty session", "BeforeTool", with(t, pre, "session_id", `""`), "empty", adapters.ErrPayload},
		{"session type", "BeforeAgent", with(t, event("BeforeAgent"), "session_id", `7`), "not a string",
			adapters.ErrPayload},
		{"relative cwd", "BeforeTool", with(t, pre, "cwd", `"project"`), "absolute", phases.ErrDecode},
		{"no tool", "BeforeTool", with(t, pre, "tool_name", ""), "missing at /tool_name", adapters.ErrPayload},
		{"no input", "BeforeTool", with(t, pre, "tool_input", ""), "missing at /tool_input", adapters.ErrPayload},
		{"input string", "BeforeTool", with(t, pre, "tool_input", `"ls"`), "not an object", adapters.ErrPayload},
		{"context type", "BeforeTool", with(t, mcp, "mcp_context", `"x"`), "not an object", adapters.ErrPayload},
		{"no server", "AfterTool", with(t, payloadOf(t, "events.AfterTool.mcp"), "mcp_context", `{"tool_name":"x"}`),
			"server or the tool", adapters.ErrPayload},
		{"server type", "BeforeTool", with(t, mcp, "mcp_context", `{"server_name":7,"tool_name":"x"}`),
			"server or the tool", adapters.ErrPayload},
		{"no prompt", "BeforeTool", with(t, spawn, "tool_input", `{"agent_name":"x"}`), "prompt of a subagent",
			adapters.ErrPayload},
		{"no name", "BeforeTool", with(t, spawn, "tool_input", `{"prompt":"x"}`), "name or the prompt",
			adapters.ErrPayload},
		{"prompt of a child", "BeforeTool", with(t, spawn, "tool_input", `{"agent_name":"x","prompt":["x"]}`),
			"prompt of a subagent", adapters.ErrPayload},
		{"no response", "AfterTool", with(t, post, "tool_response", ""), "missing at /tool_response",
			adapters.ErrPayload},
		{"response type", "AfterTool", with(t, post, "tool_response", `"x"`), "not an object", adapters.ErrPayload},
		{"prompt type", "BeforeAgent", with(t, event("BeforeAgent"), "prompt", `[]`), "not a string",
			adapters.ErrPayload},
		{"flag", "AfterAgent", with(t, event("AfterAgent"), "stop_hook_active", `"no"`), "not a boolean",
			adapters.ErrPayload},
		{"last message", "AfterAgent", with(t, event("AfterAgent"), "prompt_response", `[]`), "not a string",
			adapters.ErrPayload},
		{"source", "SessionStart", with(t, event("SessionStart"), "source", ""), "missing", adapters.ErrPayload},
		{"no request", "BeforeModel", with(t, event("BeforeModel"), "llm_request", ""), "missing", adapters.ErrPayload},
		{"no messages", "BeforeModel", with(t, event("BeforeModel"), "llm_request", `{"model":"m"}`), "missing",
			adapters.ErrPayload},
		{"message type", "BeforeModel", with(t, event("BeforeModel"), "llm_request", `{"messages":["x"]}`), "not an object",
			adapters.ErrPayload},
		{"message text", "BeforeToolSelection",
			with(t, event("BeforeToolSelection"), "llm_request", `{"messages":[{"role":"user","content":[]}]}`), "no text",
			adapters.ErrPayload},
		{"config", "BeforeModel", with(t, event("BeforeModel"), "llm_request", `{"messages":[],"config":[]}`),
			"config is not", adapters.ErrPayload},
		{"model", "BeforeModel", with(t, event("BeforeModel"), "llm_request", `{"messages":[],"model":7}`),
			"another type", adapters.ErrPayload},
		{"no answer", "AfterModel", with(t, event("AfterModel"), "llm_response", ""), "missing", adapters.ErrPayload},
		{"answer text", "AfterModel", with(t, event("AfterModel"), "llm_response", `{"text":7}`), "not a string",
			adapters.ErrPayload},
		{"candidates", "AfterModel", with(t, event("AfterModel"), "llm_response", `{"candidates":{}}`), "not an array",
			adapters.ErrPayload},
		{"candidate", "AfterModel", with(t, event("AfterModel"), "llm_response", `{"candidates":[7]}`), "not an object",
			adapters.ErrPayload},
		{"parts", "AfterModel", with(t, event("AfterModel"), "llm_response", `{"candidates":[{"content":{"parts":7}}]}`),
			"not an array", adapters.ErrPayload},
		{"part", "AfterModel",
			with(t, event("AfterModel"), "llm_response", `{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`),
			"not a string", adapters.ErrPayload},
	} {
		t.Run(k.name, func(t *testing.T) {
			opts := adapters.Options{Event: k.event}
			_, err := a.Decode(k.payload, opts)
			if !errors.Is(err, k.class) || !strings.Contains(err.Error(), k.want) {
				t.Fatalf("error %v, want one about %q", err, k.want)
			}
			ans := a.Failure(k.payload, opts, err)
			checkAnswer(t, k.event, ans)
			if !holds(k.event, k.payload, ans) {
				t.Errorf("not held: %+v", ans)
			}
		})
	}
}

// TestDecodeKeeps: members that the adapter does not know reach hooks, up to a size.
func TestDecodeKeeps(t *testing.T) {
	b := with(t, with(t, payloadOf(t, "captured.BeforeTool.run_shell_command"), "new_member", `{"a":[1]}`), "huge",
		`"`+strings.Repeat("x", 40<<10)+`"`)
	ev, err := geminicli.New().Decode(b, adapters.Options{User: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	inv := ev.Steps[0].Invocation
	if got, _ := phases.Get(inv.Metadata["payload"], "/new_member"); string(got) != `{"a":[1]}` {
		t.Errorf("new member: %s", got)
	}
	if string(inv.Metadata["omitted"]) != `["huge"]` {
		t.Errorf("omitted: %s", inv.Metadata["omitted"])
	}
	if inv.Agent != "main" || inv.User != "dev" {
		t.Errorf("envelope: %+v", inv)
	}
}

// TestTools: the names that Gemini CLI gives its tools, and what hooks call them. The name of a server's
// tool says not where the server's name ends, so that mcp_context alone counts.
func TestTools(t *testing.T) {
	pre := payloadOf(t, "captured.BeforeTool.run_shell_command")
	for _, k := range []struct {
		native, context, tool string
		steps                 int
	}{
		{"run_shell_command", "", "exec", 1},
		{"replace", "", "edit", 1},
		{"write_file", "", "write", 1},
		{"invoke_agent", "", "sessions_spawn", 2},
		{"delegate_to_agent", "", "sessions_spawn", 2},
		{"mcp_my_srv_say", `{"server_name":"my_srv","tool_name":"say"}`, "mcp:my_srv:say", 1},
		{"mcp_srv_invoke_agent", `{"server_name":"srv","tool_name":"invoke_agent"}`, "mcp:srv:invoke_agent", 1},
		{"mcp_my_srv_say", "", "mcp_my_srv_say", 1}, // a server that the client does not know any more
		{"a_tool_of_tomorrow", "", "a_tool_of_tomorrow", 1},
	} {
		b := with(t, with(t, pre, "tool_name", `"`+k.native+`"`), "tool_input", `{"agent_name":"a","prompt":"m"}`)
		b = with(t, b, "mcp_context", k.context)
		ev, err := geminicli.New().Decode(b, adapters.Options{})
		if err != nil {
			t.Errorf("%s: %v", k.native, err)
			continue
		}
		tool, _ := phases.GetString(ev.Steps[0].Invocation.Action, "/tool")
		norm, err := phases.Normalize(ev.Steps[0].Invocation)
		if tool != k.tool || len(ev.Steps) != k.steps || err != nil || norm.Tool() != k.tool {
			t.Errorf("%s: %s, then %s, %d steps, %v", k.native, tool, norm.Tool(), len(ev.Steps), err)
		}
	}
}

// TestSpawn: what a child is told stands in the spawn step, as pre_tool left it.
func TestSpawn(t *testing.T) {
	a, ev := geminicli.New(), decode(t, sample{Payload: payloadOf(t, "events.BeforeTool.invoke_agent")})
	if got, _ := phases.GetString(ev.Steps[1].Invocation.Action, "/child/agent"); got != "codebase_investigator" {
		t.Errorf("the child is %q", got)
	}
	step, more, err := a.Next(ev, []phases.Verdict{
		verdictcases.RewriteAt(t, ev.Steps[0].Invocation, "/args/prompt", `"changed"`)})
	if got, _ := phases.GetString(step.Invocation.Action, "/child/prompt"); err != nil || !more || got != "changed" {
		t.Errorf("the spawn step sees %q, %v", got, err)
	}
}

// TestAnswerTexts: hooks read every text of a chunk, the model's thoughts too.
func TestAnswerTexts(t *testing.T) {
	b := payloadOf(t, "captured.AfterModel")
	for response, want := range map[string]string{
		`{"text":"x"}`:      "x",
		`{"candidates":[]}`: "",
		`{"text":"b","candidates":[{"content":{"parts":["a","b"]}},{"content":{"parts":["c"]}}]}`: "abc",
		`{"candidates":[{"content":{"parts":null}},{"finishReason":"STOP"},{"content":null}]}`:    "",
	} {
		ev := decode(t, sample{Name: response, Payload: with(t, b, "llm_response", response)})
		if got, _ := phases.GetString(ev.Steps[0].Invocation.Action, "/text"); got != want {
			t.Errorf("%s: %q", response, got)
		}
	}
}

// TestEventsThatLatchHaveOneStep: the verdict on the step is the verdict on the whole event.
func TestEventsThatLatchHaveOneStep(t *testing.T) {
	for _, s := range samples(t) {
		ev := decode(t, s)
		for _, st := range ev.Steps {
			if !st.Blockable && len(ev.Steps) != 1 {
				t.Errorf("%s has %d steps", s.Name, len(ev.Steps))
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, s := range samples(f) {
		f.Add(s.Payload, uint8(i))
	}
	events := append(geminicli.Events(), "")
	for i := range events {
		f.Add([]byte(`{"hook_event_name":"AfterAgent","hook_event_name":"BeforeTool"}`), uint8(i))
		f.Add([]byte(fmt.Sprintf(`{"hook_event_name":%q,"llm_response":{"candidates":[{"content":"x"}]}}`, events[i])),
			uint8(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, registered uint8) {
		a := geminicli.New()
		ev, err := a.Decode(b, adapters.Options{})
		if err == nil {
			for _, st := range ev.Steps {
				if _, err := phases.EncodeInvocation(st.Invocation); err != nil {
					t.Fatalf("an invocation that cannot be written: %v", err)
				}
			}
			checkAnswer(t, ev.Name, a.Encode(ev, verdictcases.Chain(t, a, ev,
				func(_ int, inv phases.Invocation) phases.Verdict { return verdictcases.Allow(inv) })))
			return
		}
		if !errors.Is(err, adapters.ErrPayload) && !errors.Is(err, phases.ErrDecode) {
			t.Fatalf("error of no class: %v", err)
		}
		event := events[int(registered)%len(events)]
		ans := a.Failure(b, adapters.Options{Event: event}, err)
		if event == "" {
			event = adapters.ScanName(b, "hook_event_name")
		}
		checkAnswer(t, event, ans)
		if !holds(event, b, ans) {
			t.Fatalf("%s: %q is not held: %+v", event, b, ans)
		}
	})
}
