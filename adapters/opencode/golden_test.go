package opencode_test

import (
	"bytes"
	"flag"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/goldens"
	"github.com/belay-hooks/belay/adapters/opencode"
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
	return goldens.Samples(t, "/event", "events", "captured")
}

func payloadOf(t testing.TB, name string) []byte {
	t.Helper()
	return goldens.PayloadOf(t, samples(t), name)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	return goldens.ReadFile(t, path)
}

func decode(t testing.TB, s sample) adapters.Event {
	t.Helper()
	ev, err := opencode.New().Decode(s.Payload, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return ev
}

func TestDecodeGolden(t *testing.T) { goldens.Decode(t, opencode.New(), samples(t), *update) }

func TestEncodeGolden(t *testing.T) {
	goldens.Encode(t, opencode.New(), argument, samples(t), *update,
		func(t *testing.T, event string, ans adapters.Answer) { checkAnswer(t, event, ans) })
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

// TestPhases: the adapter has the events and phases of the map, with permission.asked beside them.
func TestPhases(t *testing.T) {
	var want map[string]jsontext.Value
	if err := json.Unmarshal(readFile(t, "testdata/phase-map.json"), &want); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"permission.asked": true}
	for _, s := range samples(t) {
		name := s.Event
		if tool, _ := phases.GetString(s.Payload, "/input/tool"); tool == "task" && strings.HasSuffix(name, ".before") {
			name += "[task]"
		}
		if name == "permission.asked" {
			name = "permission.ask"
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
	for _, e := range opencode.Events() {
		if !seen[e] {
			t.Errorf("%s is not in the map", e)
		}
	}
}
