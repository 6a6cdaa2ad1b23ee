package belay_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// A program that embeds belay cannot have hooks decide by another clock what is recorded and carried out.
func TestHookClockNeedsNoRecord(t *testing.T) {
	clock := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	b := open(t, state(t, "version: belay/v1\nhooks: []\n"), belay.Options{})
	v, err := b.InvokeWith(t.Context(), exec("ls"), belay.InvokeOptions{HookClock: &clock})
	if v.Decision != phases.Block || v.Kind != phases.KindProtocol || !errors.Is(err, belay.ErrHookClock) {
		t.Errorf("%s %s, %v, want a block", v.Decision, v.Kind, err)
	}
	m := open(t, state(t, "version: belay/v1\nhooks: []\n"), belay.Options{InMemory: true})
	if v, err := m.InvokeWith(t.Context(), exec("ls"), belay.InvokeOptions{HookClock: &clock}); v.Decision != phases.Allow || err != nil {
		t.Errorf("in memory: %s, %v", v.Decision, err)
	}
}
