package pgtest

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// Own is a server of a test's own, which the test may stop and replace.
type Own struct {
	t      testing.TB
	server *Server
	dsn    string
}

// NewOwn starts a server. The options are those of a kernel in a new schema.
func NewOwn(t testing.TB, kernel string) (*Own, postgres.Options) {
	t.Helper()
	DSN(t)
	control := strings.Fields(os.Getenv(controlVariable))
	if len(control) != 2 {
		t.Skip("it needs a server that it may start and stop: run `make test-postgres`")
	}
	s := &Server{command: control[0], dir: control[1] + ".own"}
	t.Cleanup(func() {
		s.run(t, "stop", s.dir)
		if err := os.RemoveAll(s.dir); err != nil {
			t.Error(err)
		}
	})
	s.run(t, "start", s.dir)
	u, err := url.Parse(DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = url.Values{"host": {s.dir}}.Encode()
	o := postgres.Options{DSN: u.String(), Kernel: kernel, TLS: postgres.Off, AnyRole: true}
	if _, err := postgres.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return &Own{t, s, o.DSN}, o
}

// Shell runs commands as the account of the server, as a page has them: PGDATA is the server's data, BACKUP a directory
// beside them, and OWNER_DSN a login of the administrator. What belay does is left to the test.
func (o *Own) Shell(commands string) {
	o.t.Helper()
	args := []string{"sh", "-euc", "belay() { :; }\n" + commands}
	if os.Getuid() == 0 {
		args = append([]string{"runuser", "-u", "postgres", "--"}, args...)
	}
	c := exec.Command(args[0], args[1:]...)
	c.Dir = o.server.dir
	c.Env = append(os.Environ(), "PATH=/usr/lib/postgresql/15/bin:"+os.Getenv("PATH"), "OWNER_DSN="+o.dsn,
		"PGDATA="+filepath.Join(o.server.dir, "data"), "BACKUP="+filepath.Join(o.server.dir, "backup"))
	if out, err := c.CombinedOutput(); err != nil {
		o.t.Fatalf("%s\n%v\n%s", commands, err, out)
	}
}
