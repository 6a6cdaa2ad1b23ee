package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/harness/conformance"
)

// echo remembers its requests.
type echo struct{ seen *conformance.Request }

func (e echo) Run(_ context.Context, r conformance.Request) (conformance.Outcome, error) {
	*e.seen = r
	switch r.Phase {
	case "spawn":
		return conformance.Outcome{}, conformance.ErrNotOffered
	case "audit":
		return conformance.Outcome{}, errors.New("no engine")
	}
	return conformance.Outcome{Logs: []string{"a"}, State: map[string][]byte{"k": {0, 255}, "gone": nil}, Fuel: 7}, nil
}

// A request goes over the lines as it is; that nothing is granted is not the same as
// that everything is.
func TestServe(t *testing.T) {
	for _, r := range rules(t) {
		want, err := r.Turn()
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(want, json.Deterministic(true), json.FormatNilSliceAsNull(true))
		if err != nil {
			t.Fatal(err)
		}
		var got conformance.Request
		var out bytes.Buffer
		if err := conformance.Serve(t.Context(), echo{&got}, bytes.NewReader(append(line, '\n')), &out); err != nil {
			t.Fatal(r.ID, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", r.ID, d)
		}
		answer := map[string]string{"spawn": `{"not_offered":true}`, "audit": `{"error":"no engine"}`}[string(want.Phase)]
		if answer == "" {
			answer = `{"outcome":{"logs":["a"],"state":{"gone":null,"k":"AP8="},"fuel":7}}`
		}
		if out.String() != answer+"\n" {
			t.Errorf("%s: %s", r.ID, out.String())
		}
	}
}

// A line that is no request ends it; nothing is guessed.
func TestServeRefuses(t *testing.T) {
	for _, line := range []string{"{}{}\n", `{"modul":""}` + "\n", "[]\n", `{"fuel":1}`} {
		var seen conformance.Request
		if err := conformance.Serve(t.Context(), echo{&seen}, strings.NewReader(line), &bytes.Buffer{}); err == nil {
			t.Errorf("%q was answered", line)
		}
	}
}

// A program that does not answer is given up, for good: a late answer would be taken
// for that to the next request.
func TestProgramThatHangs(t *testing.T) {
	p, err := conformance.Start(t.Context(), []string{"sh", "-c", "sleep 600"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, first := p.Run(ctx, conformance.Request{})
	_, again := p.Run(t.Context(), conformance.Request{})
	if !errors.Is(first, context.DeadlineExceeded) || again == nil || first.Error() != again.Error() {
		t.Errorf("%v, then %v", first, again)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
