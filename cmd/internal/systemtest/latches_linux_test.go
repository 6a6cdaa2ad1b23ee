package systemtest

import (
	"fmt"
	"strings"

	"github.com/belay-hooks/belay/internal/queue"
)

// garbled is an event of a session that no hook can judge, so that it latches the session.
func garbled(session string) string {
	return `{"session_id":"` + session + `","hook_event_name":"PostToolUse","a":1,"a":2}`
}

func latchTries() []try {
	const statement = "a statement of the user's reviewer"
	cleared := func(s *stage, uid int) outcome {
		s.files(uid, map[string]string{map[int]string{alice: "home/alice/s.json", bob: "home/bob/s.json"}[uid]: s.statement})
		home := map[int]string{alice: "/home/alice", bob: "/home/bob"}[uid]
		out, code := s.belay(uid, "latch", "clear", "claude-code", "s-g", "--statement", home+"/s.json")
		return outcome{held: code != 0, happened: fmt.Sprintf("exit %d", code), saw: out}
	}
	return []try{
		{
			who:   alice,
			what:  "sends an event that no hook can judge",
			holds: "its session is latched",
			do: func(s *stage) outcome {
				_, saw := s.http(alice, "POST", "/adapters/claude-code?event=PostToolUse", garbled("s-g"))
				d, r := s.verdict(alice, nil, "s-g", "ls")
				return outcome{
					held:     d == "deny" && strings.Contains(r, "latch"),
					happened: "the session is latched",
					saw:      saw + d + r,
				}
			},
		},
		{who: bob, what: "goes on in a session of the same name", holds: "each uid has latches of its own", row: ownSession,
			do: func(s *stage) outcome { return passes(s.verdict(bob, nil, "s-g", "ls")) }},
		{
			who:   alice,
			what:  "clears the latch",
			holds: statement,
			quiet: byCommand,
			do:    refused("Give the file with --key", "latch", "clear", "claude-code", "s-g"),
		},
		{who: alice, what: "clears it by the socket, without the command", holds: statement, route: "POST /v1/latches/clear",
			do: answered(
				403,
				"signature of a reviewer",
				"POST",
				"/v1/latches/clear",
				`{"runtime":"claude-code","session":"s-g"}`,
			)},
		{who: alice, what: "gives herself another session, as an agent can", holds: "each action is judged all the same",
			do: func(s *stage) outcome { return decidedByGuard(s.verdict(alice, nil, "s-g2", destroys)) }},
		{who: alice, what: "is latched still after the daemon was killed and started", holds: "latches outlive the daemon",
			do: func(s *stage) outcome {
				s.restarted()
				d, r := s.verdict(alice, nil, "s-g", "ls")
				return outcome{held: d == "deny" && strings.Contains(r, "latch"), happened: "the session is latched", saw: d + r}
			}},
		{
			who:   bob,
			what:  "brings carol's statement for alice, for a latch of bob's",
			holds: "a statement is for one state directory",
			row:   rowReplay,
			do: func(s *stage) outcome {
				out, errs, code := s.as(
					0,
					"",
					"/usr/local/bin/belay",
					"--state",
					stateOf(alice),
					"reviewer",
					"sign",
					"latch",
					"clear",
					"claude-code",
					"s-g",
					"--draft",
				)
				order, err := queue.DecodeOrder([]byte(out))
				if code != 0 || err != nil {
					return outcome{saw: fmt.Sprint(out, errs, err)}
				}
				s.must(queue.SignOrder(&order, s.carol.name, s.carol.key))
				b, err := queue.EncodeOrder(&order)
				s.must(err)
				s.statement = string(b)
				if _, saw := s.http(bob, "POST", "/adapters/claude-code?event=PostToolUse", garbled("s-g")); saw == "" {
					return outcome{saw: "no answer"}
				}
				return cleared(s, bob)
			},
		},
		{
			who:   alice,
			what:  "brings the statement that carol signed",
			holds: "it counts: carol may decide for alice",
			do: func(s *stage) outcome {
				o := cleared(s, alice)
				d, r := s.verdict(alice, nil, "s-g", "ls")
				return outcome{held: !o.held && d != "deny", happened: "the session goes on", saw: o.saw + d + r}
			},
		},
		{
			who:   alice,
			what:  "brings it again for the next latch",
			holds: "a statement counts once, for one latch",
			row:   rowReplay,
			do: func(s *stage) outcome {
				_, _ = s.http(alice, "POST", "/adapters/claude-code?event=PostToolUse", garbled("s-g"))
				return cleared(s, alice)
			},
		},
	}
}
