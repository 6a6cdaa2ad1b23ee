package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const rowRace = "races install and upgrade"

func installationTries() []try {
	var tries []try
	for _, verb := range []string{"install", "upgrade", "uninstall", "connect", "disconnect"} {
		tries = append(
			tries,
			try{
				who:   alice,
				what:  "runs belay system " + verb,
				holds: "this takes root",
				quiet: byCommand,
				do:    refused("root", "system", verb),
			},
		)
	}
	race := func(verb string) func(*stage) outcome {
		return func(s *stage) outcome {
			from := s.path("usr/local/bin")
			if verb == "upgrade" {
				from = s.otherBuild()
			}
			places := []string{"/etc/belay/system.yaml", "/etc/belay/belay.yaml", "/etc/belay/.belay-new.system.yaml",
				"/etc/belay/installed.json", "/usr/local/bin/belay", "/usr/local/bin/.belay-new.belay",
				"/usr/local/bin/.belay-try.belay",
				"/usr/local/bin/.belay-old.belay", "/var/lib/belay", "/var/lib/belay/daemon.json", "/run/belay",
				"/run/belay/belay.sock",
				"/etc/systemd/system/belay.service", "/etc/sysusers.d/belay.conf", "/etc/tmpfiles.d/belay.conf", "/etc/passwd"}
			rush := s.begin(alice, "/usr/local/bin/try", append([]string{"rush"}, places...)...)
			out, err := exec.Command(filepath.Join(from, "belay"), "system", verb, "--root", s.root).CombinedOutput()
			var tried, went int
			if _, scan := fmt.Sscan(rush.end(), &tried, &went); scan != nil {
				return outcome{saw: fmt.Sprint(scan)}
			}
			d, r := s.verdict(alice, nil, "s-2", destroys)
			return outcome{held: err == nil && tried > 100 && went == 0 && decidedByGuard(d, r).held,
				happened: fmt.Sprintf("%d of %d tries went", went, tried), saw: fmt.Sprint(went, tried, string(out), err, d, r)}
		}
	}
	return append(
		tries,
		try{
			who:   alice,
			what:  "puts files where root installs, while root does",
			holds: "each directory on the way is root's",
			row:   rowRace,
			do:    race("install"),
		},
		try{
			who:   alice,
			what:  "does so while root upgrades",
			holds: "each directory on the way is root's",
			row:   rowRace,
			do:    race("upgrade"),
		},
		try{
			who:   0,
			what:  "looks at the installation after that",
			holds: "every file is as installed",
			do: func(s *stage) outcome {
				out, err := exec.Command(s.path("usr/local/bin/belay"), "system", "status", "--root", s.root).CombinedOutput()
				bad := err != nil || strings.Contains(string(out), "changed") || strings.Contains(string(out), "missing")
				return outcome{held: !bad, happened: "nothing was changed", saw: fmt.Sprint(string(out), err)}
			},
		},
	)
}

// otherBuild returns the directory of programs that differ from those that are installed.
func (s *stage) otherBuild() string {
	s.t.Helper()
	dir := s.path("root")
	s.must(os.MkdirAll(dir, 0o700))
	for _, name := range []string{"belay", "belay-hook", "belay-eval"} {
		program, err := os.ReadFile(s.path("usr/local/bin", name))
		s.must(err)
		s.must(os.WriteFile(filepath.Join(dir, name), append(program, 0), 0o755)) // what stands behind its end is not loaded
	}
	return dir
}
