package systemtest

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

const rowClock = "sets the clock back"

func clockTries() []try {
	return []try{
		{who: alice, what: "sets the clock of the machine a day back", holds: "the system: this takes root", row: rowClock,
			do: denied("settime")},
		{who: alice, what: "uses leases that ended, after a start with a clock set back", holds: "what has ended stays ended",
			row: rowClock, do: func(s *stage) outcome {
				l := s.lend("s-c", "1s", "3")
				time.Sleep(1100 * time.Millisecond)
				s.stop(syscall.SIGKILL)
				// A time namespace moves the clock since the boot, and no other process sees it. The wall clock cannot be moved
				// for one process: tests of the kernel and of the store do that.
				s.startWith("unshare", "--time", "--boottime", "-600")
				s.served(alice)
				d, r := s.verdict(alice, nil, "s-2", "ls")
				ours, _ := os.Readlink("/proc/self/ns/time")
				theirs, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/time", s.daemon.Process.Pid))
				o := s.claim(false, alice, l.Token, "s-c")
				for _, over := range s.behind {
					o.held = o.held && over()
				}
				o.held = o.held && d != "deny" && ours != theirs
				o.saw += fmt.Sprint(" ", d, r, ours, theirs)
				s.restarted()
				return o
			}},
		{
			who:   alice,
			what:  "tells belay another time in what she asks",
			holds: "the daemon's clock alone counts",
			do: func(s *stage) outcome {
				_, saw := s.http(
					alice,
					"POST",
					"/v1/invoke",
					`{"phase":"pre_tool","runtime":"custom","session":"s-0","time":"2001-01-01T00:00:00Z","action":{"tool":"exec","args":{"command":"ls"}}}`,
				)
				e := s.newest(alice)
				return outcome{
					held:     time.Since(e.Time) < time.Minute,
					happened: "recorded at the daemon's time",
					saw:      saw + e.Time.String(),
				}
			},
		},
	}
}
