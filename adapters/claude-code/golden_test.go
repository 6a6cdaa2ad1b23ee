package claudecode_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/internal/goldens"
	"github.com/belay-hooks/belay/phases"
)

var update = flag.Bool("update", false, "write the golden files anew")

type sample = goldens.Sample

// samples returns every payload of testdata/events (written examples, whose
// input is the payload), testdata/captured (as a running client sent it) and
// testdata/variants (the first two, changed where an event has a second face).
func samples(t testing.TB) []sample {
	t.Helper()
	return goldens.Samples(t, "/hook_event_name", "events", "captured", "variants")
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
	ev, err := claudecode.New().Decode(s.Payload, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return ev
}

type goldenStep struct {
	Blockable     bool           `json:"blockable"`
	NativeAsk     bool           `json:"native_ask"`
	CarriesScopes bool           `json:"carries_scopes"`
	Invocation    jsontext.Value `json:"invocation"`
}

func TestDecodeGolden(t *testing.T) {
	for _, s := range samples(t) {
		t.Run(s.Name, func(t *testing.T) {
			ev := decode(t, s)
			var steps []goldenStep
			for _, st := range ev.Steps {
				wire, err := phases.EncodeInvocation(st.Invocation)
				if err != nil {
					t.Fatal(err)
				}
				steps = append(steps, goldenStep{st.Blockable, st.NativeAsk, st.CarriesScopes, wire})
			}
			golden(t, "decode/"+s.Name+".json",
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
	HTTP   int            `json:"http"`
}

func TestEncodeGolden(t *testing.T) {
	a := claudecode.New()
	for _, s := range samples(t) {
		t.Run(s.Name, func(t *testing.T) {
			ev := decode(t, s)
			out := map[string]goldenAnswer{}
			add := func(name string, ans adapters.Answer) {
				checkAnswer(t, s.Name+"/"+name, ans)
				status, _, _ := ans.HTTP()
				out[name] = goldenAnswer{jsontext.Value(ans.Stdout), ans.Stderr, ans.Exit, ans.Latch, ans.Notes, status}
			}
			for _, c := range verdictCases(t, ev) {
				add(c.name, a.Encode(ev, c.verdicts))
			}
			add("failure",
				a.Failure(s.Payload, adapters.Options{}, phases.NewFault(phases.KindStore, "the record could not be written", nil)))
			add("failure_truncated", a.Failure(s.Payload[:len(s.Payload)-2], adapters.Options{}, os.ErrClosed))
			add("no_verdict", a.Encode(ev, nil))
			golden(t, "encode/"+s.Name+".json", pretty(t, out))
		})
	}
}

func pretty(t testing.TB, v any) []byte {
	t.Helper()
	return goldens.Pretty(t, v)
}

// checkAnswer checks the rules that hold for every answer.
func checkAnswer(t testing.TB, name string, ans adapters.Answer) {
	t.Helper()
	if ans.Exit != 0 && ans.Exit != 2 {
		t.Errorf("%s: exit %d", name, ans.Exit)
	}
	if ans.Exit != 0 && ans.Stderr == "" {
		t.Errorf("%s: exit %d without a reason on stderr", name, ans.Exit)
	}
	if len(ans.Stdout) > 0 && (!jsontext.Value(ans.Stdout).IsValid() || !bytes.HasPrefix(ans.Stdout, []byte("{"))) {
		t.Errorf("%s: stdout is not a JSON object: %s", name, ans.Stdout)
	}
	if bytes.ContainsAny(ans.Stdout, "\r\n") {
		t.Errorf("%s: stdout has more than one line: %s", name, ans.Stdout)
	}
	if len(ans.Stdout) == 0 && ans.Exit == 0 {
		t.Errorf("%s: exit 0 without JSON", name)
	}
}
