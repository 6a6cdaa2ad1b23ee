package claudecode_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/phases"
)

// TestRecordedSession: every line of the session that the demo plays can be
// read, all eight phases are in it, and events and the invocations of the model
// gateway beside them belong to one session and share a run.
func TestRecordedSession(t *testing.T) {
	seen := map[phases.Phase]bool{}
	runs := map[phases.RunKey]map[phases.Phase]bool{}
	for i, line := range bytes.Split(
		bytes.TrimSpace(readFile(t, "../../internal/suite/testdata/sessions/claude-code.jsonl")),
		[]byte("\n")) {
		var rec struct {
			Title      string         `json:"title"`
			Runtime    string         `json:"runtime"`
			Event      jsontext.Value `json:"event"`
			Invocation jsontext.Value `json:"invocation"`
		}
		if err := json.Unmarshal(line, &rec, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		var invs []phases.Invocation
		if rec.Invocation != nil {
			inv, err := phases.DecodeInvocation(rec.Invocation)
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			invs = append(invs, inv)
		} else {
			ev, err := claudecode.New().Decode(rec.Event, adapters.Options{})
			if err != nil || rec.Runtime != claudecode.Runtime {
				t.Fatalf("line %d: %s: %v", i+1, rec.Runtime, err)
			}
			for _, st := range ev.Steps {
				invs = append(invs, st.Invocation)
			}
		}
		for _, inv := range invs {
			seen[inv.Phase] = true
			if runs[inv.RunKey()] == nil {
				runs[inv.RunKey()] = map[phases.Phase]bool{}
			}
			runs[inv.RunKey()][inv.Phase] = true
			if inv.Runtime != claudecode.Runtime || inv.Session != "bf0aaeec-1865-4ff5-a4ad-be614525cd19" {
				t.Errorf("line %d: another session", i+1)
			}
		}
	}
	if len(seen) != len(phases.Phases()) {
		t.Errorf("phases in the session: %v", seen)
	}
	for key, in := range runs {
		if key.Run != "" && !(in[phases.PrePlan] && in[phases.PreSend]) {
			t.Errorf("run %q does not go from pre_plan to pre_send: %v", key.Run, in)
		}
	}
}
