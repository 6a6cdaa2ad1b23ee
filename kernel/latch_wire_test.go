package kernel_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Nothing that a latch says is forgotten on its way out; what versions before did not
// record is said in the words of today.
func TestLatchOnWire(t *testing.T) {
	l := kernel.Latch{
		Runtime: "r", Session: "s", Reason: "why", Kind: phases.KindPolicy, DecidedBy: "h",
		Invocation: "i", Since: time.Unix(1, 0),
		ID: "id", Cause: phases.LatchPayload, Event: "e", Ends: phases.EndsByJudging,
	}
	got := reflect.ValueOf(l.OnWire())
	for i := range got.NumField() {
		if got.Field(i).IsZero() {
			t.Errorf("%s is forgotten", got.Type().Field(i).Name)
		}
	}
	if w := l.OnWire(); w.Scope != "session" || w.Cause != phases.LatchPayload || w.Runtime != "r" || w.Session != "s" {
		t.Errorf("%+v", w)
	}
	for name, c := range map[string]struct {
		latch kernel.Latch
		scope string
	}{
		"older, of a session": {kernel.Latch{Runtime: "r", Session: "s"}, "session"},
		"older, of a runtime": {kernel.Latch{Runtime: "r"}, "runtime"},
		"of no session":       {kernel.Latch{Runtime: "r", Unnamed: true}, "unnamed"},
	} {
		if w := kernel.LatchesOnWire([]kernel.Latch{c.latch})[0]; w.Scope != c.scope || w.Cause != phases.LatchUnknown {
			t.Errorf("%s: %+v", name, w)
		}
	}
}
