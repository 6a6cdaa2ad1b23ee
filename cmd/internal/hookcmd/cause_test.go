package hookcmd

import (
	"slices"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/phases"
)

// A note says why belay did not judge the event, and of which phases it is, for the process
// that takes it up.
func TestCauseOfANote(t *testing.T) {
	start := `{"session_id":"s-1","transcript_path":"/t","cwd":"/","hook_event_name":"SessionStart","source":"startup"}`
	for name, c := range map[string]struct {
		kind    phases.Kind
		payload string
		why     phases.LatchKind
		phases  []phases.Phase
	}{
		"no daemon answers":   {phases.KindLoad, start, phases.LatchStopped, []phases.Phase{phases.PrePlan}},
		"the time is over":    {phases.KindDeadline, start, phases.LatchDeadline, []phases.Phase{phases.PrePlan}},
		"belay failed":        {phases.KindProtocol, start, phases.LatchFailure, nil},
		"not judged, stopped": {phases.KindLoad, `{"session_id":"s-1","a":1,"a":2}`, phases.LatchPayload, nil},
		"not judged, late":    {phases.KindDeadline, `[]`, phases.LatchPayload, nil},
	} {
		why, ps := causeOf(phases.NewFault(c.kind, "why", nil), claudecode.New(), []byte(c.payload), adapters.Options{})
		if why != c.why || !slices.Equal(ps, c.phases) {
			t.Errorf("%s: %s %v", name, why, ps)
		}
	}
}
