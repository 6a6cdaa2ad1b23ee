package systemtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
)

func socketTries() []try {
	return []try{
		{
			who:   alice,
			what:  "opens the socket of root in her state directory",
			holds: modes,
			do:    denied("connect", stateOf(alice)+"/belay.sock"),
		},
		{
			who:   alice,
			what:  "opens that of bob's state directory",
			holds: modes,
			do:    denied("connect", stateOf(bob)+"/belay.sock"),
		},
		{
			who:   alice,
			what:  "puts a socket of her own into /run/belay",
			holds: "/run/belay is root's",
			do:    denied("bind", "/run/belay/other.sock"),
		},
		{who: alice, what: "puts another socket in the place of belay.sock", holds: "/run/belay is root's",
			do: denied("rename", "/home/alice/own/belay.yaml", "/run/belay/belay.sock")},
		{who: alice, what: "listens where a daemon of her own would, and says yes to all", holds: "/run/belay alone is asked",
			row: "another process can listen in the daemon's place", do: func(s *stage) outcome {
				s.must(os.MkdirAll(s.path("run/user/1501"), 0o700))
				s.must(os.Chown(s.path("run/user/1501"), alice, alice))
				var places []string
				for _, dir := range []string{"/home/alice/.local/state/belay", "/tmp/belay", "/run/user/1501/belay",
					"/home/alice"} {
					places = append(places, dir+"/belay.sock", dir+"/frame.sock")
				}
				l := s.listen(alice, places...)
				o := stillBlocked([]string{"XDG_RUNTIME_DIR=/run/user/1501"})(s)
				if d, r := s.verdict(bob, nil, "s-0", destroys); o.held {
					o = decidedByGuard(d, r)
				}
				return l.unasked(o)
			}},
		{who: alice, what: "takes the loopback port that daemons have had, and says yes", holds: "the daemon has no port",
			row: "on the loopback address", do: func(s *stage) outcome {
				port := "tcp:127.0.0.1:4170"
				if l, err := net.Listen("tcp", "127.0.0.1:4170"); err != nil {
					port = "tcp:127.0.0.1:0"
				} else {
					_ = l.Close()
				}
				l := s.listen(alice, port)
				return l.unasked(stillBlocked(nil)(s))
			}},
		{
			who:   alice,
			what:  "sends what is neither HTTP nor a frame",
			holds: "the connection ends; others are served",
			route: "frame",
			do: func(s *stage) outcome {
				out, _, _ := s.as(alice, "\xbe\xff garbage \x00\x01", "/usr/local/bin/try", "raw", "frame.sock")
				more, _, _ := s.as(alice, "GARBAGE\r\n\r\n", "/usr/local/bin/try", "raw", "belay.sock")
				d, r := s.verdict(bob, nil, "s-0", "ls")
				return outcome{
					held:     d != "deny" && strings.Contains(more, "400"),
					happened: "refused, bob is served",
					saw:      out + more + d + r,
				}
			},
		},
		{
			who:   alice,
			what:  "comes as a web page does: Host and Origin of a site",
			holds: "403",
			route: "forbidden",
			do: func(s *stage) outcome {
				out, _, _ := s.as(alice, "GET /v1/status HTTP/1.1\r\nHost: evil.example\r\nOrigin: https://evil.example\r\n\r\n",
					"/usr/local/bin/try", "raw", "belay.sock")
				return outcome{held: strings.Contains(out, " 403 "), happened: short(out, 30), saw: out}
			},
		},
	}
}

func bindAt(path string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// background is a program that runs until its input is closed.
type background struct {
	s     *stage
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
	first string // the first line that it printed

	addresses []string
}

// begin starts a program as a user, and waits for its first line.
func (s *stage) begin(uid int, name string, args ...string) *background {
	s.t.Helper()
	cmd := s.inRoot(uid, name, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	s.must(err)
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	b := &background{s: s, cmd: cmd, stdin: stdin, out: bufio.NewReader(out)}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	b.first, err = b.out.ReadString('\n')
	if err != nil {
		s.t.Fatalf("%s %v: %v", name, args, err)
	}
	return b
}

// end closes the input, and returns what is printed then.
func (b *background) end() string {
	b.s.t.Helper()
	_ = b.stdin.Close()
	rest, err := io.ReadAll(b.out)
	b.s.must(err)
	_ = b.cmd.Wait()
	return string(rest)
}

// listen has a user answer "yes" at sockets.
func (s *stage) listen(uid int, places ...string) *background {
	s.t.Helper()
	b := s.begin(uid, "/usr/local/bin/try", append([]string{"listen"}, places...)...)
	b.addresses = strings.Fields(b.first)
	return b
}

// unasked ends the listener, to which no client may have connected.
func (b *background) unasked(o outcome) outcome {
	if came := strings.TrimSpace(b.end()); came != "0" {
		o.held, o.saw = false, fmt.Sprintf("%s connections came to the user's own listener; %s", came, o.saw)
	}
	return o
}
