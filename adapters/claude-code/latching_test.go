package claudecode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
)

// An event that latches when it is refused has one step, so that
// the verdict on that step is the verdict on the whole event.
func TestEventsThatLatchHaveOneStep(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := claudecode.New().Decode(b, adapters.Options{})
		if err != nil {
			continue // no payload, or not a good one
		}
		for _, s := range ev.Steps {
			if !s.Blockable {
				seen[ev.Name] = true
				if len(ev.Steps) != 1 {
					t.Errorf("%s: %s has %d steps", f, ev.Name, len(ev.Steps))
				}
			}
		}
	}
	for _, name := range []string{"SessionStart", "SubagentStart", "PostToolUseFailure"} {
		if !seen[name] {
			t.Errorf("no payload of %s was looked at: %s", name, strings.Join(files[:min(len(files), 5)], ", "))
		}
	}
}
