package hostcalls

import (
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// A call without its capability answers -2 where its result is an errno. Where it is
// not, -2 would be an answer, for time_now a moment of 1969: the turn ends there.
func TestDeniedCalls(t *testing.T) {
	numbers := 0
	for _, c := range Table() {
		if c.Capability == "" {
			continue
		}
		u := newTurn(t, func(cfg *SessionConfig) { cfg.Granted = Grants{} })
		call := c
		r, err := u.Do(t.Context(), &call, &Args{Cap: 8})
		if c.Result == ResultI32 {
			if err != nil || r.Code != int64(Denied) {
				t.Errorf("%s: %d, %v, want %d", c.Name, r.Code, err, Denied)
			}
			continue
		}
		numbers++
		if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindHostcall || r.Code != 0 {
			t.Errorf("%s: %d, %v, want a fault of kind hostcall", c.Name, r.Code, err)
		}
	}
	if numbers != 1 {
		t.Errorf("%d calls have no errno, want time_now alone", numbers)
	}
}

// A call that is made to fail does so in the same way.
func TestInjectedIntoTimeNow(t *testing.T) {
	u := newTurn(t, func(cfg *SessionConfig) { cfg.Inject = Injections{{Call: 1, Errno: Denied}} })
	if r, err := u.try("time_now"); phases.FaultOf(err) == nil || phases.FaultOf(err).Kind != phases.KindHostcall {
		t.Errorf("%+v %v, want a fault of kind hostcall", r, err)
	}
}
