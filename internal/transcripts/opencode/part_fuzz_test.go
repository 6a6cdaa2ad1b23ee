package opencode

import (
	"testing"

	"github.com/belay-hooks/belay/internal/transcripts"
)

func FuzzPart(f *testing.F) {
	f.Add(`{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"x"}}}`)
	f.Add(`{"type":"tool","tool":"bash","callID":"c","state":{"status":"sleeping","input":{}}}`)
	f.Add(`{"type":"text"}`)
	f.Fuzz(func(t *testing.T, data string) {
		log, seen := &transcripts.Log{}, map[string]bool{}
		what := add(log, seen, 1, data)
		if what != "" && len(log.Calls) > 0 {
			t.Errorf("a call that is unknown (%s): %+v", what, log.Calls)
		}
		for _, c := range log.Calls {
			if c.ID == "" || c.Names[0] == "" || c.State == "" || c.Args.Kind() != '{' {
				t.Errorf("half a call: %+v", c)
			}
		}
		if add(log, seen, 1, data); len(log.Calls) > 1 {
			t.Error("one id is two calls")
		}
	})
}

// A chain of parents that leads back to itself ends.
func TestRootOf(t *testing.T) {
	if got := rootOf(map[string]string{"a": "b", "b": "a"}, "a"); got != "a" && got != "b" {
		t.Errorf("%q", got)
	}
	if got := rootOf(map[string]string{"c": "b", "b": "a", "a": ""}, "c"); got != "a" {
		t.Errorf("%q", got)
	}
}
