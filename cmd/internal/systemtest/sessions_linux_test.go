package systemtest

import (
	"fmt"
	"strings"
)

const ownSession = "names another's session"

func sessionTries() []try {
	return []try{
		{
			who:   bob,
			what:  "asks under the name of alice's session",
			holds: "decided in a session of bob's own",
			row:   ownSession,
			do: func(s *stage) outcome {
				d, r := s.verdict(bob, nil, "s-1", "echo of bob")
				return outcome{held: d != "deny" && len(s.events(bob, "session=s-1&type=verdict")) == 1 &&
					len(s.events(alice, "session=s-1&type=verdict")) == 1, happened: said(d, r), saw: d + r}
			},
		},
		{
			who:     mallet,
			what:    "asks, although root has not listed this user",
			holds:   "users.allow of root's system.yaml",
			machine: "not_allowed",
			do: func(s *stage) outcome {
				d, r := s.verdict(mallet, nil, "s-1", "ls")
				return outcome{held: d == "deny" && strings.Contains(r, "users.allow"), happened: said(d, r), saw: d + r}
			},
		},
		{
			who:   alice,
			what:  "asks under a subordinate uid of hers, as newuidmap gives them",
			holds: "users.allow of root's system.yaml",
			do: func(s *stage) outcome {
				const sub = 100_000 + alice
				d, r := s.verdict(sub, nil, "s-1", "ls")
				seq := s.machineEvent(sub, "not_allowed")
				return outcome{held: d == "deny" && seq > 0, happened: said(d, r), saw: d + r, event: fmt.Sprint("machine ", seq)}
			},
		},
		{
			who:   bob,
			what:  "looks at events of alice's session",
			holds: "bob's log holds bob's events alone",
			quiet: looks,
			row:   "uid on the socket",
			do: func(s *stage) outcome {
				out, code := s.belay(bob, "events", "query", "--json")
				return outcome{held: code == 0 && !strings.Contains(out, destroys) && strings.Contains(out, "echo of bob"),
					happened: "sees events of bob's own", saw: out}
			},
		},
		{who: bob, what: "asks for an event of alice's by its id", holds: "each uid has a log of its own", quiet: looks,
			do: func(s *stage) outcome {
				id := s.newest(alice).ID
				got := s.events(bob, "id="+id)
				return outcome{held: len(got) == 0 && id != "", happened: "there is no such event", saw: fmt.Sprint(id, got)}
			}},
		{who: alice, what: "calls herself bob in the action that she asks about", holds: "the uid says who asks",
			do: func(s *stage) outcome {
				n := len(s.events(bob, ""))
				status, answer := s.http(
					alice,
					"POST",
					"/v1/invoke",
					`{"phase":"pre_tool","runtime":"custom","session":"s-0","user":"bob","action":{"tool":"exec","args":{"command":"ls"}}}`,
				)
				e := s.newest(alice)
				return outcome{held: status == 200 && e.Session == "s-0" && len(s.events(bob, "")) == n,
					happened: "an event of alice's log alone", saw: answer}
			}},
	}
}
