package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	modes   = "its directory is belay's, mode 0700"
	rootsIs = "it is root's"

	rowPlanted = "puts a file, link, pipe or socket where a file of belay's is expected"
)

func fileTries() []try {
	var tries []try
	add := func(what, holds, row, verb string, args ...string) {
		tries = append(tries, try{who: alice, what: what, holds: holds, row: row, do: denied(verb, args...)})
	}
	mine, bobs := stateOf(alice), stateOf(bob)
	add("reads the database", modes, "files of belay's", "read", mine+"/belay.db")
	add("writes the database", modes, "files of belay's", "write", mine+"/belay.db")
	add("reads a signing key", modes, "", "read", mine+"/keys/events.key")
	add("reads a token of the role admin", modes, "a token in `keys/`", "read", mine+"/keys/admin.token")
	add("looks into the state directory of her own questions", modes, "open the state directory themselves", "list", mine)
	add("looks at bob's state directory", modes, "", "list", bobs)
	add("looks at who else has a state directory", modes, "", "list", "/var/lib/belay/users")
	add("reads the spool of blocks", modes, "", "read", mine+"/spool.jsonl")
	add("swaps the compiled code in the cache", modes, "", "write", mine+"/cache/x")
	add("puts a module among those that are installed", modes, "", "write", mine+"/blobs/sha256/x")
	add("links the database into her home", modes, "", "hard", mine+"/belay.db", "/home/alice/belay.db")
	add("puts an older database in its place", modes, "", "rename", "/home/alice/own/belay.yaml", mine+"/belay.db")
	add("opens the state directory to all", modes, "", "chmod", "/var/lib/belay")
	add("makes the state directory her own", modes, "", "chown", "/var/lib/belay")
	add("removes the socket of the daemon", rootsIs, "", "remove", "/run/belay/belay.sock")
	add("writes the program belay-hook", rootsIs, "", "write", "/usr/local/bin/belay-hook")
	add(
		"puts another program in the place of belay-hook",
		rootsIs,
		"",
		"rename",
		"/home/alice/bin/belay",
		"/usr/local/bin/belay-hook",
	)
	for _, p := range [][2]string{{"fifo", "a pipe"}, {"bind", "a socket"}, {"mkdir", "a directory"}, {"write",
		"a file"}} {
		add("puts "+p[1]+" among the files of root that the daemon reads", rootsIs, rowPlanted, p[0], "/etc/belay/rules.yaml")
		add("puts "+p[1]+" into belay's state directory", modes, rowPlanted, p[0], "/var/lib/belay/users/1503")
	}
	add(
		"puts a link among the files of root that the daemon reads",
		rootsIs,
		rowPlanted,
		"symlink",
		"/home/alice/own/belay.yaml",
		"/etc/belay/rules.yaml",
	)
	tries = append(
		tries,
		try{who: alice, what: "reaches the database through a link of her own", holds: modes, do: func(s *stage) outcome {
			s.must(os.Symlink("/var/lib/belay/users/1501", s.path("home/alice/state")))
			s.must(os.Lchown(s.path("home/alice/state"), alice, alice))
			return refusedBySystem(s.try(alice, "read", "/home/alice/state/belay.db"))
		}},
		try{
			who:   alice,
			what:  "has a command of belay's work on it: --state",
			holds: "the command asks the machine's daemon",
			quiet: byCommand,
			do: func(s *stage) outcome {
				out, code := s.belay(alice, "--state", "/home/alice/state", "events", "verify")
				return outcome{held: code == 1, happened: fmt.Sprintf("exit %d", code), saw: out}
			},
		},
	)
	return tries
}

// plantedTries put something of a user's own wherever a client or daemon could look for belay's files. What is there
// holds nothing up and decides nothing.
func plantedTries() []try {
	kinds := []struct {
		name string
		make func(s *stage, path string)
	}{
		{"a file", func(s *stage, p string) { s.must(os.WriteFile(p, []byte("{}"), 0o666)) }},
		{"a pipe", func(s *stage, p string) { s.must(syscall.Mkfifo(p, 0o666)) }},
		{"a link to bob's state", func(s *stage, p string) { s.must(os.Symlink(stateOf(bob), p)) }},
		{"a link to itself", func(s *stage, p string) { s.must(os.Symlink(filepath.Base(p), p)) }},
		{"a socket", func(s *stage, p string) { s.must(bindAt(p)) }},
		{"a directory without hooks", func(s *stage, p string) {
			s.must(os.MkdirAll(filepath.Join(p, "keys"), 0o777))
			s.must(os.WriteFile(filepath.Join(p, "belay.yaml"), []byte("version: belay/v1\nhooks: []\n"), 0o666))
		}},
	}
	places := []string{
		"home/alice/.local/state/belay",
		"home/alice/.config/belay",
		"home/alice/.belay",
		"home/alice/belay.yaml",
		"home/alice/.local/share/belay",
		"tmp/belay",
		"tmp/belay.sock",
		"tmp/.belay",
		"run/user/1501/belay",
	}
	var tries []try
	for _, kind := range kinds {
		tries = append(
			tries,
			try{
				who:   alice,
				what:  fmt.Sprintf("puts %s at %d places of her own", kind.name, len(places)),
				holds: "no client looks there",
				row:   rowPlanted,
				do: func(s *stage) outcome {
					for _, p := range places {
						s.must(os.MkdirAll(s.path(filepath.Dir(p)), 0o755))
						s.must(os.RemoveAll(s.path(p)))
						kind.make(s, s.path(p))
					}
					s.must(os.Chmod(s.path("home/alice"), 0o700))
					s.files(alice, nil)
					began := time.Now()
					o := stillBlocked(nil)(s)
					if took := time.Since(began); took > 5*time.Second {
						o.held, o.saw = false, fmt.Sprint("it took ", took)
					}
					if d, r := s.verdict(bob, nil, "s-0", "ls"); d == "deny" {
						o.held, o.saw = false, "bob: "+r
					}
					for _, p := range places {
						s.must(os.RemoveAll(s.path(p)))
					}
					return o
				},
			},
		)
	}
	return tries
}
