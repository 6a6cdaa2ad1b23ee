// Package pgtest gives tests a schema of their own in a real PostgreSQL.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// Variables of the environment; scripts/test-postgres sets them.
const (
	dsnVariable     = "BELAY_TEST_POSTGRES"         // the DSN of a superuser
	controlVariable = "BELAY_TEST_POSTGRES_CONTROL" // "COMMAND DIR": COMMAND restart DIR starts the server anew
)

// DSN returns the database of the tests. Without one the test is skipped, and says how to run it.
func DSN(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv(dsnVariable)
	if dsn == "" {
		t.Skip("it needs a database: run `make test-postgres`")
	}
	return dsn
}

// Restart starts the server anew, as after a crash.
func Restart(t testing.TB) {
	t.Helper()
	control := strings.Fields(os.Getenv(controlVariable))
	if len(control) != 2 {
		t.Skip("it needs a server that it may stop: run `make test-postgres`")
	}
	if out, err := exec.Command(control[0], "restart", control[1]).CombinedOutput(); err != nil {
		t.Fatalf("restart: %v\n%s", err, out)
	}
}

// Exec runs statements as the superuser, in a schema.
func Exec(t testing.TB, schema string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "SET search_path = "+pgx.Identifier{schema}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// Options returns the options of a kernel in a new schema, which is migrated. The schema goes with the test.
func Options(t testing.TB, kernel string) postgres.Options {
	t.Helper()
	o := Bare(t, kernel)
	if _, err := postgres.Migrate(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// Bare is Options with a schema that does not exist yet.
func Bare(t testing.TB, kernel string) postgres.Options {
	t.Helper()
	dsn := DSN(t)
	schema := fmt.Sprintf("t%d_%d", os.Getpid(), counter.Add(1))
	t.Cleanup(func() { Exec(t, "public", "DROP SCHEMA IF EXISTS "+schema+" CASCADE") })
	return postgres.Options{DSN: dsn, Kernel: kernel, Schema: schema, TLS: postgres.Off, AnyRole: true}
}

var counter atomic.Int64

// Open opens a store and closes it with the test.
func Open(t testing.TB, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}
