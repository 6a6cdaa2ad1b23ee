package systemtest

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	waysVariables = "sets `BELAY_HOME`, `HOME` or `XDG_STATE_HOME`"
	waysPreload   = "sets `LD_PRELOAD` or `PATH`"
	waysProxy     = "names a proxy by `HTTP_PROXY`"
)

// machineDecides is what holds against everything that a user names.
const machineDecides = "the machine's hooks decide"

func variableTries() []try {
	own := func(s *stage) {
		s.files(alice, map[string]string{"home/alice/own/belay.yaml": "version: belay/v1\nhooks: []\n",
			"home/alice/own/keys/invoke.token": "blt_x", "home/alice/project/.env": "BELAY_HOME=/home/alice/own\n",
			"home/alice/bin/belay": "#!/bin/sh\necho '{}'\n", "home/alice/bin/belay-eval": "#!/bin/sh\necho '{}'\n",
			"home/alice/x.so": "not a library"})
	}
	tries := []try{
		{who: alice, what: "names a state directory without hooks by --state", holds: machineDecides,
			row: "open the state directory themselves", do: func(s *stage) outcome {
				own(s)
				return stillBlocked(nil, "--state", "/home/alice/own")(s)
			}},
		{who: alice, what: "has belay-hook ask another daemon by --connect", holds: machineDecides,
			do: func(s *stage) outcome {
				s.files(alice, map[string]string{"home/alice/other/url": "https://127.0.0.1:4170\n"})
				return stillBlocked(nil, "--connect", "/home/alice/other")(s)
			}},
		{
			who:   alice,
			what:  "preloads a library into a belay-hook that loads none",
			holds: "the programs are static",
			row:   waysPreload,
			do: func(s *stage) outcome {
				for _, name := range []string{"belay", "belay-hook", "belay-eval"} {
					f, err := elf.Open(s.path("usr/local/bin", name))
					s.must(err)
					libs, err := f.ImportedLibraries()
					interpreter := f.Section(".interp")
					_ = f.Close()
					if err != nil || len(libs) > 0 || interpreter != nil {
						return outcome{happened: "it loads libraries", saw: fmt.Sprint(name, libs, err)}
					}
				}
				return stillBlocked([]string{"LD_PRELOAD=/home/alice/x.so", "LD_AUDIT=/home/alice/x.so",
					"LD_LIBRARY_PATH=/home/alice"})(s)
			},
		},
		{who: alice, what: "runs `belay eval --runtime` with BELAY_HOME instead", holds: machineDecides,
			do: func(s *stage) outcome {
				out, errs, _ := s.with(alice, []string{"BELAY_HOME=/home/alice/own"}, call("s-2", destroys), "/usr/local/bin/belay",
					"eval", "--runtime", "claude-code")
				return decidedByGuard(told(out, errs))
			}},
		{who: alice, what: "runs belay-eval with BELAY_HOME instead", holds: machineDecides,
			do: func(s *stage) outcome {
				out, errs, _ := s.with(alice, []string{"BELAY_HOME=/home/alice/own"}, call("s-2", destroys),
					"/usr/local/bin/belay-eval", "--runtime", "claude-code")
				return decidedByGuard(told(out, errs))
			}},
	}
	for _, c := range []struct {
		what, row string
		env       []string
	}{
		{"names it by BELAY_HOME", waysVariables, []string{"BELAY_HOME=/home/alice/own"}},
		{"names it by BELAY_HOME that leads to bob's state", "", []string{"BELAY_HOME=" + stateOf(bob)}},
		{"names it by XDG_STATE_HOME and HOME", waysVariables, []string{"XDG_STATE_HOME=/home/alice",
			"HOME=/home/alice/own"}},
		{"sets HOME to nothing", "", []string{"HOME="}},
		{"puts a belay of her own first on the PATH", waysPreload, []string{"PATH=/home/alice/bin"}},
		{"sets TMPDIR and variables of Go", "", []string{"TMPDIR=/nowhere", "GODEBUG=x=1", "GOGC=off", "GOMEMLIMIT=1",
			"GOTRACEBACK=crash"}},
		{"names another configuration of the machine", "", []string{"BELAY_SYSTEM=/home/alice", "BELAY_CONFIG=/home/alice",
			"BELAY_ROOT=/home/alice", "BELAY_SOCKET=/home/alice/s"}},
		{"pretends to be systemd's child", "", []string{"LISTEN_FDS=2", "LISTEN_PID=1", "NOTIFY_SOCKET=/home/alice/s"}},
		{"brings tokens by variables", "", []string{"BELAY_ADMIN_TOKEN=blt_x", "BELAY_REVIEW_TOKEN=blt_x"}},
	} {
		tries = append(tries, try{who: alice, what: c.what, holds: machineDecides, row: c.row, do: stillBlocked(c.env)})
	}
	return append(tries, try{who: alice, what: "names a proxy that is hers", holds: "no proxy is asked", row: waysProxy,
		do: func(s *stage) outcome {
			l := s.listen(alice, "tcp:127.0.0.1:0")
			proxy := "http://" + l.addresses[0]
			o := stillBlocked(
				[]string{"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "ALL_PROXY=" + proxy, "http_proxy=" + proxy},
			)(
				s,
			)
			return l.unasked(o)
		}})
}

// files writes files that belong to a user, with the directories above them below a home.
func (m *machine) files(uid int, all map[string]string) {
	m.t.Helper()
	for name, text := range all {
		path := m.path(name)
		m.must(os.MkdirAll(filepath.Dir(path), 0o700))
		m.must(os.WriteFile(path, []byte(text), 0o700))
	}
	for _, home := range []string{"home/alice", "home/bob"} {
		owner := map[string]int{"home/alice": alice, "home/bob": bob}[home]
		if owner != uid {
			continue
		}
		m.must(filepath.WalkDir(m.path(home), func(p string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(p, uid, uid)
		}))
	}
}
