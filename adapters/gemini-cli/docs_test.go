package geminicli_test

import (
	"strings"
	"testing"
)

// TestDocs: the page names each event with its phase.
func TestDocs(t *testing.T) {
	page := string(readFile(t, "../../docs/runtimes/gemini-cli.md"))
	for _, s := range samples(t) {
		for _, st := range decode(t, s).Steps {
			phase, found := st.Invocation.Phase, false
			for line := range strings.Lines(page) {
				cells := strings.Split(line, "|")
				found = found ||
					len(cells) > 3 && strings.Contains(cells[1], s.Event) && strings.Contains(cells[2], string(phase))
			}
			if !found {
				t.Errorf("docs/runtimes/gemini-cli.md does not say that %s is %s", s.Event, phase)
			}
		}
	}
}
