package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/redact"
)

// Text that a hook took out is redacted in its place and in later texts; the
// rest of the action stays. A redactor that cannot be told of it leaves nothing
// of the action.
func TestDetectorIsToldOfWhatAHookTakesOut(t *testing.T) {
	const before = `{"tool":"exec","args":{"command":"deploy --with zq81-Kd0plQ77 or another --now","pin":"k7Q2"}}`
	const after = `{"tool":"exec","args":{"command":"deploy --with [gone] --now","pin":"[gone]"}}`
	red, err := redact.New(redact.Config{Key: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		redactor audit.Redactor
		masked   string
		reason   string // as it is logged, in part
		command  string // likewise
	}{
		"a memory": {audit.NewDetector(red, red).Remember(), "/input/action/args/command", "the pin [redacted:removed-13:",
			`"deploy --with [redacted:removed-24:`},
		"no memory": {audit.NewDetector(red, red), "/input", "the pin zq81", ""},
	} {
		b := &audit.Builder{Redactor: c.redactor, Digester: keys()}
		in := audit.NewInput(invocation(before))
		if err := b.Cut(in, jsontext.Value(before), jsontext.Value(after), nil); err != nil {
			t.Fatal(err)
		}
		v := verdict(after)
		// Only a redactor that was told of the cut knows a part of it.
		v.Reason = "the pin zq81-Kd0plQ77 is gone"
		rec, err := b.Build(in, v, nil, nil, "v", at)
		if err != nil {
			t.Fatal(err)
		}
		e := &rec.Verdict
		if !slices.Contains(e.Masked, c.masked) || !strings.HasPrefix(e.Reason, c.reason) {
			t.Errorf("%s: masked %q, reason %q", name, e.Masked, e.Reason)
		}
		if (e.Input == nil) != (c.command == "") || !strings.Contains(string(e.Input), c.command) {
			t.Errorf("%s: input %s", name, e.Input)
		}
		// The pin is too short to be known elsewhere: it is redacted by its place alone.
		for _, taken := range []string{"zq81-Kd0plQ77", "k7Q2"} {
			if strings.Contains(string(e.Input), taken) {
				t.Errorf("%s: the input holds %s: %s", name, taken, e.Input)
			}
		}
	}
}
