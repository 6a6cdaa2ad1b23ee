package systemtest

import (
	"fmt"
	"testing"
	"time"
)

// Three users of one machine, of whom two may ask, try what a user can against the daemon and against each other. Each
// sees and holds only what is their own, and what one does changes nothing for the other.
func TestWalls(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	m := newMachine(t)
	s := &stage{machine: m, carol: newReviewer(t, "carol"), dave: newReviewer(t, "dave")}
	m.install(systemYAML+"reviewers: {alice: [carol], bob: [dave]}\n", organisation+s.carol.yaml("reviewers:\n")+s.dave.yaml("")+
		"require_lease:\n  - {tools: [notebook], capability: \"tool:notebook\"}\n")
	m.start()
	s.served(alice)
	s.served(bob)
	if d, r := m.verdict(alice, nil, "s-1", destroys); !decidedByGuard(d, r).held {
		t.Fatalf("alice's first question: %s %s\n%s", d, r, m.log)
	}
	if d, r := m.verdict(bob, nil, "s-0", "echo of bob"); d == "deny" {
		t.Fatalf("bob's first question: %s %s\n%s", d, r, m.log)
	}
	s.show(groups())
	for _, uid := range []int{alice, bob} {
		if out, code := s.onState(uid, "events", "verify"); code != 0 {
			t.Errorf("the log of uid %d: %s", uid, out)
		}
	}
	fmt.Println()
}

// served waits until the server of a user answers. The first one compiles the hooks, which takes longer than belay-hook
// waits on a machine that is busy with other tests.
func (s *stage) served(uid int) {
	s.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		status, saw := s.http(uid, "GET", "/v1/hooks", "")
		if status == 200 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("uid %d is not served: %d %s\n%s", uid, status, saw, s.log)
		}
	}
}
