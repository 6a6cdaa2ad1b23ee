package adapters_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// TestHTTP: a body decides only with 2xx, so JSON always goes out with 200, and
// an answer without any is an error, never an empty success.
func TestHTTP(t *testing.T) {
	for _, c := range []struct {
		ans    adapters.Answer
		status int
		body   string
	}{
		{adapters.Answer{Stdout: []byte(`{"a":1}`)}, 200, `{"a":1}`},
		{adapters.Answer{Stdout: []byte(`{"a":1}`), Stderr: "no", Exit: 2}, 200, `{"a":1}`},
		{adapters.Answer{Stderr: "no", Exit: 2}, 500, "no"},
		{adapters.Answer{}, 200, "{}"},
	} {
		status, kind, body := c.ans.HTTP()
		if status != c.status || string(body) != c.body || strings.HasPrefix(kind, "application/json") != (status == 200) {
			t.Errorf("%+v: %d %s %s", c.ans, status, kind, body)
		}
	}
}

func TestErrors(t *testing.T) {
	for class, want := range map[error][2]bool{ // is it ErrPayload, is it ErrVerdicts
		adapters.ErrPayload: {true, false}, adapters.ErrUnknownEvent: {true, false}, adapters.ErrTooLarge: {true, false},
		adapters.ErrVerdicts: {false, true},
	} {
		err := fmt.Errorf("wrapped: %w", &adapters.PayloadError{Class: class, Event: "E", Member: "/m", Reason: "no good"})
		if !errors.Is(err, class) || errors.Is(err, adapters.ErrPayload) != want[0] ||
			errors.Is(err, adapters.ErrVerdicts) != want[1] {
			t.Errorf("%v", class)
		}
	}
}

// TestSafeReason: an agent reads the text of belay's own errors. Any other error tells it
// only that there was no decision.
func TestSafeReason(t *testing.T) {
	secret := errors.New("open /home/dev/.belay/keys/audit: permission denied")
	for _, c := range []struct {
		err  error
		want string
	}{
		{phases.NewFault(phases.KindStore, "the record could not be written", secret),
			"store: the record could not be written"},
		{fmt.Errorf("x: %w", phases.NewFault(phases.KindLoad, "no hook", secret)), "load: no hook"},
		{&adapters.PayloadError{Class: adapters.ErrPayload, Event: "Stop", Member: "/x", Reason: "a member is missing"},
			"the event was refused: Stop: a member is missing at /x"},
		{&adapters.PayloadError{Class: adapters.ErrVerdicts, Event: "Stop", Reason: "too many"},
			"no decision could be made: Stop: too many"},
		{&phases.DecodeError{Pointer: "/cwd", Reason: "not absolute"}, `the event was refused: not absolute at "/cwd"`},
		{secret, "no decision could be made"},
		{nil, "no decision could be made"},
	} {
		if got := adapters.SafeReason(c.err); got != c.want {
			t.Errorf("SafeReason(%v) = %q, want %q", c.err, got, c.want)
		}
	}
	long := &adapters.PayloadError{Class: adapters.ErrUnknownEvent, Event: strings.Repeat("E\x1b[31m", 9000),
		Reason: "unknown"}
	if got := adapters.SafeReason(long); len(got) > phases.MaxReasonBytes || strings.Contains(got, "\x1b") {
		t.Errorf("a long and loud event name: %d bytes", len(got))
	}
}

func TestLimit(t *testing.T) {
	if got := (adapters.Options{}).Limit(); got != 2*phases.MaxInputBytes {
		t.Errorf("default %d", got)
	}
	if got := (adapters.Options{MaxBytes: 7}).Limit(); got != 7 {
		t.Errorf("limit %d", got)
	}
}

// The name of an event that no runtime would use is described, not repeated.
func TestNamesOfEventsInErrors(t *testing.T) {
	for name, want := range map[string]string{
		"PreToolUse": "PreToolUse: r", "Stop": "Stop: r", "WorktreeCreate": "WorktreeCreate: r",
		"ghp_16C7e42F292c6912E7710c838347Ae178B4a": "an event with a name of 40 bytes: r",
		"\x1b[31mStop":           "an event with a name of 9 bytes: r",
		"hunter":                 "an event with a name of 6 bytes: r",
		"AbCdEfGhIjKlMnOp":       "an event with a name of 16 bytes: r",
		strings.Repeat("Ab", 99): "an event with a name of 198 bytes: r",
	} {
		if got := (&adapters.PayloadError{Class: adapters.ErrUnknownEvent, Event: name, Reason: "r"}).Error(); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
