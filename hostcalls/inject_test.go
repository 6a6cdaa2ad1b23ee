package hostcalls

import "testing"

func TestInjections(t *testing.T) {
	with := func(list ...Injected) turn {
		return newTurn(t, func(cfg *SessionConfig) { cfg.Inject = Injections(list) })
	}
	u := with(Injected{Call: 2, Errno: Budget}, Injected{Call: 4, Long: true})
	u.code(0, "block", "no")
	u.code(Budget, "find_secrets", "text")
	if r := u.do("find_secrets", "text"); r.Code <= 0 {
		t.Errorf("the next one answers %d", r.Code)
	}
	if r := u.do("input_get", "/tool", 16); len(r.Out) != 17 {
		t.Errorf("%d bytes, want more than the 16 that fit", len(r.Out))
	}
	if u.Poison() != nil {
		t.Errorf("a call that is no effect has poisoned the turn: %v", u.Poison())
	}
	u = with(Injected{Call: 1, Errno: TooLarge})
	u.code(TooLarge, "annotate", "k", "1")
	if u.Poison() == nil || u.Effects() != nil {
		t.Error("an effect that failed must fail the turn")
	}
	// An injection never gives: it cannot make a call that is denied work.
	u = newTurn(t, func(cfg *SessionConfig) {
		cfg.Granted, cfg.Inject = Grants{}, Injections{{Call: 1, Errno: Absent}}
	})
	u.code(Denied, "state_get", "k", 8)
}
