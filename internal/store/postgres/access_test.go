package postgres_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
)

// askPassword has the server ask a login for its password until the test ends.
func askPassword(t *testing.T, login string) {
	t.Helper()
	const copies = `DO $$ DECLARE lines text[] := string_to_array(pg_read_file(current_setting('hba_file')), E'\n'); BEGIN
		CREATE TEMP TABLE hba AS SELECT line, n FROM unnest(%s) WITH ORDINALITY u (line, n);
		EXECUTE format('COPY (SELECT line FROM hba ORDER BY n) TO %%L', current_setting('hba_file')); END $$`
	pgtest.Exec(
		t,
		"public",
		fmt.Sprintf(copies, "ARRAY['local all "+login+" scram-sha-256'] || lines"),
		"SELECT pg_reload_conf()",
	)
	t.Cleanup(func() { pgtest.Exec(t, "public", fmt.Sprintf(copies, "lines[2:]"), "SELECT pg_reload_conf()") })
}

// until waits for a condition that comes to hold soon.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not in 20 seconds: " + what)
		}
	}
}

// A password is changed while kernels run: the file with the DSN is read again, what it says is tried, and connections
// that were made before are let go of. A file that does not work changes nothing, and a warning says so.
func TestPasswordIsChangedWithoutANewStart(t *testing.T) {
	o := pgtest.Login(t, pgtest.Options(t, "k"), "kernel")
	login := o.Schema + "_login_kernel"
	pgtest.Exec(t, "public", "ALTER ROLE "+login+" PASSWORD 'first'")
	askPassword(t, login)
	u, err := url.Parse(o.DSN)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o.DSN, o.DSNFile = "", filepath.Join(dir, "dsn")
	says := func(text string) {
		t.Helper()
		next := filepath.Join(dir, "next") // as a file is changed that others read: in one step
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, o.DSNFile); err != nil {
			t.Fatal(err)
		}
	}
	dsn := func(password string) string {
		u.User = url.UserPassword(login, password)
		return u.String()
	}
	says(dsn("first"))
	s := pgtest.Open(t, o.LookEvery(20*time.Millisecond))
	n := 0
	works := func() {
		t.Helper()
		n++
		commit(t, s, batch(fmt.Sprint("e", n)))
		if es, err := s.Events(t.Context(), wire.Query{}); err != nil || len(es) != n {
			t.Errorf("%d events, %v", len(es), err)
		}
	}
	warned := func(want string) {
		t.Helper()
		until(t, "a warning of "+want, func() bool { return strings.Contains(s.Warning(), want) })
		if strings.Contains(s.Warning(), "geheim") {
			t.Errorf("the warning shows a password: %s", s.Warning())
		}
		works()
	}
	works()
	says("postgres://geheim")
	warned("names no")
	says(dsn("geheim"))
	warned("password authentication failed")
	if err := os.Remove(o.DSNFile); err != nil {
		t.Fatal(err)
	}
	warned("no such file")

	const first = "SELECT count(*) FROM pg_stat_activity WHERE usename = '%s' AND pid = ANY ('{%s}')"
	var pids string
	admin := postgres.Options{DSN: pgtest.DSN(t), Schema: o.Schema}
	query(t, admin, "SELECT string_agg(pid::text, ',') FROM pg_stat_activity WHERE usename = '"+login+"'", &pids)
	pgtest.Exec(t, "public", "ALTER ROLE "+login+" PASSWORD 'second'")
	says(dsn("second"))
	until(t, "the old connections are gone", func() bool {
		var n int
		query(t, admin, fmt.Sprintf(first, login, pids), &n)
		return n == 0
	})
	if w := s.Warning(); w != "" {
		t.Errorf("it works, and there is a warning: %s", w)
	}
	works()
	pgtest.Exec(t, "public", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+login+"'")
	until(t, "new connections", func() bool { _, err := s.Commit(t.Context(), batch("again")); return err == nil })
}
