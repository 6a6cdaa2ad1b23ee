package systemtest

import (
	"os"
	"strings"
	"time"
)

const rowLies = "answers the daemon's questions about files with lies, or never"

// callerTries answer the daemon's questions about the caller's files as no honest client does.
func callerTries() []try {
	var tries []try
	for _, c := range []struct{ how, what, event string }{
		{"lies", "says that links are plain files, and that scripts are harmless", ""},
		{"elsewhere", "says that every path leads to bob's keys", ""},
		{"garbage", "answers a question about a file with garbage", "files"},
		{"never", "never answers a question about a file", "files"},
	} {
		tries = append(tries, try{who: alice, what: c.what, holds: "she fools herself alone, in bounded time", row: rowLies,
			route: c.event,
			do: func(s *stage) outcome {
				if _, err := os.Lstat(s.path("home/alice/notes")); err != nil {
					s.must(os.Symlink("/etc/passwd", s.path("home/alice/notes")))
				}
				s.files(alice, map[string]string{"home/alice/x.sh": "rm -rf /\n"})
				began := time.Now()
				out, errs, _ := s.as(alice, call("s-f", "sh /home/alice/x.sh; cat /home/alice/notes"), "/usr/local/bin/try", "ask", c.how)
				took := time.Since(began)
				d, r := s.verdict(alice, nil, "s-f", destroys)
				bd, br := s.verdict(bob, nil, "s-f", "ls")
				return outcome{held: took < 20*time.Second && decidedByGuard(d, r).held && bd != "deny" &&
					!strings.Contains(out, "belay failed"), happened: "answered in " + took.Round(time.Millisecond).String(),
					saw: out + errs + d + r + bd + br}
			}})
	}
	return tries
}
