package codex_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/codex"
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
	for _, name := range codex.Events() {
		if !seen[name] || want[name] == "" {
			t.Errorf("%s: no sample, or not in the phase map", name)
		}
	}
	if len(want) != len(codex.Events()) {
		t.Errorf("%d events, the phase map has %d", len(codex.Events()), len(want))
	}
}

// TestDecodeRefuses: each refusal names the place, is of a class, and is held by the answer.
func TestDecodeRefuses(t *testing.T) {
	pre, post := payloadOf(t, "captured.PreToolUse.Bash"), payloadOf(t, "captured.PostToolUse.Bash")
	spawn := payloadOf(t, "captured.PreToolUse.spawn_agent")
	event := func(name string) []byte { return payloadOf(t, "events."+name) }
	deep := strings.Repeat("[", phases.MaxInputDepth+1) + strings.Repeat("]", phases.MaxInputDepth+1)
	a, c := codex.New(), newClient(t)
	for _, k := range []struct {
		name, event string
		payload     []byte
		want        string
		class       error
	}{
		{"nothing", "PreToolUse", nil, "not a JSON object", adapters.ErrPayload},
		{"no JSON", "Stop", []byte("hello"), "not a JSON object", adapters.ErrPayload},
		{"array", "PostToolUse", []byte("[]"), "not a JSON object", adapters.ErrPayload},
		{"cut", "PreToolUse", pre[:len(pre)-4], "ends too early", adapters.ErrPayload},
		{"two", "PreToolUse", append(append([]byte{}, pre...), pre...), "after the JSON", adapters.ErrPayload},
		{"duplicate", "PreToolUse", []byte(`{"tool_name":"Bash",` + string(pre[1:])), "occurs twice", adapters.ErrPayload},
		{"duplicate inside", "PreToolUse", []byte(strings.Replace(string(pre), `"command":`, `"command":"rm","command":`, 1)),
			"occurs twice", adapters.ErrPayload},
		{"utf-8", "PreToolUse", []byte(strings.Replace(string(pre), "git", "\xff", 1)), "UTF-8", adapters.ErrPayload},
		{"lone surrogate", "PreToolUse", []byte(strings.Replace(string(pre), "call_abc", `\ud800`, 1)), "UTF-8",
			adapters.ErrPayload},
		{"deep", "PreToolUse", with(t, pre, "x", deep), "nest deeper", adapters.ErrPayload},
		{"large", "PreToolUse", with(t, pre, "x", `"`+strings.Repeat("a", adapters.Options{}.Limit())+`"`), "larger than",
			adapters.ErrTooLarge},
		{"no event", "PreToolUse", with(t, pre, "hook_event_name", ""), "missing at /hook_event_name", adapters.ErrPayload},
		{"unknown event", "PreToolUse", with(t, pre, "hook_event_name", `"PreToolUse2"`), "does not know",
			adapters.ErrUnknownEvent},
		{"other event", "PreToolUse", post, "registered for", adapters.ErrPayload},
		{"no session", "PreToolUse", with(t, pre, "session_id", ""), "missing at /session_id", adapters.ErrPayload},
		{"empty session", "PreToolUse", with(t, pre, "session_id", `""`), "empty", adapters.ErrPayload},
		{"session type", "UserPromptSubmit", with(t, event("UserPromptSubmit"), "session_id", `7`), "not a string",
			adapters.ErrPayload},
		{"turn type", "PreToolUse", with(t, pre, "turn_id", `7`), "not a string", adapters.ErrPayload},
		{"agent type", "PreToolUse", with(t, pre, "agent_id", `{}`), "not a string", adapters.ErrPayload},
		{"relative cwd", "PreToolUse", with(t, pre, "cwd", `"project"`), "absolute", phases.ErrDecode},
		{"no tool", "PreToolUse", with(t, pre, "tool_name", ""), "missing at /tool_name", adapters.ErrPayload},
		{"no input", "PreToolUse", with(t, pre, "tool_input", ""), "missing at /tool_input", adapters.ErrPayload},
		{"input string", "PreToolUse", with(t, pre, "tool_input", `"ls"`), "not an object", adapters.ErrPayload},
		{"no command", "PreToolUse", with(t, pre, "tool_input", `{"cmd":"ls"}`), "command is missing", adapters.ErrPayload},
		{"command type", "PermissionRequest", with(t, event("PermissionRequest"), "tool_input", `{"command":["ls"]}`),
			"command is missing or not a string", adapters.ErrPayload},
		{"patch type", "PreToolUse", with(t, payloadOf(t, "captured.PreToolUse.apply_patch"), "tool_input", `{"command":7}`),
			"command is missing or not a string", adapters.ErrPayload},
		{"no message", "PreToolUse", with(t, spawn, "tool_input", `{}`), "message of a subagent", adapters.ErrPayload},
		{"message type", "PreToolUse", with(t, spawn, "tool_input", `{"message":["x"]}`), "message of a subagent",
			adapters.ErrPayload},
		{"no response", "PostToolUse", with(t, post, "tool_response", ""), "missing at /tool_response",
			adapters.ErrPayload},
		{"prompt type", "UserPromptSubmit", with(t, event("UserPromptSubmit"), "prompt", `[]`), "not a string",
			adapters.ErrPayload},
		{"stop flag", "Stop", with(t, event("Stop"), "stop_hook_active", `"no"`), "not a boolean", adapters.ErrPayload},
		{"last message", "Stop", with(t, event("Stop"), "last_assistant_message", `[]`), "not a string",
			adapters.ErrPayload},
		{"source", "SessionStart", with(t, event("SessionStart"), "source", ""), "missing", adapters.ErrPayload},
		{"trigger", "PreCompact", with(t, event("PreCompact"), "trigger", `null`), "not a string", adapters.ErrPayload},
		{"child type", "SubagentStart", with(t, event("SubagentStart"), "agent_type", `""`), "empty", adapters.ErrPayload},
	} {
		t.Run(k.name, func(t *testing.T) {
			opts := adapters.Options{Event: k.event}
			_, err := a.Decode(k.payload, opts)
			if !errors.Is(err, k.class) || !strings.Contains(err.Error(), k.want) {
				t.Fatalf("error %v, want one about %q", err, k.want)
			}
			ans := a.Failure(k.payload, opts, err)
			checkAnswer(t, c, k.event, ans)
			if !holds(c, k.event, k.payload, ans) {
				t.Errorf("not held: %+v", ans)
			}
		})
	}
}

// holds reports whether the answer keeps the event from happening, or has the session latched.
func holds(c *client, event string, payload []byte, ans adapters.Answer) bool {
	e := c.react(event, payload, ans)
	hidden := event == "PostToolUse" && !same(e.output, parseObject(payload)["tool_response"])
	ends := e.stopped && event != "SessionStart" // the next turn begins without that event
	return e.blocked || hidden || ends && !e.goesOn || ans.Latch != ""
}

// TestDecodeKeeps: members that the adapter does not know reach hooks, up to a size.
func TestDecodeKeeps(t *testing.T) {
	b := with(t, with(t, payloadOf(t, "captured.PreToolUse.Bash"), "new_member", `{"a":[1]}`), "huge",
		`"`+strings.Repeat("x", 40<<10)+`"`)
	ev, err := codex.New().Decode(b, adapters.Options{User: "dev"})
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
	if inv.Agent != "main" || inv.User != "dev" || inv.Run == "" {
		t.Errorf("envelope: %+v", inv)
	}
}

// TestTools: the names that Codex gives its tools, and what hooks call them.
func TestTools(t *testing.T) {
	pre := payloadOf(t, "captured.PreToolUse.mcp")
	for native, want := range map[string]struct {
		tool  string
		steps int
	}{
		"Bash":                          {"exec", 1},
		"apply_patch":                   {"apply_patch", 1},
		"view_image":                    {"read", 1},
		"spawn_agent":                   {"sessions_spawn", 2},
		"collaborationspawn_agent":      {"sessions_spawn", 2},
		"multi_agent_v9spawn_agent":     {"sessions_spawn", 2}, // a namespace of a later version
		"mcp__srv__spawn_agent":         {"mcp:srv:spawn_agent", 1},
		"multi_agent_v1send_input":      {"sessions_send", 1},
		"collaborationsend_message":     {"sessions_send", 1},
		"collaborationfollowup_task":    {"sessions_send", 1},
		"mcp__my_srv__say":              {"mcp:my_srv:say", 1},
		"a_tool_of_tomorrow":            {"a_tool_of_tomorrow", 1},
		"collaborationa_tool_of_theirs": {"collaborationa_tool_of_theirs", 1},
	} {
		b := with(t, with(t, pre, "tool_name", `"`+native+`"`), "tool_input", `{"command":"ls","message":"m"}`)
		ev, err := codex.New().Decode(b, adapters.Options{})
		if err != nil {
			t.Errorf("%s: %v", native, err)
			continue
		}
		tool, _ := phases.GetString(ev.Steps[0].Invocation.Action, "/tool")
		norm, err := phases.Normalize(ev.Steps[0].Invocation)
		if tool != want.tool || len(ev.Steps) != want.steps || err != nil || norm.Tool() != want.tool {
			t.Errorf("%s: %s, then %s, %d steps, %v", native, tool, norm.Tool(), len(ev.Steps), err)
		}
	}
}

// TestSpawn: what a child is told stands in the spawn step, as pre_tool left it, and a subagent's
// child is at least two deep.
func TestSpawn(t *testing.T) {
	a := codex.New()
	for name, k := range map[string]struct{ agent, input, prompt, depth string }{
		"message": {"", `{"message":"look","task_name":"t"}`, "look", "1"},
		"items":   {"", `{"items":[{"type":"text","text":"look"}]}`, `[{"type":"text","text":"look"}]`, "1"},
		"both": {`"a1"`, `{"message":"m","items":[{"type":"text","text":"look"}]}`,
			"m\n" + `[{"type":"text","text":"look"}]`, "2"},
	} {
		b := with(t, payloadOf(t, "captured.PreToolUse.spawn_agent"), "tool_input", k.input)
		if k.agent != "" {
			b = with(t, b, "agent_id", k.agent)
		}
		ev, err := a.Decode(b, adapters.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		action := ev.Steps[1].Invocation.Action
		prompt, _ := phases.GetString(action, "/child/prompt")
		depth, _ := phases.Get(action, "/depth")
		if prompt != k.prompt || string(depth) != k.depth {
			t.Errorf("%s: %s", name, action)
		}
	}
	ev := decode(t, sample{Payload: payloadOf(t, "captured.PreToolUse.spawn_agent")})
	step, more, err := a.Next(ev, []phases.Verdict{
		verdictcases.RewriteAt(t, ev.Steps[0].Invocation, "/args/message", `"changed"`)})
	if got, _ := phases.GetString(step.Invocation.Action, "/child/prompt"); err != nil || !more || got != "changed" {
		t.Errorf("the spawn step sees %q, %v", got, err)
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
	events := append(codex.Events(), "")
	for i := range events {
		f.Add([]byte(`{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}`), uint8(i))
		f.Add([]byte(`{"hook_event_name":"PostToolUse","tool_response":{"a":["\ud800",{"type":"text"}]}}`), uint8(i))
	}
	c := newClient(f)
	f.Fuzz(func(t *testing.T, b []byte, registered uint8) {
		a := codex.New()
		ev, err := a.Decode(b, adapters.Options{})
		if err == nil {
			for _, st := range ev.Steps {
				if _, err := phases.EncodeInvocation(st.Invocation); err != nil {
					t.Fatalf("an invocation that cannot be written: %v", err)
				}
			}
			checkAnswer(t, c, ev.Name, a.Encode(ev, verdictcases.Chain(t, a, ev,
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
		checkAnswer(t, c, event, ans)
		if !holds(c, event, b, ans) {
			t.Fatalf("%s: %q is not held: %+v", event, b, ans)
		}
	})
}

// TestDocs: the page names each event with its phase.
func TestDocs(t *testing.T) {
	page := string(readFile(t, "../../docs/runtimes/codex.md"))
	for _, s := range samples(t) {
		for _, st := range decode(t, s).Steps {
			phase, found := st.Invocation.Phase, false
			for line := range strings.Lines(page) {
				cells := strings.Split(line, "|")
				found = found ||
					len(cells) > 3 && strings.Contains(cells[1], s.Event) && strings.Contains(cells[2], string(phase))
			}
			if !found {
				t.Errorf("docs/runtimes/codex.md does not say that %s is %s", s.Event, phase)
			}
		}
	}
}

// TestUnseenInput: what is typed into a command that runs comes to no hook, so the step says it; other
// tools read no terminal.
func TestUnseenInput(t *testing.T) {
	for _, s := range samples(t) {
		ev := decode(t, s)
		for _, st := range ev.Steps {
			tool, _ := phases.GetString(st.Invocation.Action, "/native_tool")
			want := st.Invocation.Phase == phases.PreTool && tool == "Bash"
			if st.UnseenInput != want {
				t.Errorf("%s: %v", s.Name, st.UnseenInput)
			}
		}
	}
}
