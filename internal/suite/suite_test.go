package suite_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/kernel"
)

const asks = "testdata/guests/asks.yaml"

func engine(t testing.TB, cover bool) *suite.Engine {
	t.Helper()
	e, err := suite.OpenEngine(suite.EngineOptions{Cover: cover})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func asksHook(t testing.TB, e *suite.Engine) *suite.Hook {
	t.Helper()
	b, err := os.ReadFile("testdata/guests/asks.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return e.Hook("asks", b)
}

// The committed modules are those of the texts beside them.
func TestGuestsAreCurrent(t *testing.T) {
	for _, name := range []string{"asks", "arms"} {
		out := filepath.Join(t.TempDir(), "guest.wasm")
		if b, err := exec.Command("wat2wasm", "--debug-names", "-o", out,
			"testdata/guests/"+name+".wat").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/guests/" + name + ".wasm")
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s.wasm is not what its text says (%v)", name, err)
		}
	}
}

// runSuite writes a suite about the guest and runs it.
func runSuite(t *testing.T, cases string, o suite.Options) (suite.SuiteResult, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(cases), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := suite.ReadFile(path)
	if err != nil {
		return suite.SuiteResult{}, err
	}
	return asksHook(t, engine(t, false)).RunSuite(t.Context(), s, o)
}

func TestStubs(t *testing.T) {
	s, err := suite.ReadFile(asks)
	if err != nil {
		t.Fatal(err)
	}
	res, err := asksHook(t, engine(t, false)).RunSuite(t.Context(), s, suite.Options{})
	if err != nil || len(res.Cases) != 8 {
		t.Fatalf("%d cases, %v", len(res.Cases), err)
	}
	for _, c := range res.Cases {
		if c.Status() != "pass" {
			t.Errorf("%s: %v %v", c.Case, c.Err, c.Differences)
		}
	}
}

// A case has the same ids, random numbers, fuel and verdict every time.
func TestCasesRepeat(t *testing.T) {
	s, err := suite.ReadFile(asks)
	if err != nil {
		t.Fatal(err)
	}
	var first []string
	for range 2 {
		h := asksHook(t, engine(t, false))
		for i := range s.Cases {
			r, err := h.Run(t.Context(), &s.Cases[i])
			if err != nil {
				t.Fatal(err)
			}
			for k := range r.Verdict.Hooks {
				r.Verdict.Hooks[k].DurationUS = 0
			}
			text := jsonText(t, r.Verdict)
			if len(first) < len(s.Cases) {
				first = append(first, text)
			} else if text != first[i] {
				t.Errorf("%s:\n%s\n%s", r.Case, first[i], text)
			}
		}
	}
}

// A promise that a stub breaks is a difference, with its line.
func TestStubsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct{ stubs, args, what, got string }{
		"never used":     {"{call: request_tool_call, reply: {}}", "{}", "stubs/0 request_tool_call", "used 0 times"},
		"used too often": {"{call: time_now, reply: 1, times: 2}", "{}", "stubs/0 time_now", "used 1 times"},
		"other request": {"{call: request_tool_call, request: {tool: a}, reply: {}}", "{request: {tool: b}}", "stubs",
			`request_tool_call {"tool": "b"}`},
		"another key": {"{call: state_get, request: other, reply: x}", "{}", "stubs/0 state_get", "used 0 times"},
	} {
		res, err := runSuite(t, "cases:\n  - name: one\n    phase: pre_tool\n    action: {tool: exec, args: "+c.args+
			"}\n    stubs:\n      - "+c.stubs+"\n    want: {decision: allow}\n", suite.Options{})
		if err != nil || len(res.Cases) != 1 || res.Cases[0].Err != nil {
			t.Fatalf("%s: %+v %v", name, res, err)
		}
		found := false
		for _, d := range res.Cases[0].Differences {
			found = found || d.What == c.what && (strings.Contains(strings.ReplaceAll(d.Got, `":"`, `": "`), c.got)) &&
				(d.Line == 6 || d.What == "stubs")
		}
		if !found {
			t.Errorf("%s: %v", name, res.Cases[0].Differences)
		}
	}
}

// What can never happen is said before anything runs, with file and line.
func TestUnreachableExpectations(t *testing.T) {
	const head = "cases:\n  - name: one\n    phase: pre_tool\n    action: {tool: exec, args: {}}\n"
	for name, c := range map[string]struct{ src, want string }{
		"a decision that it cannot take": {head + "    want: {decision: ask}\n",
			"s.yaml:5:12: /cases/0/want/decision: never happens: the hook does not import request_approval"},
		"a policy block": {head + "    want: {decision: block, kind: policy}\n", "does not import block"},
		"an effect that it cannot have": {head + "    want: {decision: allow, effects: [rewrite]}\n",
			"s.yaml:5:39: /cases/0/want/effects/0: never happens"},
		"changes": {head + "    want: {decision: allow, changed: [/args/a]}\n",
			"does not import rewrite"},
		"an effect not legal there": {head + "    want: {decision: allow, effects: [retry]}\n",
			"retry is not legal in pre_tool"},
		"a phase that it does not serve": {strings.Replace(head, "pre_tool\n    action: {tool: exec, args: {}}",
			"pre_plan\n    action: {kind: message, text: x}", 1) + "    want: {decision: allow}\n",
			"s.yaml:3:5: /cases/0/phase: the hook does not serve pre_plan"},
		"a phase before": {head +
			"    before: [{phase: pre_plan, action: {kind: message, text: x}}]\n    want: {decision: allow}\n", "s.yaml:5:"},
		"a stub that it does not import": {head +
			"    stubs: [{call: http_request, reply: {}}]\n    want: {decision: allow}\n", "does not import http_request"},
		"a stub that is not legal there": {strings.Replace(head, "pre_tool\n    action: {tool: exec, args: {}}",
			"audit\n    action: {kind: x, data: {}}",
			1) + "    stubs: [{call: state_get, errno: absent, request: k}]\n    want: {decision: allow}\n",
			"state_get is not legal in audit"},
		"a stub of what is worked out": {head +
			"    stubs: [{call: shell_parse, reply: {}}]\n    want: {decision: allow}\n", "shell_parse has no stub"},
		"a stub of nothing": {head + "    stubs: [{call: launch, reply: {}}]\n    want: {decision: allow}\n",
			`s.yaml:5:14: /cases/0/stubs/0/call: there is no hostcall "launch"`},
		"a stub without an answer": {head + "    stubs: [{call: request_tool_call}]\n    want: {decision: allow}\n",
			"reply or errno"},
		"an errno that is none": {head +
			"    stubs: [{call: request_tool_call, errno: busy}]\n    want: {decision: allow}\n", `"busy" is not an errno`},
		"time that fails": {head +
			"    stubs: [{call: time_now, errno: absent}]\n    want: {decision: allow}\n", "never fails like this"},
		"time that is none": {head + "    stubs: [{call: time_now, reply: noon}]\n    want: {decision: allow}\n",
			"reply is a time"},
		"bytes that are none": {head + "    stubs: [{call: random, reply: xyz}]\n    want: {decision: allow}\n",
			"hexadecimal"},
		"a deadline":          {head + "    want: {decision: block, kind: deadline}\n", "no deadlines"},
		"a store that fails":  {head + "    want: {decision: block, kind: store}\n", "never happens"},
		"a kind of nothing":   {head + "    want: {decision: allow, kind: policy}\n", "no kind"},
		"a reason of nothing": {head + "    want: {decision: allow, reason_contains: x}\n", "no reason"},
		"there and not there": {head + "    want: {decision: allow, action: {/args/a: 1}, absent: [/args/a]}\n",
			"not wanted there"},
		"an unknown member": {head + "    want: {decision: allow, fule: 3}\n",
			"s.yaml:5:29: /cases/0/want/fule: unknown member"},
		"an effect that is none": {head + "    want: {decision: allow, effects: [explode]}\n",
			"an effect is its kind"},
		"a number without a recording": {head + "    number: 3\n    want: {decision: allow}\n", "s.yaml:5:"},
		"two of the same name": {head + "    want: {decision: allow}\n" + strings.TrimPrefix(head, "cases:\n") +
			"    want: {decision: allow}\n", "s.yaml:6:"},
		"a recording that is not there": {"cases:\n  - name: one\n    recording: none.rec\n    want: {decision: allow}\n",
			"s.yaml:3:5: /cases/0/recording: none.rec"},
	} {
		res, err := runSuite(t, c.src, suite.Options{})
		if err == nil && len(res.Cases) > 0 {
			err = res.Cases[0].Err
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n  got  %v\n  want %s", name, err, c.want)
		}
	}
}

type fakeTool struct{}

func (fakeTool) Tools(context.Context) ([]kernel.ToolInfo, error) { return nil, nil }
func (fakeTool) Call(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
	return kernel.ToolResult{Result: jsontext.Value(`"12:00"`)}, nil
}

// A case can take its invocation and all answers from a recording.
func TestRecordedCase(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	w, err := recording.NewWriter(&out, recording.Header{Source: recording.SourceTest, CostTable: loader.CostTable})
	if err != nil {
		t.Fatal(err)
	}
	recorder := recording.NewRecorder(w)
	module, err := os.ReadFile("testdata/guests/asks.wasm")
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	host, err := belay.Open(t.Context(), state,
		belay.Options{InMemory: true, Recorder: recorder, Tools: fakeTool{},
			Hooks: []belay.AdHocHook{{Name: "recorded", Module: module}}})
	if err != nil {
		t.Fatal(err)
	}
	in := suite.Input{Phase: "pre_tool",
		Action: jsontext.Value(`{"tool":"exec","args":{"request":{"tool":"clock","args":{}}}}`)}
	inv, err := in.Invocation()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Invoke(t.Context(), inv); err != nil {
		t.Fatal(err)
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.rec"), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := strings.Count(out.String(), `"run":`)
	src := "cases:\n  - name: one\n    recording: x.rec\n    number: NUMBER\n    want: {decision: allow, verdict: {metadata: {tool: {value: {result: \"12:00\"}}}}}\n"
	path := filepath.Join(dir, "s.yaml")
	passed := 0
	for n := 1; n <= runs+1; n++ { // one of them is what the hook asked for itself
		if err := os.WriteFile(path, []byte(strings.Replace(src, "NUMBER", string(rune('0'+n)), 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := suite.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		res, err := asksHook(t, engine(t, false)).Run(t.Context(), &s.Cases[0])
		switch {
		case n > runs:
			if err == nil || !strings.Contains(err.Error(), "holds") {
				t.Errorf("one too many: %v", err)
			}
		case err == nil && res.Passed():
			passed++
		default:
			t.Logf("%d: %v %v", n, err, res.Differences)
		}
	}
	if passed != 1 {
		t.Errorf("%d of %d", passed, runs)
	}
}

func TestGoldens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	write := func(state, more string) *suite.Suite {
		t.Helper()
		src := "cases:\n  - name: one\n    phase: pre_tool\n    action: {tool: exec, args: {}}\n    stubs: [{call: state_get, request: count, reply: " + state + "}]\n    want: {decision: allow}\n" + more
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := suite.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const two = "  - name: two\n    phase: pre_tool\n    action: {tool: exec, args: {}}\n    want: {decision: DEC}\n"
	h := asksHook(t, engine(t, false))
	run := func(s *suite.Suite, o suite.Options) suite.SuiteResult {
		t.Helper()
		res, err := h.RunSuite(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	both := strings.Replace(two, "DEC", "allow", 1)
	if r := run(write("1", both), suite.Options{Update: true}); !r.Updated {
		t.Fatalf("%+v", r)
	}
	before, err := os.ReadFile(suite.GoldenFile(path))
	if err != nil {
		t.Fatal(err)
	}
	if r := run(write("1", both), suite.Options{}); r.Count("pass") != 2 {
		t.Errorf("%+v", r)
	}
	r := run(write("2", both), suite.Options{})
	if r.Count("golden") != 1 || r.Cases[0].Golden[0].What != "golden /effects/0/value" ||
		r.Cases[0].Golden[0].Got != "2" {
		t.Errorf("%+v", r)
	}
	if r := run(write("1", ""), suite.Options{}); len(r.Left) != 1 {
		t.Errorf("%+v", r)
	}
	if r := run(write("1", strings.ReplaceAll(both, "two", "three")), suite.Options{}); r.Count("golden") != 1 ||
		len(r.Left) != 1 {
		t.Errorf("%+v", r)
	}
	// A case that fails keeps the golden as it is.
	if r := run(write("2", strings.Replace(two, "DEC", "block", 1)), suite.Options{Update: true}); r.Updated {
		t.Error("a failing suite has updated its golden")
	}
	// Some of the cases replace some of the golden.
	if r := run(write("2", both), suite.Options{Update: true, Run: regexp.MustCompile("one")}); !r.Updated ||
		r.Skipped != 1 {
		t.Errorf("%+v", r)
	}
	after, err := os.ReadFile(suite.GoldenFile(path))
	if err != nil || bytes.Equal(before, after) || !bytes.Contains(after, []byte(`"two"`)) {
		t.Errorf("%v\n%s", err, after)
	}
	for _, bad := range []string{"{", `{"format":"belay-golden/v9","cases":{}}`,
		`{"format":"belay-golden/v1","cases":{},"x":1}`} {
		if err := os.WriteFile(suite.GoldenFile(path), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := h.RunSuite(t.Context(), write("1", ""), suite.Options{}); err == nil ||
			!strings.Contains(err.Error(), "s.golden.json: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func jsonText(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
