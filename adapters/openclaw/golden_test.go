package openclaw_test

import (
	"bytes"
	"context"
	"flag"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/goldens"
	"github.com/belay-hooks/belay/adapters/openclaw"
	"github.com/belay-hooks/belay/phases"
)

var update = flag.Bool("update", false, "write the golden files anew")

// argument is what hooks change in the cases about arguments.
const argument = "/args/command"

type sample = goldens.Sample

// samples returns every payload of testdata/events (written examples, whose input is the payload) and
// testdata/captured (the arguments of a function as a running client gave them), in the form in which the plugin
// sends them.
func samples(t testing.TB) []sample {
	t.Helper()
	return goldens.Samples(t, "/hook", "events", "captured")
}

func payloadOf(t testing.TB, name string) []byte {
	t.Helper()
	return goldens.PayloadOf(t, samples(t), name)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	return goldens.ReadFile(t, path)
}

// golden compares got with a golden file, or writes it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	goldens.Check(t, *update, path, got)
}

func decode(t testing.TB, s sample) adapters.Event {
	t.Helper()
	ev, err := openclaw.New().Decode(s.Payload, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return ev
}

func TestDecodeGolden(t *testing.T) { goldens.Decode(t, openclaw.New(), samples(t), *update) }

func TestEncodeGolden(t *testing.T) {
	goldens.Encode(t, openclaw.New(), argument, samples(t), *update,
		func(t *testing.T, event string, ans adapters.Answer) { checkAnswer(t, event, ans) })
}

func pretty(t testing.TB, v any) []byte {
	t.Helper()
	return goldens.Pretty(t, v)
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
		name := s.Event
		if tool, _ := phases.GetString(s.Payload, "/event/toolName"); tool == "sessions_spawn" {
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
			t.Errorf("%s: %s", s.Name, diff)
		}
		seen[s.Event], seen[name] = true, true
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
