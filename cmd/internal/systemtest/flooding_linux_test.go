package systemtest

import (
	"fmt"
	"strings"
	"time"
)

const (
	rowConnections = "opens 10,000 connections"
	rowHuge        = "sends 64 MiB"
	rowDeaf        = "stops reading"
)

// bobsTurn asks as bob while alice floods, and says how long that took.
func (s *stage) bobsTurn() (ok bool, took time.Duration, saw string) {
	began := time.Now()
	d, r := s.verdict(bob, nil, "s-0", "ls")
	took = time.Since(began)
	return d != "deny" && took < 5*time.Second, took.Round(time.Millisecond), fmt.Sprint("bob: ", d, r, " ", took)
}

func floodTries() []try {
	return []try{
		{
			who:     alice,
			what:    "opens 10,000 connections, and says nothing on them",
			holds:   "64 are served on each socket, and as many wait",
			machine: "connections",
			row:     rowConnections,
			do: func(s *stage) outcome {
				crowd := s.begin(alice, "/usr/local/bin/try", "crowd", "10000")
				ok, took, saw := s.bobsTurn()
				crowd.end()
				var opened, left int
				_, err := fmt.Sscan(crowd.first, &opened, &left)
				return outcome{held: ok && err == nil && opened == 10000 && left <= 2*(64+64+2),
					happened: fmt.Sprintf("%d stay; bob waits %v", left, took), saw: fmt.Sprint(crowd.first, saw)}
			},
		},
		{who: alice, what: "asks as usual after that", holds: "idle connections give way", do: func(s *stage) outcome {
			return passes(s.verdict(alice, nil, "s-2", "ls"))
		}},
		{
			who:   alice,
			what:  "sends 64 MiB as one question",
			holds: "a bound of bytes, and an event",
			row:   rowHuge,
			do: func(s *stage) outcome {
				before := s.newest(alice).Seq
				out, errs, _ := s.as(alice, "", "/usr/local/bin/try", "huge", "64")
				e := s.newest(alice)
				ok, _, saw := s.bobsTurn()
				status := strings.Fields(out + " - - -")[2]
				return outcome{held: ok && status == "413" && e.Seq > before && e.Kind == "protocol", happened: "status " + status,
					saw: fmt.Sprint(out, errs, saw, e)}
			},
		},
		{
			who:   alice,
			what:  "asks on 60 connections, and reads no answer",
			holds: "a time for writing; bob has turns of his own",
			row:   rowDeaf,
			do: func(s *stage) outcome {
				deaf := s.begin(alice, "/usr/local/bin/try", "deaf", "60")
				ok, took, saw := s.bobsTurn()
				d, r := s.verdict(alice, nil, "s-2", destroys)
				deaf.end()
				return outcome{held: ok && d == "deny", happened: fmt.Sprintf("bob waits %v", took), saw: saw + d + r}
			},
		},
	}
}
