package statelog

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// Agents count while events of them come; a flood of names is bounded, and room comes back with time.
func TestActivity(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var a Activity
	of := func(runtime, session string, at time.Time) phases.Event {
		return phases.Event{Runtime: runtime, Session: session, Time: at}
	}
	a.note(
		[]phases.Event{of("codex", "1", t0), of("codex", "1", t0), of("codex", "2", t0), of("", "", t0.Add(time.Second))},
		7,
	)
	a.note([]phases.Event{of("cursor", "1", t0.Add(10*time.Minute))}, 11)
	if seq, at := a.Newest(); seq != 11 || !at.Equal(t0.Add(10*time.Minute)) {
		t.Error(seq, at)
	}
	if got := a.Agents(t0.Add(10 * time.Minute)); !maps.Equal(got, map[string]int{"codex": 2, "cursor": 1}) {
		t.Error(got)
	}
	if got := a.Agents(t0.Add(20 * time.Minute)); !maps.Equal(got, map[string]int{"cursor": 1}) {
		t.Error(got)
	}
	for n := range 2 * maxAgents {
		a.note([]phases.Event{of("flood", fmt.Sprint(n), t0.Add(20*time.Minute))}, int64(12+n))
	}
	if got := a.Agents(t0.Add(20 * time.Minute)); got["flood"] != maxAgents-1 {
		t.Error(got)
	}
	a.note([]phases.Event{of("codex", "3", t0.Add(time.Hour))}, 9999)
	if got := a.Agents(t0.Add(time.Hour)); !maps.Equal(got, map[string]int{"codex": 1}) {
		t.Error(got)
	}
}
