package pgtest

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Server is a server besides the one of the tests.
type Server struct {
	command, dir, of string
}

// Replica makes a replica of the tests' server, without which that server commits nothing from now on. It is nil where
// the tests may not control their server.
func Replica(t testing.TB) *Server {
	t.Helper()
	control := strings.Fields(os.Getenv(controlVariable))
	if len(control) != 2 {
		return nil
	}
	s := &Server{command: control[0], dir: control[1] + ".replica", of: control[1]}
	s.run(t, "replica", s.dir, s.of)
	t.Cleanup(func() { s.run(t, "stop", s.dir) })
	Exec(t, "public", "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
	return s
}

func (s *Server) run(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command(s.command, args...).CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
}

// TakeOver ends the tests' server as a crash does, makes its replica the server of this process and of those that it
// starts, and has the proxy lead there.
func (s *Server) TakeOver(t testing.TB, p *Proxy) {
	t.Helper()
	p.Down(true)
	s.run(t, "kill", s.of)
	s.run(t, "promote", s.dir)
	u, err := url.Parse(DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = url.Values{"host": {s.dir}}.Encode()
	for name, v := range map[string]string{dsnVariable: u.String(), controlVariable: s.command + " " + s.dir} {
		if err := os.Setenv(name, v); err != nil {
			t.Fatal(err)
		}
	}
	p.lead(filepath.Join(s.dir, filepath.Base(p.server)))
	p.Down(false)
}
