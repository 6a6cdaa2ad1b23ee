package geminicli_test

import (
	"bytes"
	"flag"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/internal/goldens"
	"github.com/belay-hooks/belay/phases"
)

var update = flag.Bool("update", false, "write the golden files anew")

// argument is what hooks change in the cases about arguments: the one that Gemini CLI takes back.
const argument = "/args/command"

type sample = goldens.Sample

// samples returns every payload of testdata/events (written examples, whose input is the payload) and
// testdata/captured (as a running client sent it).
func samples(t testing.TB) []sample {
	t.Helper()
	return goldens.Samples(t, "/hook_event_name", "events", "captured")
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
	ev, err := geminicli.New().Decode(s.Payload, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return ev
}

func TestDecodeGolden(t *testing.T) { goldens.Decode(t, geminicli.New(), samples(t), *update) }

func TestEncodeGolden(t *testing.T) {
	goldens.Encode(t, geminicli.New(), argument, samples(t), *update,
		func(t *testing.T, event string, ans adapters.Answer) { checkAnswer(t, event, ans) })
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
	if ans.Exit == 0 && len(ans.Stdout) == 0 && event != "BeforeToolSelection" {
		t.Errorf("%s: exit 0 without JSON", event)
	}
	if len(ans.Stdout) == 0 {
		return
	}
	if !jsontext.Value(ans.Stdout).IsValid() || !bytes.HasPrefix(ans.Stdout, []byte("{")) ||
		bytes.ContainsAny(ans.Stdout, "\r\n") {
		t.Errorf("%s: stdout is not one line with a JSON object: %s", event, ans.Stdout)
	}
	decision, _ := phases.Get(ans.Stdout, "/decision")
	if d := string(decision); d != "" && d != `"deny"` {
		t.Errorf("%s: the decision %s is another than deny: %s", event, d, ans.Stdout)
	}
	if reason, _ := phases.GetString(ans.Stdout, "/reason"); decision != nil && strings.TrimSpace(reason) == "" {
		t.Errorf("%s: a deny without a reason: %s", event, ans.Stdout)
	}
}
