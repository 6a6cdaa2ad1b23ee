package telemetry

import (
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// The daemon of system mode measures its users together: neither a uid nor a name that a user chose is an attribute.
func TestUsersAreMeasuredTogether(t *testing.T) {
	c := newCollector(t)
	tel := start(t, c.URL)
	tel.Together("user-")
	if err := tel.WatchMachine(func() Machine {
		return Machine{Users: 2, Refused: map[string]int64{"not_allowed": 5, "peer": 0}}
	}); err != nil {
		t.Fatal(err)
	}
	_, o := tel.InvocationStarted(t.Context(), phases.Invocation{Phase: phases.PreTool})
	for _, hook := range []string{"guard", "user-a", "user-b", "user-c"} {
		o.HookDone(time.Now(), &phases.HookReport{Hook: hook})
	}
	flush(t, tel)
	if got := c.points(t, "belay.system.users")[""]; got != 2 {
		t.Errorf("%d users", got)
	}
	if got := c.points(t, "belay.system.refused", "belay.code"); len(got) != 2 || got["not_allowed"] != 5 {
		t.Errorf("refused: %v", got)
	}
	if got := c.points(t, "belay.hook.turns", "belay.hook.name"); len(got) != 2 || got["user"] != 3 || got["guard"] != 1 {
		t.Errorf("turns: %v", got)
	}
	var none *Telemetry
	none.Together("user-")
	if err := none.WatchMachine(nil); err != nil {
		t.Error(err)
	}
}
