package kernel_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// TestAuditFailureRecordsNoWordsOfTheHook: after a failed audit there are digests only. The
// hook's error text may quote the words that it was to redact.
func TestAuditFailureRecordsNoWordsOfTheHook(t *testing.T) {
	for _, unblockable := range []bool{false, true} {
		h := newHost(t,
			[]hook{{name: "aud", phases: onAudit, caps: []string{"redact"}, run: func(kernel.Turn) (kernel.Outcome, error) {
				return kernel.Outcome{FailText: "cannot cover: Bob and SECRET", Logs: []hostcalls.LogEntry{{Text: "Bob"}}},
					phases.NewFault(phases.KindTrap, "the hook failed", nil)
			}}})
		inv := invocation(phases.PreTool)
		inv.Session = "s"
		v, err := h.InvokeWith(t.Context(), inv, kernel.InvokeOptions{Unblockable: unblockable})
		if v.Decision != phases.Block || v.Kind != phases.KindAudit || err == nil {
			t.Errorf("%+v, %v", v, err)
		}
		latches, err := h.Latches(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(map[string]any{"events": h.events(t, wire.Query{}), "latches": latches})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(all), "Bob") || strings.Contains(string(all), "SECRET") {
			t.Errorf("logged: %s", all)
		}
		for _, e := range h.events(t, wire.Query{}) {
			if len(e.Logs) != 0 {
				t.Errorf("logs in the record: %v", e.Logs)
			}
		}
		if strings.Contains(v.Reason, "SECRET") {
			t.Errorf("reason %q", v.Reason)
		}
	}
}
