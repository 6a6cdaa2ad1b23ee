package cursor_test

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
	cursor "github.com/belay-hooks/belay/adapters/cursor"
	"github.com/belay-hooks/belay/adapters/internal/verdictcases"
	"github.com/belay-hooks/belay/phases"
)

var update = flag.Bool("update", false, "write the golden files anew")

// argument is what hooks change in the cases about arguments: the one that Cursor takes back.
const argument = "/args/command"

// sample is one payload of testdata.
type sample struct {
	name    string // events.preToolUse
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
			b := readFile(t, f)
			base := strings.TrimSuffix(filepath.Base(f), ".json")
			if dir == "events" {
				v, ok := phases.Get(b, "/input")
				if !ok {
					t.Fatalf("%s has no input", f)
				}
				b = v
			}
			event, _, _ := strings.Cut(base, ".")
			out = append(out, sample{dir + "." + base, event, b})
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
	ev, err := cursor.New().Decode(s.payload, adapters.Options{})
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
	a := cursor.New()
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
			add("failure",
				a.Failure(s.payload, adapters.Options{}, phases.NewFault(phases.KindStore, "the record could not be written", nil)))
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

// checkAnswer checks the rules that hold for every answer.
func checkAnswer(t interface {
	Helper()
	Errorf(string, ...any)
}, event string, ans adapters.Answer) {
	t.Helper()
	if ans.Exit != 0 && (ans.Exit != 2 || strings.TrimSpace(ans.Stderr) == "") {
		t.Errorf("%s: exit %d, reason %q", event, ans.Exit, ans.Stderr)
	}
	if ans.Exit == 0 && (!jsontext.Value(ans.Stdout).IsValid() || !bytes.HasPrefix(ans.Stdout, []byte("{")) ||
		bytes.ContainsAny(ans.Stdout, "\r\n")) {
		t.Errorf("%s: stdout is not one line with a JSON object: %s", event, ans.Stdout)
	}
	if p, ok := phases.GetString(ans.Stdout, "/permission"); ok && p != "allow" && p != "deny" {
		t.Errorf("%s: the permission %s: %s", event, p, ans.Stdout)
	}
}

// holds reports whether the answer keeps the event from happening, or has the session latched.
func holds(ans adapters.Answer) bool {
	permission, _ := phases.GetString(ans.Stdout, "/permission")
	goes, _ := phases.Get(ans.Stdout, "/continue")
	return permission == "deny" || string(goes) == "false" || ans.Latch != ""
}
