package openclawinterceptors_test

import (
	"bytes"
	"flag"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/goldens"
	openclawinterceptors "github.com/belay-hooks/belay/adapters/openclaw-interceptors"
)

var update = flag.Bool("update", false, "write the golden files anew")

// argument is what hooks change in the cases about arguments.
const argument = "/args/command"

type sample = goldens.Sample

// samples returns every payload of testdata/events: written examples, whose input is the payload.
func samples(t testing.TB) []sample {
	t.Helper()
	return goldens.Samples(t, "/event", "events")
}

func decode(t testing.TB, s sample) adapters.Event {
	t.Helper()
	ev, err := openclawinterceptors.New().Decode(s.Payload, adapters.Options{})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return ev
}

func TestDecodeGolden(t *testing.T) {
	goldens.Decode(t, openclawinterceptors.New(), samples(t), *update)
}

func TestEncodeGolden(t *testing.T) {
	goldens.Encode(t, openclawinterceptors.New(), argument, samples(t), *update, checkAnswer)
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
