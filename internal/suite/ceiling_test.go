package suite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// A turn that takes longer than is waited for is a case that could not be run: it has
// neither passed nor failed, also where it expects a failure.
func TestTurnBeyondTheCeiling(t *testing.T) {
	e, err := suite.OpenEngine(suite.EngineOptions{Ceiling: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	s, err := suite.ReadFile(asks)
	if err != nil {
		t.Fatal(err)
	}
	h := asksHook(t, e)
	for i := range s.Cases {
		if s.Cases[i].Want.Kind == phases.KindLoad {
			continue // no turn is begun
		}
		if res, err := h.Run(t.Context(), &s.Cases[i]); err == nil ||
			!strings.Contains(err.Error(), "could not be run: a turn took longer") || res.Verdict.Decision != "" {
			t.Errorf("%s: %v %+v", s.Cases[i].Name, err, res.Verdict)
		}
	}
}
