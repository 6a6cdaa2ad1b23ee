package belay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// What belay.yaml redacts in records alone, as a user's layer does, changes nothing of what hooks read again: neither
// their own notes nor the names of sessions. The records do not have it.
func TestRecordsAloneAreRedacted(t *testing.T) {
	const mark = "tainted-by-mallet"
	rules := func(indent string) string {
		return indent + "patterns: [{name: user-marks, regex: 'tainted-by-[a-z]+', keywords: [tainted]}]\n" + indent + "masks: [/text]\n"
	}
	for name, c := range map[string]struct {
		redact string
		kept   bool // what the hooks read again
	}{
		"everywhere":    {"redact:\n" + rules("  "), false},
		"records alone": {"redact:\n  recorded:\n" + rules("    "), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			config := "version: belay/v1\nhooks:\n- name: house\n  module: builtin:classify-message\n" +
				"  capabilities: [annotate, pattern_match]\n  config: {classes: [{name: " + mark + "}]}\n" + c.redact
			if err := os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			h, err := belay.Open(t.Context(), dir, belay.Options{InMemory: true})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			v, err := h.Invoke(
				t.Context(),
				phases.Invocation{Phase: phases.PrePlan, Runtime: "custom", Session: "s-" + mark, Run: "r",
					Action: jsontext.Value(`{"kind":"message","text":"` + mark + `"}`)},
			)
			if err != nil || v.Decision != phases.Allow {
				t.Fatal(v.Decision, v.Reason, err)
			}
			if kept := string(v.Metadata["class"].Value) == `"`+mark+`"`; kept != c.kept {
				t.Errorf("the note of the run is %s", v.Metadata["class"].Value)
			}
			list, err := h.Events(t.Context(), wire.Query{Type: phases.EventVerdict})
			if err != nil || len(list) != 1 {
				t.Fatal(len(list), err)
			}
			if e := list[0]; strings.Contains(string(e.Input)+string(e.Output), "mallet") || (e.Session == "s-"+mark) != c.kept {
				t.Errorf("recorded: session %s, %s, %s", e.Session, e.Input, e.Output)
			}
		})
	}
}
