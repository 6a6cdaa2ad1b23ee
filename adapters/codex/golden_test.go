package codex_test

import (
	"bytes"
	"flag"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/adapters/internal/goldens"
)

var update = flag.Bool("update", false, "write the golden files anew")

// argument is what hooks change in the cases about arguments: the one that Codex takes back.
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
	ev, err := codex.New().Decode(s.Payload, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return ev
}

func TestDecodeGolden(t *testing.T) { goldens.Decode(t, codex.New(), samples(t), *update) }

func TestEncodeGolden(t *testing.T) {
	c := newClient(t)
	goldens.Encode(t, codex.New(), argument, samples(t), *update,
		func(t *testing.T, event string, ans adapters.Answer) { checkAnswer(t, c, event, ans) })
}

// checkAnswer checks the rules that hold for every answer: Codex's own schema above all, since one
// member too many undoes a deny.
func checkAnswer(t interface {
	Helper()
	Errorf(string, ...any)
}, c *client, event string, ans adapters.Answer) {
	t.Helper()
	if ans.Exit != 0 && (ans.Exit != 2 || strings.TrimSpace(ans.Stderr) == "") {
		t.Errorf("%s: exit %d, reason %q", event, ans.Exit, ans.Stderr)
	}
	if ans.Exit == 0 && len(ans.Stdout) == 0 {
		t.Errorf("%s: exit 0 without JSON", event)
	}
	if len(ans.Stdout) == 0 {
		return
	}
	if !jsontext.Value(ans.Stdout).IsValid() || !bytes.HasPrefix(ans.Stdout, []byte("{")) ||
		bytes.ContainsAny(ans.Stdout, "\r\n") {
		t.Errorf("%s: stdout is not one line with a JSON object: %s", event, ans.Stdout)
	}
	if err := c.valid(event, ans.Stdout); err != nil {
		t.Errorf("%s: Codex's schema refuses %s: %v", event, ans.Stdout, err)
	}
}
