package fleettest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
)

const password = "of the demo's own keys, which are of no use after it"

// stage is where tries are made: three kernels on one database. What one try leaves for those behind it stands here.
type stage struct {
	t       *testing.T
	root    string // directory of everything
	program string // belay
	schema  string // of the organisation
	long    bool

	a, b, c *member
	owner   string // files with the DSN of the schema's owner, and of an auditor
	auditor string
	keys    string // the file with the kernels' keys that carol has from their machines
	carol   reviewer

	hook     string // the file of the signed hook
	lease    lent
	approval waiting
	misfits  int // kernels that are not to start
}

// long says that the demo was asked for, and not a test.
func long() bool { return os.Getenv("BELAY_DEMO_LONG") != "" }

// built builds the program once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", dir, "../../belay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("%w: %s", err, out), os.RemoveAll(dir))
	}
	return dir, nil
})

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) ctx() context.Context { return s.t.Context() }

// dsnOf is the DSN of a login.
func (s *stage) dsnOf(login string) string {
	s.t.Helper()
	u, err := url.Parse(pgtest.DSN(s.t))
	s.must(err)
	u.User = url.User(login)
	return u.String()
}

// login is the name of a login or role of this demo.
func (s *stage) login(name string) string { return s.schema + "_" + name }

// sql runs statements as the database's administrator.
func (s *stage) sql(statements ...string) { s.t.Helper(); pgtest.Exec(s.t, s.schema, statements...) }

// as runs a statement as another login, and returns what PostgreSQL says against it.
func (s *stage) as(login, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.dsnOf(s.login(login)))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "SET search_path = "+s.schema); err != nil {
		return err
	}
	_, err = c.Exec(ctx, statement)
	return err
}

// count is a number that the database's administrator reads.
func (s *stage) count(query string) (n int64) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, pgtest.DSN(s.t))
	s.must(err)
	defer c.Close(ctx)
	_, err = c.Exec(ctx, "SET search_path = "+s.schema)
	s.must(err)
	s.must(c.QueryRow(ctx, query).Scan(&n))
	return n
}

// newStage makes the organisation: a schema with its owner, three roles, a login for each kernel, and the state
// directories of three kernels.
func newStage(t *testing.T) *stage {
	t.Helper()
	pgtest.DSN(t)
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(programs) })
	root, err := os.MkdirTemp("", "fleet") // the path of a socket in it has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	program := filepath.Join(programs, "belay")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	s := &stage{t: t, root: root, program: program, schema: fmt.Sprintf("demo%d", os.Getpid()), long: long(),
		carol: newReviewer(t, "carol")}
	s.organise()
	return s
}

// organise makes what the administrator of the database makes once.
func (s *stage) organise() {
	s.t.Helper()
	roles := postgres.Roles{Kernel: s.login("kernel"), Reviewer: s.login("reviewer"), Auditor: s.login("auditor")}
	logins := []string{"owner", "a", "b", "c", "kernel", "reviewer", "auditor", "alice"}
	s.t.Cleanup(func() {
		pgtest.Exec(s.t, "public", "DROP SCHEMA IF EXISTS "+s.schema+" CASCADE")
		for _, l := range logins {
			pgtest.Exec(s.t, "public",
				"DO $$ BEGIN DROP OWNED BY "+s.login(l)+"; EXCEPTION WHEN undefined_object THEN NULL; END $$",
				"DROP ROLE IF EXISTS "+s.login(l))
		}
	})
	pgtest.Exec(s.t, "public", "CREATE ROLE "+s.login("owner")+" LOGIN",
		"DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO "+s.login("owner")+"', current_database()); END $$")
	s.owner, s.auditor = s.file("owner.dsn", s.dsnOf(s.login("owner"))), s.file("auditor.dsn", s.dsnOf(s.login("alice")))
	if out, err := s.run("migrate", "--dsn-file", s.owner, "--schema", s.schema, "--tls", "off"); err != nil {
		s.t.Fatalf("migrate: %v: %s", err, out)
	}
	s.sql(postgres.Grants(s.schema, roles))
	for _, k := range []string{"a", "b", "c"} {
		s.sql("CREATE ROLE " + s.login(k) + " LOGIN IN ROLE " + roles.Kernel)
	}
	s.sql("CREATE ROLE " + s.login("alice") + " LOGIN IN ROLE " + roles.Auditor)
}

// file writes a file that only its owner can read.
func (s *stage) file(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	s.must(os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

// run runs a command of belay's that needs no state directory.
func (s *stage) run(args ...string) (string, error) {
	c := exec.Command(s.program, args...)
	c.Dir = s.root
	c.Env = append(os.Environ(), "HOME="+s.root, "XDG_DATA_HOME=", "BELAY_HOME="+filepath.Join(s.root, "none"),
		"NO_COLOR=1", "BELAY_KEY_PASSWORD="+password)
	out, err := c.CombinedOutput()
	return string(out), err
}

// members are the kernels.
func (s *stage) members() []*member { return []*member{s.a, s.b, s.c} }

// each does something with all kernels at once.
func (s *stage) each(f func(*member) outcome) []outcome {
	out := make([]outcome, len(s.members()))
	var wait sync.WaitGroup
	for i, k := range s.members() {
		wait.Go(func() { out[i] = f(k) })
	}
	wait.Wait()
	return out
}

// database starts or stops the server.
func (s *stage) database(what string) {
	s.t.Helper()
	control := strings.Fields(os.Getenv("BELAY_TEST_POSTGRES_CONTROL"))
	if len(control) != 2 {
		s.t.Fatal("the demo needs a server that it may stop: run `make demo-fleet`")
	}
	if out, err := exec.Command(control[0], what, control[1]).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", what, err, out)
	}
}

// Three kernels on one database, of which c has a log of its own and forwards it. A signed hook, a lease and an
// approval count on all of them, once. A kernel that is killed and a database that is away lose nothing. What does not
// fit is refused.
func TestFleet(t *testing.T) {
	s := newStage(t)
	s.a = s.newMember("a", s.login("a"), "")
	s.b = s.newMember("b", s.login("b"), "")
	s.c = s.newMember("c", s.login("c"), "    events: local\n    keep: 64MiB\n")
	defer func() {
		for _, k := range s.members() {
			k.kill()
		}
	}()
	s.signHook()
	keys := ""
	for _, k := range s.members() {
		keys += k.name + " " + k.runs("events", "key")
	}
	s.keys = s.file("fleet.keys", strings.TrimSpace(keys))
	for _, k := range s.members() {
		k.begin()
	}
	for _, k := range s.members() {
		if o := k.serves(time.Minute); !o.held {
			t.Fatalf("kernel %s does not serve: %s", k.name, o.saw)
		}
	}
	n := s.show(groups())
	if testing.Verbose() {
		fmt.Printf("\n%d tries, %d held\n", n.made, n.held)
	}
}
