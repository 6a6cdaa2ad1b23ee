package replay_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/kernel"
)

// A turn that takes longer than is waited for ends the replay with an error: it is no
// difference, and no verdict.
func TestTurnBeyondTheCeiling(t *testing.T) {
	src := record(t, nil, []byte(execLine),
		belay.Options{Hooks: []belay.AdHocHook{{Name: "guard", Module: module(t, "lenient")}}})
	got, err := replayAll(t, src,
		replay.Options{Bench: bench(t), Modules: modules(t, "lenient"), Ceiling: time.Nanosecond})
	if !errors.Is(err, kernel.ErrOverran) || !errors.Is(err, replay.ErrRefused) || len(got) != 0 {
		t.Errorf("%v, %d results", err, len(got))
	}
	if got, err := replayAll(t, src, replay.Options{Bench: bench(t), Modules: modules(t, "lenient")}); err != nil ||
		len(got) != 1 || !got[0].Same() {
		t.Errorf("in time: %v %+v", err, got)
	}
}
