package systemtest

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

// lent is a lease with its token.
type lent struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

// lend has root lend alice something, with carol's signature.
func (s *stage) lend(session, ttl, uses string) (l lent) {
	s.t.Helper()
	out, _, _ := s.as(
		0,
		"",
		"/usr/local/bin/belay",
		"--state",
		stateOf(alice),
		"lease",
		"mint",
		"--capability",
		"tool:notebook",
		"--session",
		session,
		"--credential",
		fmt.Sprint("uid ", alice),
		"--ttl",
		ttl,
		"--uses",
		uses,
		"--json",
	)
	var minted struct {
		Approval string `json:"approval"`
		Lease    lent   `json:"lease"`
	}
	if err := json.Unmarshal([]byte(out), &minted); err != nil || minted.Approval == "" {
		s.t.Fatalf("no lease was asked for: %s", out)
	}
	if status, saw := s.decide(alice, minted.Approval, s.carol.approve(s, s.pending(alice))); status != 200 {
		s.t.Fatalf("carol's yes: %d %s", status, saw)
	}
	out, errs, _ := s.as(
		0,
		"",
		"/usr/local/bin/belay",
		"--state",
		stateOf(alice),
		"lease",
		"mint",
		"--approval",
		minted.Approval,
		"--json",
	)
	if err := json.Unmarshal([]byte(out), &minted); err != nil || minted.Lease.Token == "" {
		s.t.Fatalf("no lease was made: %s%s", out, errs)
	}
	return minted.Lease
}

func notebook(session string) string {
	return `{"phase":"pre_tool","runtime":"custom","session":"` + session + `","action":{"tool":"notebook","args":` +
		`{"path":"/srv/a.ipynb","source":"1","cell":"c"}}}`
}

// claims asks whether a token covers a call of a session, and takes a use.
func (s *stage) claims(uid int, token, session string) (active bool, saw string) {
	s.t.Helper()
	status, saw := s.http(uid, "POST", "/v1/leases/check",
		`{"capability":"tool:notebook","token":"`+token+`","claim":true,"invocation":`+notebook(session)+`}`)
	return status == 200 && strings.Contains(saw, `"active":true`), fmt.Sprint(status, " ", saw)
}

// claim is an outcome of claims.
func (s *stage) claim(want bool, uid int, token, session string) outcome {
	s.t.Helper()
	active, saw := s.claims(uid, token, session)
	return outcome{
		held:     active == want,
		happened: map[bool]string{true: "the lease covers it", false: "no lease covers it"}[active],
		saw:      saw,
	}
}

// restarted has the daemon killed, and started again.
func (s *stage) restarted() {
	s.t.Helper()
	s.stop(syscall.SIGKILL)
	s.start()
	s.served(alice)
	s.served(bob)
}

func leaseTries() []try {
	const holder = "a lease has one holder, with its uid"
	return []try{
		{
			who:   alice,
			what:  "edits a notebook, for which a lease is needed",
			holds: "root's require_lease",
			do: func(s *stage) outcome {
				status, saw := s.http(alice, "POST", "/v1/invoke", notebook("s-n"))
				return outcome{
					held:     status == 200 && strings.Contains(saw, `"decision":"block"`) && strings.Contains(saw, "needs a lease"),
					happened: "blocked: this needs a lease",
					saw:      saw,
				}
			},
		},
		{
			who:   bob,
			what:  "uses the token of a lease that was lent to alice",
			holds: holder,
			route: "POST /v1/leases/check",
			row:   rowReplay,
			do: func(s *stage) outcome {
				s.lease = s.lend("s-n", "5m", "3")
				return s.claim(false, bob, s.lease.Token, "s-n")
			},
		},
		{who: bob, what: "edits a notebook in a session of that name", holds: holder, do: func(s *stage) outcome {
			_, saw := s.http(bob, "POST", "/v1/invoke", notebook("s-n"))
			return outcome{held: strings.Contains(saw, `"decision":"block"`), happened: "blocked: this needs a lease", saw: saw}
		}},
		{
			who:   bob,
			what:  "looks for alice's lease",
			holds: "each uid has leases of its own",
			quiet: looks,
			do: func(s *stage) outcome {
				code, saw := s.http(bob, "GET", "/v1/leases", "")
				o := status(code, saw, 200)
				o.held, o.happened = o.held && !strings.Contains(saw, s.lease.ID), "there is none"
				return o
			},
		},
		{
			who:     mallet,
			what:    "uses the token",
			holds:   "users.allow of root's system.yaml",
			machine: "not_allowed",
			do: func(s *stage) outcome {
				_, saw := s.claims(mallet, s.lease.Token, "s-n")
				return outcome{held: strings.HasPrefix(saw, "403 "), happened: "status 403", saw: saw}
			},
		},
		{
			who:   alice,
			what:  "uses it in another session",
			holds: holder,
			route: "POST /v1/leases/check",
			do: func(s *stage) outcome {
				return s.claim(false, alice, s.lease.Token, "s-other")
			},
		},
		{
			who:   alice,
			what:  "uses it as it was lent: the first of three uses",
			holds: "a use is an event",
			do: func(s *stage) outcome {
				return s.claim(true, alice, s.lease.Token, "s-n")
			},
		},
		{who: alice, what: "edits a notebook under it: the second", holds: "a use is an event", do: func(s *stage) outcome {
			_, saw := s.http(alice, "POST", "/v1/invoke", notebook("s-n"))
			return outcome{held: strings.Contains(saw, `"decision":"allow"`), happened: "decided: allow", saw: saw}
		}},
		{who: alice, what: "uses it after the daemon was killed and started: the third", holds: "uses outlive the daemon",
			do: func(s *stage) outcome {
				s.restarted()
				return s.claim(true, alice, s.lease.Token, "s-n")
			}},
		{
			who:   alice,
			what:  "uses it once more",
			holds: "three uses are three",
			route: "POST /v1/leases/check",
			row:   rowReplay,
			do: func(s *stage) outcome {
				return s.claim(false, alice, s.lease.Token, "s-n")
			},
		},
		{
			who:   alice,
			what:  "and again after another kill and start",
			holds: "uses outlive the daemon",
			route: "POST /v1/leases/check",
			row:   rowReplay,
			do: func(s *stage) outcome {
				s.restarted()
				return s.claim(false, alice, s.lease.Token, "s-n")
			},
		},
		{
			who:   alice,
			what:  "uses a lease that root has taken back",
			holds: "revoked",
			route: "POST /v1/leases/check",
			row:   rowReplay,
			do: func(s *stage) outcome {
				l := s.lend("s-r", "5m", "3")
				if out, code := s.onState(alice, "lease", "revoke", l.ID); code != 0 {
					return outcome{happened: "it was not revoked", saw: out}
				}
				s.behind = append(s.behind, func() bool { active, _ := s.claims(alice, l.Token, "s-r"); return !active })
				return s.claim(false, alice, l.Token, "s-r")
			},
		},
		{
			who:   alice,
			what:  "uses a lease of one second after two",
			holds: "it has run out",
			route: "POST /v1/leases/check",
			row:   rowReplay,
			do: func(s *stage) outcome {
				l := s.lend("s-e", "1s", "3")
				time.Sleep(2 * time.Second)
				s.behind = append(s.behind, func() bool { active, _ := s.claims(alice, l.Token, "s-e"); return !active })
				return s.claim(false, alice, l.Token, "s-e")
			},
		},
		{
			who:   alice,
			what:  "lends herself a lease by the command",
			holds: "an operator's verb: root's",
			route: "POST /v1/leases",
			row:   "uid on the socket",
			do:    refused("role", "lease", "mint", "--capability", "tool:*", "--session", "s-n"),
		},
	}
}
