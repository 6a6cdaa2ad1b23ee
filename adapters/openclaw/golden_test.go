package openclaw_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/adapters/openclaw"
	"github.com/belay-hooks/belay/phases"
)

var update = flag.Bool("update", false, "write the golden files anew")

// argument is what hooks change in the cases about arguments.
const argument = "/args/command"

// sample is one payload of testdata.
type sample struct {
	name    string // events.before_tool_call, captured.before_tool_call.exec
	event   string
	payload []byte
}

// samples returns every payload of testdata/events (written examples, whose input is the payload) and
// testdata/captured (the arguments of a function as a running client gave them), in the form in which the plugin
// sends them.
func samples(t testing.TB) []sample {
	t.Helper()
	var out []sample
	for _, dir := range []string{"events", "captured"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no payloads in testdata/%s: %v", dir, err)
		}
		for _, f := range files {
			b := jsontext.Value(readFile(t, f))
			if dir == "events" {
				v, ok := phases.Get(b, "/input")
				if !ok {
					t.Fatalf("%s has no input", f)
				}
				b = v
			}
			event, ok := phases.GetString(b, "/hook")
			if !ok {
				t.Fatalf("%s names no event", f)
			}
			out = append(out, sample{dir + "." + strings.TrimSuffix(filepath.Base(f), ".json"), event, b})
		}
	}
	return out
}

func payloadOf(t testing.TB, name string) []byte {
	t.Helper()
	for _, s := range samples(t) {
		if s.name == name {
			return s.payload
		}
	}
	t.Fatalf("no sample %s", name)
	return nil
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// golden compares got with a golden file, or writes it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	path = filepath.Join("testdata", "golden", path)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(readFile(t, path)), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); run with -update if the change is meant:\n%s", path, diff)
	}
}

func decode(t testing.TB, s sample) adapters.Event {
	t.Helper()
	ev, err := openclaw.New().Decode(s.payload, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return ev
}

type goldenStep struct {
	Blockable     bool           `json:"blockable"`
	NativeAsk     bool           `json:"native_ask"`
	CarriesScopes bool           `json:"carries_scopes"`
	Call          *adapters.Call `json:"call,omitzero"`
	Invocation    jsontext.Value `json:"invocation"`
}

func TestDecodeGolden(t *testing.T) {
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			ev := decode(t, s)
			var steps []goldenStep
			for _, st := range ev.Steps {
				wire, err := phases.EncodeInvocation(st.Invocation)
				if err != nil {
					t.Fatal(err)
				}
				steps = append(steps, goldenStep{st.Blockable, st.NativeAsk, st.CarriesScopes, st.Call, wire})
			}
			golden(t, "decode/"+s.name+".json",
				pretty(t, map[string]any{"event": ev.Name, "session": ev.Session, "steps": steps}))
		})
	}
}

type goldenAnswer struct {
	Stdout jsontext.Value `json:"stdout,omitzero"`
	Stderr string         `json:"stderr,omitzero"`
	Exit   int            `json:"exit"`
	Latch  string         `json:"latch,omitzero"`
	Notes  []string       `json:"notes,omitzero"`
}

func TestEncodeGolden(t *testing.T) {
	a := openclaw.New()
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			ev := decode(t, s)
			out := map[string]goldenAnswer{}
			add := func(name string, ans adapters.Answer) {
				checkAnswer(t, s.event, ans)
				out[name] = goldenAnswer{jsontext.Value(ans.Stdout), ans.Stderr, ans.Exit, ans.Latch, ans.Notes}
			}
			for _, c := range verdictcases.Of(t, a, argument, ev) {
				add(c.Name, a.Encode(ev, c.Verdicts))
			}
			fault := phases.NewFault(phases.KindStore, "the record could not be written", nil)
			add("failure", a.Failure(s.payload, adapters.Options{}, fault))
			add("failure_truncated", a.Failure(s.payload[:len(s.payload)-2], adapters.Options{}, os.ErrClosed))
			add("no_verdict", a.Encode(ev, nil))
			golden(t, "encode/"+s.name+".json", pretty(t, out))
		})
	}
}

func pretty(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.EscapeForHTML(false))
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// checkAnswer checks the rules that hold for every answer: one line with a JSON object of the members that the
// plugin knows, since it refuses any other.
func checkAnswer(t interface {
	Helper()
	Errorf(string, ...any)
}, event string, ans adapters.Answer) {
	t.Helper()
	if ans.Exit != 0 && (ans.Exit != 2 || strings.TrimSpace(ans.Stderr) == "") {
		t.Errorf("%s: exit %d, reason %q", event, ans.Exit, ans.Stderr)
	}
	if bytes.ContainsAny(ans.Stdout, "\r\n") {
		t.Errorf("%s: stdout is not one line: %s", event, ans.Stdout)
	}
	if _, err := readAnswer(ans.Stdout); err != nil {
		t.Errorf("%s: %v: %s", event, err, ans.Stdout)
	}
}

// TestPhases: the adapter has the hooks and phases of the map.
func TestPhases(t *testing.T) {
	var want map[string]jsontext.Value
	if err := json.Unmarshal(readFile(t, "testdata/phase-map.json"), &want); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range samples(t) {
		name := s.event
		if tool, _ := phases.GetString(s.payload, "/event/toolName"); tool == "sessions_spawn" {
			name += "[sessions_spawn]"
		}
		var list []phases.Phase
		if json.Unmarshal(want[name], &list) != nil {
			var one phases.Phase
			if err := json.Unmarshal(want[name], &one); err != nil {
				t.Errorf("%s: not in the map", name)
			}
			list = []phases.Phase{one}
		}
		var got []phases.Phase
		for _, st := range decode(t, s).Steps {
			got = append(got, st.Invocation.Phase)
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("%s: %s", s.name, diff)
		}
		seen[s.event], seen[name] = true, true
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("no sample of %s", name)
		}
	}
	for _, e := range openclaw.Events() {
		if !seen[e] {
			t.Errorf("%s is not in the map", e)
		}
	}
}

// TestBlocksGolden writes what the plugin returns for a block of each hook. The plugin's own tests hold the forms that
// it has for when it reaches no belay to the same file.
func TestBlocksGolden(t *testing.T) {
	const message = `{"role":"assistant","content":[{"type":"text","text":"the key is 1"},{"type":"toolCall","id":"c",` +
		`"name":"exec","arguments":{"command":"ls"}}],"details":{"aggregated":"x"},"timestamp":1}`
	out := map[string]jsontext.Value{}
	for _, hook := range openclaw.Events() {
		payload := `{"hook":"` + hook + `","directory":"/p","event":{"message":` + message + `}}`
		ans := openclaw.New().Failure([]byte(payload), adapters.Options{}, phases.NewFault(phases.KindStore, "no", nil))
		a, err := readAnswer(ans.Stdout)
		if err != nil {
			t.Fatal(err)
		}
		out[hook] = jsontext.Value("null")
		if v := a.value(); v != nil {
			out[hook] = v
		}
	}
	golden(t, "blocks.json", pretty(t, out))
}

// TestAnEmptyModelIsNoModel: OpenClaw goes on with the model that it had where a hook's has no name, so that the step
// is blocked.
func TestAnEmptyModelIsNoModel(t *testing.T) {
	payload := payloadOf(t, "events.before_model_resolve")
	for model, want := range map[string]bool{`"local/other"`: false, `""`: true, `" "`: true} {
		ans, err := adapters.Run(t.Context(), openclaw.New(), payload, adapters.Options{},
			func(_ context.Context, step adapters.Step) (phases.Verdict, error) {
				action, err := phases.Set(step.Invocation.Action, "/model", jsontext.Value(model))
				return phases.Verdict{Phase: step.Invocation.Phase, Decision: phases.Allow, Action: action,
					Changed: []string{"/model"}, Event: &phases.EventRef{Seq: 1, ID: "e"}}, err
			})
		if err != nil {
			t.Fatal(err)
		}
		if got := held("before_model_resolve", payload, ans); got != want {
			t.Errorf("%s: held %v, want %v: %s", model, got, want, ans.Stdout)
		}
	}
}
