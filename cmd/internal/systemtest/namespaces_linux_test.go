package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const rowNamespaces = "asks from namespaces of their own"

// pivoted is inRoot for a user who makes namespaces, which the system allows no process whose root was changed by
// chroot.
func (m *machine) pivoted(uid int, args ...string) *exec.Cmd {
	in := m.inRoot(uid, "/usr/local/bin/try", args...)
	cmd := exec.Command(m.path("usr/local/bin/try"), append([]string{"pivot", m.root, strconv.Itoa(uid)}, args...)...)
	cmd.Env = in.Env
	return cmd
}

// inNamespaceOf asks as alice within a user namespace of her own: mapped is none or root, mounts are FROM:TO.
func (s *stage) ownNamespace(mapped string, mounts []string, command string) (d, r string, made bool) {
	s.t.Helper()
	args := append(
		append([]string{"/usr/local/bin/try", "namespace", mapped}, mounts...),
		"--",
		"/usr/local/bin/belay-hook",
		"--runtime",
		"claude-code",
	)
	cmd := s.pivoted(alice, args...)
	cmd.Stdin = strings.NewReader(call("s-u", command))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	if n, err := strconv.Atoi(strings.TrimSpace(out.String())); err == nil {
		return "", fmt.Sprint(syscall.Errno(n)), false
	}
	d, r = told(out.String(), errs.String())
	return d, r, true
}

func namespaceTries() []try {
	without := func(r string) outcome {
		return outcome{held: true, happened: "this kernel makes none for users", saw: r}
	}
	return []try{
		{
			who:   alice,
			what:  "asks from a user namespace in which she has no uid",
			holds: "belay-hook finds no root there: it blocks",
			quiet: elsewhere,
			row:   rowNamespaces,
			do: func(s *stage) outcome {
				d, r, made := s.ownNamespace("none", nil, "ls")
				if !made {
					return without(r)
				}
				return outcome{held: d == "deny", happened: said(d, r), saw: d + r}
			},
		},
		{
			who:   alice,
			what:  "asks as root of a user namespace of her own",
			holds: "the same: it blocks",
			quiet: elsewhere,
			row:   rowNamespaces,
			do: func(s *stage) outcome {
				d, r, made := s.ownNamespace("root", nil, "ls")
				if !made {
					return without(r)
				}
				return outcome{held: d == "deny", happened: said(d, r), saw: d + r}
			},
		},
		{
			who:   alice,
			what:  "speaks to the socket as root of a user namespace",
			holds: "the daemon sees the uid outside: alice's",
			route: "POST /v1/reload",
			row:   rowNamespaces,
			do: func(s *stage) outcome {
				cmd := s.pivoted(alice, "/usr/local/bin/try", "namespace", "root", "--", "/usr/local/bin/try", "http", "GET",
					"/v1/events?session=s-1&type=verdict")
				out, err := cmd.CombinedOutput()
				if _, bad := strconv.Atoi(strings.TrimSpace(string(out))); bad == nil {
					return without(string(out))
				}
				reload := s.pivoted(
					alice,
					"/usr/local/bin/try",
					"namespace",
					"root",
					"--",
					"/usr/local/bin/try",
					"http",
					"POST",
					"/v1/reload",
				)
				more, _ := reload.CombinedOutput()
				return outcome{
					held: err == nil && strings.HasPrefix(string(out), "200 ") && strings.Contains(string(out), destroys) &&
						strings.HasPrefix(
							string(more),
							"403 ",
						),
					happened: "served as alice, and not as root",
					saw:      string(out) + string(more),
				}
			},
		},
		{
			who:   alice,
			what:  "shows belay-hook an /etc/belay and /run/belay of her own",
			holds: "she fools what she starts there, alone",
			row:   rowNamespaces,
			do: func(s *stage) outcome {
				s.must(os.MkdirAll(s.path("home/alice/etc"), 0o755))
				s.must(os.MkdirAll(s.path("home/alice/run"), 0o755))
				s.files(alice, map[string]string{"home/alice/etc/system.yaml": "version: belay-system/v1\n"})
				n := s.newest(alice).Seq
				l := s.listen(alice, "/home/alice/run/belay.sock", "/home/alice/run/frame.sock")
				d, r, made := s.ownNamespace("root", []string{"/home/alice/etc:/etc/belay", "/home/alice/run:/run/belay"}, destroys)
				came := strings.TrimSpace(l.end())
				if !made {
					return without(r)
				}
				// Who was fooled is a process of hers. The daemon was asked nothing, and a belay-hook that is started outside,
				// as a runtime with managed settings does, asks the machine's.
				o := stillBlocked(nil)(s)
				seen := s.newest(alice)
				o.held = o.held && came != "0" && d != "deny" && seen.Seq > n
				o.happened, o.saw = "outside: "+o.happened, fmt.Sprint(came, d, r, o.saw)
				return o
			},
		},
		{
			who:   bob,
			what:  "asks meanwhile",
			holds: "no other user sees what she mounts",
			row:   rowNamespaces,
			do: func(s *stage) outcome {
				return decidedByGuard(s.verdict(bob, nil, "s-0", destroys))
			},
		},
	}
}
