package cursor_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/cursor"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/phases"
)

// with returns the payload with another value of a member; "" takes it away.
func with(t testing.TB, b []byte, name, value string) []byte {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if delete(m, name); value != "" {
		m[name] = json.RawMessage(value)
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPhases: the events are those of the map, each with its phase.
func TestPhases(t *testing.T) {
	var want map[string]phases.Phase
	if err := json.Unmarshal(readFile(t, "testdata/phase-map.json"), &want); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(want)); !slices.Equal(got, cursor.Events()) {
		t.Errorf("the events are %q, and %q are expected", cursor.Events(), got)
	}
	for _, s := range samples(t) {
		if got := decode(t, s).Steps[0].Invocation.Phase; got != want[s.Event] {
			t.Errorf("%s is %s, not %s", s.Event, got, want[s.Event])
		}
	}
}

// TestDirectory: Cursor leaves cwd empty; with one root it is that, with several it cannot be told.
func TestDirectory(t *testing.T) {
	b := payloadOf(t, "events.beforeShellExecution")
	for _, c := range []struct{ cwd, roots, want string }{
		{`""`, `["/w"]`, "/w"}, {`"/w/a"`, `["/w"]`, "/w/a"}, {`""`, `["/w","/v"]`, ""}, {`""`, `[]`, ""}, {``, ``, ""},
		{`null`, `["/w"]`, "/w"},
	} {
		ev := decode(t, sample{Name: c.cwd, Payload: with(t, with(t, b, "cwd", c.cwd), "workspace_roots", c.roots)})
		if got := ev.Steps[0].Invocation.CWD; got != c.want {
			t.Errorf("%s in %s is %q, not %q", c.cwd, c.roots, got, c.want)
		}
	}
}

// TestDecodeRefuses: what cannot be read is an error, and its answer holds the event.
func TestDecodeRefuses(t *testing.T) {
	a := cursor.New()
	pre, mcp := payloadOf(t, "events.preToolUse"), payloadOf(t, "events.beforeMCPExecution")
	shell, read := payloadOf(t, "events.beforeShellExecution"), payloadOf(t, "events.beforeReadFile")
	for _, k := range []struct {
		name, event string
		payload     []byte
		class       error
	}{
		{"nothing", "preToolUse", nil, adapters.ErrPayload},
		{"an array", "preToolUse", []byte(`[]`), adapters.ErrPayload},
		{"cut off", "preToolUse", pre[:len(pre)-1], adapters.ErrPayload},
		{"a member twice", "preToolUse", append([]byte(`{"tool_name":"Read",`), pre[1:]...), adapters.ErrPayload},
		{"another event", "beforeShellExecution", pre, adapters.ErrPayload},
		{"an unknown event", "preToolUse", with(t, pre, "hook_event_name", `"preToolUse2"`), adapters.ErrUnknownEvent},
		{"no session", "preToolUse", with(t, pre, "session_id", ""), adapters.ErrPayload},
		{"no tool", "preToolUse", with(t, pre, "tool_name", `""`), adapters.ErrPayload},
		{"arguments as text", "preToolUse", with(t, pre, "tool_input", `"ls"`), adapters.ErrPayload},
		{"no command", "beforeShellExecution", with(t, shell, "command", ""), adapters.ErrPayload},
		{"a relative directory", "beforeShellExecution", with(t, shell, "cwd", `"src"`), phases.ErrDecode},
		{"roots", "beforeShellExecution", with(t, shell, "workspace_roots", `"/w"`), adapters.ErrPayload},
		{"a root", "beforeShellExecution", with(t, shell, "workspace_roots", `[7]`), adapters.ErrPayload},
		{"no content", "beforeReadFile", with(t, read, "content", ""), adapters.ErrPayload},
		{"arguments that are no JSON", "beforeMCPExecution", with(t, mcp, "tool_input", `"x"`), adapters.ErrPayload},
		{"arguments that are a list", "beforeMCPExecution", with(t, mcp, "tool_input", `"[]"`), adapters.ErrPayload},
		{"arguments twice", "beforeMCPExecution", with(t, mcp, "tool_input", `"{\"a\":1,\"a\":2}"`), adapters.ErrPayload},
		{"a prompt", "beforeSubmitPrompt", with(t, payloadOf(t, "events.beforeSubmitPrompt"), "prompt", `[]`),
			adapters.ErrPayload},
		{"a child", "subagentStart", with(t, payloadOf(t, "events.subagentStart"), "task", ``), adapters.ErrPayload},
		{"an output", "postToolUse", with(t, payloadOf(t, "events.postToolUse"), "tool_output", `{}`), adapters.ErrPayload},
		{"too large", "preToolUse", with(t, pre, "x", `"`+strings.Repeat("a", 2<<20)+`"`), adapters.ErrTooLarge},
	} {
		opts := adapters.Options{Event: k.event}
		_, err := a.Decode(k.payload, opts)
		if !errors.Is(err, k.class) {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		ans := a.Failure(k.payload, opts, err)
		checkAnswer(t, k.event, ans)
		if !holds(ans) {
			t.Errorf("%s: not held: %+v", k.name, ans)
		}
	}
}

// TestTools: what hooks see of a call.
func TestTools(t *testing.T) {
	for name, want := range map[string]string{
		"preToolUse":           `{"tool":"exec","native_tool":"Shell","call_id":"d024a132-85b4"}`,
		"beforeShellExecution": `{"tool":"exec","args":{"command":"rm -rf build"}}`,
		"beforeReadFile":       `{"tool":"read","args":{"file_path":"/home/dev/project/.env","content":"API_KEY=x"}}`,
		"beforeTabFileRead":    `{"tool":"read","args":{"content":"API_KEY=x"}}`,
		"beforeMCPExecution": `{"tool":"mcp:mcp.example:query","args":{"sql":"select 1"},` +
			`"mcp":{"server":"mcp.example","tool":"query"}}`,
		"postToolUse": `{"tool":"exec","result":{"output":"a\n","exitCode":0}}`,
	} {
		got := decode(t, sample{Name: name, Payload: payloadOf(t, "events."+name)}).Steps[0].Invocation.Action
		var part func(ptr string, v jsontext.Value)
		part = func(ptr string, v jsontext.Value) {
			if v.Kind() == '{' {
				var m map[string]json.RawMessage
				if err := json.Unmarshal(v, &m); err != nil {
					t.Fatal(err)
				}
				for k, x := range m {
					part(phases.Join(ptr, k), jsontext.Value(x))
				}
			} else if is, _ := phases.Get(got, ptr); !phases.Same(is, v) {
				t.Errorf("%s: %s is %s, not %s", name, ptr, is, v)
			}
		}
		part("", jsontext.Value(want))
	}
}

// TestEveryBlockHolds: what a hook blocks or asks about, and what fails, is held in every event by the
// answer itself or by a latch, and only a grant says `allow`.
func TestEveryBlockHolds(t *testing.T) {
	a := cursor.New()
	for _, s := range samples(t) {
		ev := decode(t, s)
		for _, v := range verdictcases.Of(t, a, argument, ev) {
			ans := a.Encode(ev, v.Verdicts)
			switch v.Name {
			case "block", "hook_failure", "reply", "ask", "ask_queue":
				if !holds(ans) {
					t.Errorf("%s: %s is not held: %+v", s.Name, v.Name, ans)
				}
			}
			p, _ := phases.GetString(ans.Stdout, "/permission")
			if granted := v.Verdicts[len(v.Verdicts)-1].Grant != nil; p == "allow" && !granted {
				t.Errorf("%s: %s says allow without a grant: %s", s.Name, v.Name, ans.Stdout)
			}
		}
		for _, b := range [][]byte{s.Payload, s.Payload[:len(s.Payload)/2], nil} {
			ans := a.Failure(b, adapters.Options{Event: s.Event}, phases.NewFault(phases.KindStore, "x", nil))
			if !holds(ans) {
				t.Errorf("%s: a failure is not held: %+v", s.Name, ans)
			}
		}
	}
}

// TestOutputsOfServersAreReplaced: a redacted output of an MCP tool is replaced; of any other tool the
// session is latched.
func TestOutputsOfServersAreReplaced(t *testing.T) {
	a := cursor.New()
	for tool, replaced := range map[string]bool{"MCP:query": true, "Shell": false} {
		b := with(t, payloadOf(t, "events.postToolUse"), "tool_name", `"`+tool+`"`)
		ev := decode(t, sample{Name: tool, Payload: b})
		ans := a.Encode(ev, []phases.Verdict{
			verdictcases.RewriteAt(t, ev.Steps[0].Invocation, "/result/output", `"[removed]"`)})
		got, _ := phases.GetString(ans.Stdout, "/updated_mcp_tool_output/output")
		if (got == "[removed]") != replaced || (ans.Latch == "") != replaced {
			t.Errorf("%s: %+v", tool, ans)
		}
	}
}

// TestRetry: an agent that goes on already is not sent on again.
func TestRetry(t *testing.T) {
	a := cursor.New()
	for count, want := range map[string]string{"0": "run the tests", "1": ""} {
		ev := decode(t, sample{Name: count, Payload: with(t, payloadOf(t, "events.stop"), "loop_count", count)})
		v := verdictcases.Allow(ev.Steps[0].Invocation)
		v.Retry = &phases.Retry{Instruction: "run the tests", Max: 3, Hook: "score"}
		got, _ := phases.GetString(a.Encode(ev, []phases.Verdict{v}).Stdout, "/followup_message")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("after %s follow-ups: %q", count, got)
		}
	}
}

// TestDocs: the page names each event with its phase.
func TestDocs(t *testing.T) {
	page := string(readFile(t, "../../docs/runtimes/cursor.md"))
	for _, s := range samples(t) {
		phase, found := decode(t, s).Steps[0].Invocation.Phase, false
		for line := range strings.Lines(page) {
			cells := strings.Split(line, "|")
			found = found ||
				len(cells) > 3 && strings.Contains(cells[1], s.Event) && strings.Contains(cells[2], string(phase))
		}
		if !found {
			t.Errorf("docs/runtimes/cursor.md does not say that %s is %s", s.Event, phase)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, s := range samples(f) {
		f.Add(s.Payload, uint8(i))
	}
	names := append(cursor.Events(), "")
	f.Fuzz(func(t *testing.T, b []byte, registered uint8) {
		a := cursor.New()
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
		event := names[int(registered)%len(names)]
		ans := a.Failure(b, adapters.Options{Event: event}, err)
		checkAnswer(t, event, ans)
		if !holds(ans) {
			t.Fatalf("%s: %q is not held: %+v", event, b, ans)
		}
	})
}
