package systemtest

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

const rowProcesses = "stop the same processes"

func processTries() []try {
	const other = "the daemon has another uid"
	var tries []try
	for _, c := range [][3]string{
		{"stops the daemon", "stop", rowProcesses},
		{"attaches to the daemon as a debugger does", "trace", ""},
		{"reads the memory of the daemon", "peek", ""},
		{"takes the daemon's file descriptors away", "limit", ""},
		{"goes into the daemon's namespaces", "enter", ""},
	} {
		tries = append(tries, try{who: alice, what: c[0], holds: other, row: c[2], do: func(s *stage) outcome {
			return refusedBySystem(s.try(alice, c[1], strconv.Itoa(s.daemon.Process.Pid)))
		}})
	}
	for _, c := range [][2]string{{"environ", "read"}, {"mem", "read"}, {"maps", "read"}, {"fd", "list"}, {"cwd", "list"},
		{"root", "list"}} {
		tries = append(tries, try{who: alice, what: "looks at /proc/PID/" + c[0] + " of the daemon", holds: other,
			do: func(s *stage) outcome {
				return refusedBySystem(s.try(alice, c[1], fmt.Sprintf("/proc/%d/%s", s.daemon.Process.Pid, c[0])))
			}})
	}
	for _, c := range []struct {
		what, files, memory string
	}{
		{"gives belay-hook no file descriptors", "3", "0"},
		{"gives belay-hook next to no memory", "0", "67108864"},
	} {
		tries = append(
			tries,
			try{
				who:   alice,
				what:  c.what,
				holds: "it blocks, by answer or exit status",
				quiet: elsewhere,
				do: func(s *stage) outcome {
					out, errs, code := s.as(
						alice,
						call("s-2", "ls"),
						"/usr/local/bin/try",
						"few",
						c.files,
						c.memory,
						"/usr/local/bin/belay-hook",
						"--runtime",
						"claude-code",
					)
					d, r := told(out, errs)
					return outcome{
						held:     d == "deny" || code == 2,
						happened: "blocked, exit " + strconv.Itoa(code),
						saw:      out + errs + r,
					}
				},
			},
		)
	}
	return append(
		tries,
		try{who: alice, what: "asks while the daemon is away", holds: "nothing stands in for the daemon", quiet: away,
			row: "open the state directory themselves", do: func(s *stage) outcome {
				s.stop(syscall.SIGKILL)
				d, r := s.verdict(alice, nil, "s-3", "ls")
				return outcome{held: d == "deny" && strings.Contains(r, "belay system status"), happened: said(d, r), saw: d + r}
			}},
		try{who: alice, what: "listens in its place meanwhile", holds: "/run/belay is root's",
			row: "another process can listen in the daemon's place", do: func(s *stage) outcome {
				if err := s.try(alice, "bind", "/home/alice/mine.sock"); err != nil {
					return outcome{saw: fmt.Sprint(err)}
				}
				return refusedBySystem(s.try(alice, "rename", "/home/alice/mine.sock", "/run/belay/belay.sock"))
			}},
		try{
			who:   alice,
			what:  "uses commands on a state directory meanwhile",
			holds: "refused, and told whom to call",
			quiet: away,
			row:   "open the state directory themselves",
			do: func(s *stage) outcome {
				out, code := s.belay(alice, "--state", "/home/alice/own", "status")
				return outcome{
					held:     code != 0 && strings.Contains(out, "the platform team"),
					happened: fmt.Sprintf("exit %d", code),
					saw:      out,
				}
			},
		},
		try{
			who:   alice,
			what:  "asks doctor meanwhile",
			holds: "red, and told whom to call",
			quiet: away,
			do: func(s *stage) outcome {
				out, code := s.belay(alice, "doctor")
				return outcome{
					held:     code == 1 && strings.Contains(out, "FAIL  daemon ") && strings.Contains(out, "the platform team"),
					happened: fmt.Sprintf("exit %d: red", code),
					saw:      out,
				}
			},
		},
		try{
			who:   alice,
			what:  "asks for the machine's status meanwhile, as belay-hook says",
			holds: "told whom to call",
			quiet: away,
			do: func(s *stage) outcome {
				out, code := s.belay(alice, "system", "status")
				return outcome{
					held:     code == 1 && strings.Contains(out, "the platform team"),
					happened: fmt.Sprintf("exit %d", code),
					saw:      out,
				}
			},
		},
		try{
			who:   alice,
			what:  "asks again when it is back",
			holds: "it goes on with the same state",
			do: func(s *stage) outcome {
				s.start()
				s.served(alice)
				d, r := s.verdict(alice, nil, "s-3", "ls")
				o := passes(d, r)
				events := s.events(alice, "session=s-2&limit=1000")
				o.held, o.saw = o.held && len(events) > 10, fmt.Sprint(o.saw, len(events))
				return o
			},
		},
	)
}
