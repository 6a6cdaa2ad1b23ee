package claudecode_test

import (
	stdjson "encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/phases"
)

func unmarshal(b []byte, v any) error { return stdjson.Unmarshal(b, v) }

// TestPhaseMap: events and phases are those of the map, no more and no fewer.
func TestPhaseMap(t *testing.T) {
	var want map[string]any
	if err := unmarshal(readFile(t, "testdata/phase-map.json"), &want); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range samples(t) {
		ev := decode(t, s)
		key := s.Event
		if tool, ok := phases.GetString(ev.Payload, "/tool_name"); ok && want[key+"["+tool+"]"] != nil {
			key += "[" + tool + "]"
		}
		names[key] = true
		var got any
		var list []any
		for _, st := range ev.Steps {
			got = string(st.Invocation.Phase)
			list = append(list, got)
		}
		if s.Event == "PostToolBatch" { // the map's one phase, once for each call
			list = slices.Compact(list)
		}
		if len(list) > 1 {
			got = list
		}
		if diff := cmp.Diff(want[key], got); diff != "" {
			t.Errorf("%s: %s", s.Name, diff)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(names))); diff != "" {
		t.Errorf("events without a payload, or the reverse: %s", diff)
	}
	delete(want, "PreToolUse[Agent]")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), claudecode.Events()); diff != "" {
		t.Errorf("Events: %s", diff)
	}
}

// with returns the payload with one top-level member set, or removed for nil.
func with(t *testing.T, payload []byte, name, value string) []byte {
	t.Helper()
	var (
		v   []byte
		err error
	)
	if value == "" {
		var members map[string]jsontext.Value
		if err = json.Unmarshal(payload, &members); err == nil {
			delete(members, name)
			v, err = json.Marshal(members, json.Deterministic(true))
		}
	} else {
		v, err = phases.Set(payload, "/"+name, []byte(value))
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestDecodeRefuses: what decides something has to be there, in its type. For
// each refusal the failure keeps the event from happening.
func TestDecodeRefuses(t *testing.T) {
	pre, post := payloadOf(t, "events.PreToolUse"), payloadOf(t, "events.PostToolUse")
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	cases := []struct {
		name, event string
		payload     []byte
		want        string
		class       error
	}{
		{"empty", "PreToolUse", nil, "not a JSON object", adapters.ErrPayload},
		{"array", "PreToolUse", []byte("[]"), "not a JSON object", adapters.ErrPayload},
		{"truncated", "PreToolUse", pre[:len(pre)-1], "ends too early", adapters.ErrPayload},
		{"trailing", "PreToolUse", append(slices.Clone(pre), "{}"...), "after the JSON object", adapters.ErrPayload},
		{"duplicate", "PreToolUse", []byte(strings.Replace(string(pre), `"tool_name"`, `"tool_name":"Read","tool_name"`, 1)),
			"occurs twice", adapters.ErrPayload},
		{"duplicate inside", "PreToolUse", with(t, pre, "tool_input", `{"command":"ls","command":"rm"}`), "occurs twice",
			adapters.ErrPayload},
		{"utf-8", "PreToolUse", []byte(strings.Replace(string(pre), "Push branch", "\xff", 1)), "UTF-8", adapters.ErrPayload},
		{"lone surrogate", "PreToolUse", with(t, pre, "tool_use_id", `"\ud800"`), "UTF-8", adapters.ErrPayload},
		{"deep", "PreToolUse", with(t, pre, "tool_input", deep), "nest deeper", adapters.ErrPayload},
		{"large", "PreToolUse", with(t, pre, "x", `"`+strings.Repeat("a", adapters.Options{}.Limit())+`"`), "larger than",
			adapters.ErrTooLarge},
		{"large action", "PreToolUse", with(t, pre, "tool_input", `{"a":"`+strings.Repeat("a", phases.MaxInputBytes)+`"}`),
			"larger than", phases.ErrDecode},
		{"no event", "PreToolUse", with(t, pre, "hook_event_name", ""), "missing", adapters.ErrPayload},
		{"unknown event", "PreToolUse", with(t, pre, "hook_event_name", `"PreToolUse2"`), "does not know",
			adapters.ErrUnknownEvent},
		{"other event", "PreToolUse", post, "registered for", adapters.ErrPayload},
		{"case", "PreToolUse", []byte(strings.Replace(string(pre), "tool_name", "Tool_Name", 1)), "missing",
			adapters.ErrPayload},
		{"no session", "PreToolUse", with(t, pre, "session_id", ""), "missing", adapters.ErrPayload},
		{"empty session", "PreToolUse", with(t, pre, "session_id", `""`), "empty", adapters.ErrPayload},
		{"session type", "PreToolUse", with(t, pre, "session_id", `7`), "not a string", adapters.ErrPayload},
		{"prompt_id type", "PreToolUse", with(t, pre, "prompt_id", `7`), "not a string", adapters.ErrPayload},
		{"agent_id type", "PreToolUse", with(t, pre, "agent_id", `{}`), "not a string", adapters.ErrPayload},
		{"relative cwd", "PreToolUse", with(t, pre, "cwd", `"project"`), "absolute", phases.ErrDecode},
		{"no tool", "PreToolUse", with(t, pre, "tool_name", ""), "missing", adapters.ErrPayload},
		{"tool null", "PreToolUse", with(t, pre, "tool_name", "null"), "not a string", adapters.ErrPayload},
		{"no input", "PreToolUse", with(t, pre, "tool_input", ""), "missing", adapters.ErrPayload},
		{"input string", "PreToolUse", with(t, pre, "tool_input", `"ls"`), "not an object", adapters.ErrPayload},
		{"agent prompt", "PreToolUse", with(t, payloadOf(t, "captured.PreToolUse.Agent"), "tool_input", `{"prompt":["x"]}`),
			"not a string", adapters.ErrPayload},
		{"no response", "PostToolUse", with(t, post, "tool_response", ""), "missing", adapters.ErrPayload},
		{"error type", "PostToolUseFailure", with(t, payloadOf(t, "events.PostToolUseFailure"), "error", `{}`),
			"not a string", adapters.ErrPayload},
		{"no calls", "PostToolBatch", with(t, payloadOf(t, "events.PostToolBatch"), "tool_calls", `[]`), "no calls",
			adapters.ErrPayload},
		{"calls type", "PostToolBatch", with(t, payloadOf(t, "events.PostToolBatch"), "tool_calls", `{}`), "not an array",
			adapters.ErrPayload},
		{"call type", "PostToolBatch", with(t, payloadOf(t, "events.PostToolBatch"), "tool_calls", `["x"]`), "not an object",
			adapters.ErrPayload},
		{"call without tool", "PostToolBatch",
			with(t, payloadOf(t, "events.PostToolBatch"), "tool_calls", `[{"tool_input":{}}]`), "missing or wrong",
			adapters.ErrPayload},
		{"prompt type", "UserPromptSubmit", with(t, payloadOf(t, "events.UserPromptSubmit"), "prompt", `[]`), "not a string",
			adapters.ErrPayload},
		{"stop flag", "Stop", with(t, payloadOf(t, "events.Stop"), "stop_hook_active", `"no"`), "not a boolean",
			adapters.ErrPayload},
		{"no stop flag", "Stop", with(t, payloadOf(t, "events.Stop"), "stop_hook_active", ""), "missing",
			adapters.ErrPayload},
		{"to_model", "PreModelSwitch", with(t, payloadOf(t, "events.PreModelSwitch"), "to_model", ""), "missing",
			adapters.ErrPayload},
		{"content type", "ElicitationResult", with(t, payloadOf(t, "events.ElicitationResult"), "content", `"42"`),
			"not an object", adapters.ErrPayload},
		{"trigger", "PreCompact", with(t, payloadOf(t, "events.PreCompact"), "trigger", `null`), "not a string",
			adapters.ErrPayload},
	}
	a := claudecode.New()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			opts := adapters.Options{Event: c.event}
			_, err := a.Decode(c.payload, opts)
			if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one about %q", err, c.want)
			}
			ans := a.Failure(c.payload, opts, err)
			for _, http := range []bool{false, true} {
				e := react(c.event, c.payload, ans, http)
				hidden := c.event == "PostToolUse" && !leaks(parseObject(c.payload)["tool_response"], e.output)
				if !e.blocked && !e.stopped && !hidden {
					t.Errorf("http %v: not held: %+v", http, ans)
				}
			}
		})
	}
}

// TestDecodeKeeps: members that the adapter does not know reach hooks, up to a
// size; absent and null optional members are the same.
func TestDecodeKeeps(t *testing.T) {
	a, pre := claudecode.New(), payloadOf(t, "events.PreToolUse")
	b := with(t, with(t, with(t, pre, "new_member", `{"a":[1]}`), "huge", `"`+strings.Repeat("x", 40<<10)+`"`), "agent_id",
		"null")
	ev, err := a.Decode(b, adapters.Options{User: "dev"})
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

func TestAgentNames(t *testing.T) {
	a, pre := claudecode.New(), payloadOf(t, "events.PreToolUse")
	for _, c := range []struct{ id, kind, want string }{
		{"", "", "main"}, {"", `"reviewer"`, "main"}, {`"a1"`, "", "a1"}, {`"a1"`, `"Explore"`, "Explore/a1"},
	} {
		b := pre
		if c.id != "" {
			b = with(t, b, "agent_id", c.id)
		}
		if c.kind != "" {
			b = with(t, b, "agent_type", c.kind)
		}
		ev, err := a.Decode(b, adapters.Options{})
		if err != nil || ev.Steps[0].Invocation.Agent != c.want {
			t.Errorf("%s %s: %q, %v", c.id, c.kind, ev.Steps[0].Invocation.Agent, err)
		}
	}
}

// TestNativeAsk: only the modes in which Claude Code asks a person by itself count.
func TestNativeAsk(t *testing.T) {
	a := claudecode.New()
	for mode, want := range map[string]bool{
		`"default"`: true, `"acceptEdits"`: true, `"plan"`: true, `"auto"`: false, `"bypassPermissions"`: false,
		`"dontAsk"`: false,
		`"new"`:     false, `null`: false, ``: false,
	} {
		ev, err := a.Decode(with(t, payloadOf(t, "events.PreToolUse"), "permission_mode", mode), adapters.Options{})
		if err != nil || ev.Steps[0].NativeAsk != want {
			t.Errorf("%s: %v, %v", mode, ev.Steps, err)
		}
	}
}

// Without a person Claude Code refuses what a hook asks, so belay asks in its own queue.
func TestHeadlessAsksInTheQueue(t *testing.T) {
	a := claudecode.New()
	for _, name := range []string{"events.PreToolUse", "events.PermissionRequest"} {
		ev, err := a.Decode(payloadOf(t, name), adapters.Options{Headless: true})
		if err != nil {
			t.Fatal(err)
		}
		step, more, err := a.Next(ev, nil)
		if err != nil || !more || step.NativeAsk {
			t.Errorf("%s: %+v, %v, %v", name, step, more, err)
		}
	}
}

// TestDocs: the page names each event with its phase.
func TestDocs(t *testing.T) {
	page := string(readFile(t, "../../docs/runtimes/claude-code.md"))
	for _, s := range samples(t) {
		for _, st := range decode(t, s).Steps {
			phase := st.Invocation.Phase
			found := phase == phases.Audit && strings.Contains(page, "| all others | audit |")
			for line := range strings.Lines(page) {
				cells := strings.Split(line, "|")
				found = found ||
					(len(cells) > 3 && strings.Contains(cells[1], s.Event) && strings.Contains(cells[2], string(phase)))
			}
			if !found {
				t.Errorf("docs/runtimes/claude-code.md does not say that %s is %s", s.Event, phase)
			}
		}
	}
}

// TestSpawnDepth: a subagent's child is at least two deep.
func TestSpawnDepth(t *testing.T) {
	a, b := claudecode.New(), payloadOf(t, "captured.PreToolUse.Agent")
	for want, payload := range map[string][]byte{"1": b, "2": with(t, b, "agent_id", `"a1"`)} {
		ev, err := a.Decode(payload, adapters.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := phases.Get(ev.Steps[1].Invocation.Action, "/depth"); string(got) != want {
			t.Errorf("depth %s, want %s", got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, s := range samples(f) {
		f.Add(s.Payload, uint8(i))
	}
	events := append(claudecode.Events(), "")
	for i := range events {
		f.Add([]byte(`{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}`), uint8(i))
		f.Add([]byte(`{"hook_event_name":"PostToolUse","tool_response":{"a":["\ud800",{"type":"text"}]}}`), uint8(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, registered uint8) {
		a := claudecode.New()
		ev, err := a.Decode(b, adapters.Options{})
		if err == nil {
			for _, st := range ev.Steps {
				if _, err := phases.EncodeInvocation(st.Invocation); err != nil {
					t.Fatalf("an invocation that cannot be written: %v", err)
				}
			}
			checkAnswer(t, ev.Name,
				a.Encode(ev, chain(t, ev, func(_ int, inv phases.Invocation) phases.Verdict { return allow(inv) })))
			return
		}
		if !errors.Is(err, adapters.ErrPayload) && !errors.Is(err, phases.ErrDecode) {
			t.Fatalf("error of no class: %v", err)
		}
		event := events[int(registered)%len(events)]
		ans := a.Failure(b, adapters.Options{Event: event}, err)
		checkAnswer(t, event, ans)
		p := parseObject(b)
		if event == "" {
			if p == nil { // whatever it says of itself, it is no payload
				return
			}
			event, _ = p["hook_event_name"].(string)
		}
		e := react(event, b, ans, false)
		hidden := event == "PostToolUse" && !leaks(p["tool_response"], e.output)
		if !e.blocked && !e.stopped && !hidden && ans.Latch == "" || e.goesOn && ans.Latch == "" {
			t.Fatalf("%s: %q is not held: %+v", event, b, ans)
		}
	})
}
