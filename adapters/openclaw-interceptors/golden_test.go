package openclawinterceptors_test

import (
	"bytes"
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
	openclawinterceptors "github.com/belay-hooks/belay/adapters/openclaw-interceptors"
	"github.com/belay-hooks/belay/phases"
)

var update = flag.Bool("update", false, "write the golden files anew")

// argument is what hooks change in the cases about arguments.
const argument = "/args/command"

// sample is one payload of testdata.
type sample struct {
	name    string // events.tool.before
	event   string
	payload []byte
}

// samples returns every payload of testdata/events: written examples, whose input is the payload.
func samples(t testing.TB) []sample {
	t.Helper()
	var out []sample
	for _, dir := range []string{"events"} {
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
			event, ok := phases.GetString(b, "/event")
			if !ok {
				t.Fatalf("%s names no event", f)
			}
			out = append(out, sample{dir + "." + strings.TrimSuffix(filepath.Base(f), ".json"), event, b})
		}
	}
	return out
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
	ev, err := openclawinterceptors.New().Decode(s.payload, adapters.Options{})
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
	a := openclawinterceptors.New()
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

// checkAnswer checks the rules that hold for every answer: one line with a JSON object.
func checkAnswer(t *testing.T, event string, ans adapters.Answer) {
	t.Helper()
	if ans.Exit != 0 && (ans.Exit != 2 || strings.TrimSpace(ans.Stderr) == "") {
		t.Errorf("%s: exit %d, reason %q", event, ans.Exit, ans.Stderr)
	}
	if bytes.ContainsAny(ans.Stdout, "\r\n") || jsontext.Value(ans.Stdout).Kind() != '{' ||
		!jsontext.Value(ans.Stdout).IsValid() {
		t.Errorf("%s: stdout is not one object on one line: %s", event, ans.Stdout)
	}
}
