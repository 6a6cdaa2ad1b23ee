package suite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/suite"
)

const askTool = "cases:\n  - name: one\n    phase: pre_tool\n    action: {tool: exec, args: {request: {tool: clock}}}\n"

// Calls that are made to fail fail so, and nothing else does.
func TestInjected(t *testing.T) {
	const reply = "    stubs: [{call: request_tool_call, reply: {result: noon}, times: 1}]\n"
	for name, src := range map[string]string{
		"an errno": askTool +
			"    injected: [{call: request_tool_call, errno: budget}]\n    want: {decision: allow, metadata: {errno: 4}}\n",
		"the first": askTool +
			"    injected: [{call: request_tool_call, number: 1, errno: denied}]\n    want: {decision: allow, metadata: {errno: 2}}\n",
		"a stub is not asked": askTool +
			"    stubs: [{call: request_tool_call, reply: {}}, {call: time_now, reply: 1}]\n    injected: [{call: request_tool_call, errno: pending}]\n" +
			"    want: {decision: allow, metadata: {errno: 6}}\n",
		"what comes before is answered": askTool + reply +
			"    before: [{phase: pre_tool, action: {tool: exec, args: {request: {tool: clock}}}}]\n" +
			"    injected: [{call: request_tool_call, errno: unavailable}]\n    want: {decision: allow, metadata: {errno: 7, tool: {result: noon}}}\n",
		"an effect": askTool + reply +
			"    injected: [{call: annotate, errno: too_large}]\n    want: {decision: block, kind: output}\n",
		"long": strings.Replace(askTool, "request: {tool: clock}", "", 1) +
			"    stubs: [{call: state_get, request: count, reply: 1}]\n" +
			// it notes 4,097 bytes that it was not given
			"    injected: [{call: state_get, long: true}]\n    want: {decision: block, kind: output}\n",
	} {
		res, err := runSuite(t, src, suite.Options{})
		if err != nil || len(res.Cases) != 1 || res.Cases[0].Err != nil {
			t.Fatalf("%s: %+v %v", name, res.Cases, err)
		}
		diffs := res.Cases[0].Differences
		if name == "a stub is not asked" { // and that is said of it
			if len(diffs) != 1 || diffs[0].What != "stubs/0 request_tool_call" {
				t.Errorf("%s: %v", name, diffs)
			}
			continue
		}
		if len(diffs) > 0 {
			t.Errorf("%s: %v", name, diffs)
		}
	}
}

// An injection that meets no call fails the case, with its line.
func TestInjectedThatMeetsNoCall(t *testing.T) {
	res, err := runSuite(t,
		askTool+"    stubs: [{call: request_tool_call, reply: {}}]\n    injected:\n      - {call: request_tool_call, number: 2, errno: denied}\n    want: {decision: allow}\n", suite.Options{})
	if err != nil || res.Cases[0].Err != nil {
		t.Fatal(err, res.Cases[0].Err)
	}
	if d := res.Cases[0].Differences; len(d) != 1 || d[0].What != "injected/0 request_tool_call" || d[0].Line != 7 ||
		!strings.Contains(d[0].Want, "call 2") {
		t.Errorf("%+v", d)
	}
}

// What can never be made to fail so is said before anything runs.
func TestInjectedThatNeverHappens(t *testing.T) {
	for injected, want := range map[string]string{
		"{call: launch, errno: denied}":                        `s.yaml:5:17: /cases/0/injected/0/call: there is no hostcall "launch"`,
		"{call: request_tool_call}":                            "fails with errno, or is long",
		"{call: input_get, errno: denied, long: true}":         "fails with errno, or is long",
		"{call: request_tool_call, errno: busy}":               `"busy" is not an errno`,
		"{call: request_tool_call, errno: absent}":             "fails with denied, budget, too_large, pending, unavailable",
		"{call: input_get, errno: denied}":                     "follows from its arguments",
		"{call: request_tool_call, long: true}":                "no buffer",
		"{call: input_get, number: -1, long: true}":            "counts from 1",
		"{call: http_request, errno: denied}":                  "does not import http_request",
		"{call: reply, errno: denied}":                         "not legal in pre_tool",
		"{call: input_get, long: true, every: true}":           "unknown member",
		"{call: request_tool_call, number: x, errno: pending}": "s.yaml:5:",
	} {
		res, err := runSuite(t, askTool+"    injected: ["+injected+"]\n    want: {decision: allow}\n", suite.Options{})
		if err == nil && len(res.Cases) > 0 {
			err = res.Cases[0].Err
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n  got  %v\n  want %s", injected, err, want)
		}
	}
}

// A case about a recording, such as a finding of belay fuzz, takes over which calls
// were made to fail there: by name and place among the calls of that name.
func TestInjectedOfARecording(t *testing.T) {
	for name, c := range map[string]struct {
		call   string
		place  int
		failed recording.Injected
		want   string
	}{
		"errno": {"request_tool_call", 1, recording.Injected{Errno: -4}, "4"},
		// it asks for 4,097 bytes that it was not given
		"long, not all": {"input_get", 2, recording.Injected{Long: true}, "3"},
	} {
		t.Run(name, func(t *testing.T) { recordedInjection(t, c.call, c.place, c.failed, c.want) })
	}
}

func recordedInjection(t *testing.T, call string, place int, failed recording.Injected, errno string) {
	t.Helper()
	dir := t.TempDir()
	module, err := os.ReadFile("testdata/guests/asks.wasm")
	if err != nil {
		t.Fatal(err)
	}
	var first bytes.Buffer
	w, err := recording.NewWriter(&first, recording.Header{Source: recording.SourceTest, CostTable: loader.CostTable})
	if err != nil {
		t.Fatal(err)
	}
	host, err := belay.Open(t.Context(), filepath.Join(dir, "state"),
		belay.Options{InMemory: true, Recorder: recording.NewRecorder(w), Tools: fakeTool{},
			Hooks: []belay.AdHocHook{{Name: "asks", Module: module}}})
	if err != nil {
		t.Fatal(err)
	}
	in := suite.Input{Phase: "pre_tool", Action: jsontext.Value(`{"tool":"exec","args":{"request":{"tool":"mcp:x:y"}}}`)}
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

	r, err := recording.NewReader(&first, "x.rec")
	if err != nil {
		t.Fatal(err)
	}
	var changed bytes.Buffer
	w, err = recording.NewWriter(&changed, r.Header())
	if err != nil {
		t.Fatal(err)
	}
	for { // the invocation of the case is the last: what the hook asked for comes before it
		run, chain, err := r.Next()
		if err != nil {
			break
		}
		for i := range run.Turns {
			seen := 0
			for n, c := range run.Turns[i].Calls {
				if c.Name == call {
					if seen++; seen == place {
						failed.Call = n + 1
						run.Turns[i].Injected = append(run.Turns[i].Injected, failed)
					}
				}
			}
			run.Turns[i].Injected = append(run.Turns[i].Injected,
				recording.Injected{Call: len(run.Turns[i].Calls) + 1, Errno: -2})
		}
		if run.Chain, err = w.AddChain(chain); err != nil {
			t.Fatal(err)
		}
		if err := w.AddRun(run); err != nil {
			t.Fatal(err)
		}
	}
	runs := w.Runs()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.rec"), changed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s.yaml")
	src := "cases:\n  - name: one\n    recording: x.rec\n    number: " + string(rune('0'+runs)) +
		"\n    want: {decision: allow, metadata: {errno: " + errno + "}}\n"
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := suite.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	res, err := asksHook(t, engine(t, false)).Run(t.Context(), &s.Cases[0])
	if err != nil || !res.Passed() {
		t.Errorf("%v: %v", err, res.Differences)
	}
}
