package goldens

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/phases"
)

// Check compares got with a file of testdata/golden, or writes it.
func Check(t testing.TB, update bool, path string, got []byte) {
	t.Helper()
	path = filepath.Join("testdata", "golden", path)
	if update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(ReadFile(t, path)), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); run with -update if the change is meant:\n%s", path, diff)
	}
}

// Pretty is a value as golden files have it.
func Pretty(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.EscapeForHTML(false))
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func decode(t testing.TB, a adapters.Adapter, s Sample) adapters.Event {
	t.Helper()
	ev, err := a.Decode(s.Payload, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
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

// Decode holds the steps of each sample to its golden file.
func Decode(t *testing.T, a adapters.Adapter, samples []Sample, update bool) {
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			ev := decode(t, a, s)
			var steps []goldenStep
			for _, st := range ev.Steps {
				wire, err := phases.EncodeInvocation(st.Invocation)
				if err != nil {
					t.Fatal(err)
				}
				steps = append(steps, goldenStep{st.Blockable, st.NativeAsk, st.CarriesScopes, st.Call, wire})
			}
			Check(t, update, "decode/"+s.Name+".json",
				Pretty(t, map[string]any{"event": ev.Name, "session": ev.Session, "steps": steps}))
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

// Encode holds the answers to each sample to its golden file: for every kind of verdict, without one, and for failures.
// Hooks change the argument, a JSON Pointer, in the cases about arguments. Each answer is given to check, too.
func Encode(t *testing.T, a adapters.Adapter, argument string, samples []Sample, update bool,
	check func(t *testing.T, event string, ans adapters.Answer)) {
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			ev := decode(t, a, s)
			out := map[string]goldenAnswer{}
			add := func(name string, ans adapters.Answer) {
				check(t, s.Event, ans)
				out[name] = goldenAnswer{jsontext.Value(ans.Stdout), ans.Stderr, ans.Exit, ans.Latch, ans.Notes}
			}
			for _, c := range verdictcases.Of(t, a, argument, ev) {
				add(c.Name, a.Encode(ev, c.Verdicts))
			}
			fault := phases.NewFault(phases.KindStore, "the record could not be written", nil)
			add("failure", a.Failure(s.Payload, adapters.Options{}, fault))
			add("failure_truncated", a.Failure(s.Payload[:len(s.Payload)-2], adapters.Options{}, os.ErrClosed))
			add("no_verdict", a.Encode(ev, nil))
			Check(t, update, "encode/"+s.Name+".json", Pretty(t, out))
		})
	}
}
