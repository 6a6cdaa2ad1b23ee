package kernel_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A statement that the log could not hold is refused, and nothing is compacted.
func TestCompactRefusesWhatIsNoText(t *testing.T) {
	h := newHost(t, nil)
	h.allowed(t, invocation(phases.PreTool))
	h.clock.add(kernel.MinCompactionAge + time.Second)
	if _, err := h.Compact(t.Context(), kernel.Compaction{Through: 1, Statement: "\xff"},
		kernel.CompactBy{Retention: true}); err == nil || errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("%v, want a refusal of the text", err)
	}
	if es := h.events(t, wire.Query{Type: phases.EventCompaction}); len(es) != 0 {
		t.Errorf("%+v", es)
	}
}
