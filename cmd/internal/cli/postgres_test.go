package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
)

// postgresVariable names the DSN of the tests' PostgreSQL; scripts/test-postgres sets it.
const postgresVariable = "BELAY_TEST_POSTGRES"

// givePostgres gives a script whose name begins with postgres_ the DSN and a schema of its own, which goes with the
// test. KERNEL_DSN and AUDITOR_DSN have logins of their roles, which may do what "pgsql grants" grants them. Other
// scripts know of no PostgreSQL.
func givePostgres(t *testing.T, env *testscript.Env) {
	dsn := os.Getenv(postgresVariable)
	name, wants := strings.CutPrefix(filepath.Base(env.WorkDir), "script-postgres_")
	if dsn == "" || !wants {
		return
	}
	schema := fmt.Sprintf("s%d_%s", os.Getpid(), name)
	env.Setenv("DSN", dsn)
	env.Setenv("SCHEMA", schema)
	logins := pgtest.Logins(t, schema)
	t.Cleanup(func() { pgtest.Exec(t, "public", "DROP SCHEMA IF EXISTS "+schema+" CASCADE") })
	env.Setenv("KERNEL_DSN", logins["kernel"])
	env.Setenv("AUDITOR_DSN", logins["auditor"])
}

// runPostgres runs statements in $SCHEMA, and prints what they answer.
func runPostgres(texts []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, os.Getenv("DSN"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "SET search_path = "+pgx.Identifier{os.Getenv("SCHEMA")}.Sanitize()); err != nil {
		return err
	}
	for _, text := range texts {
		if text == "grants" {
			text = postgres.Grants(os.Getenv("SCHEMA"), pgtest.Roles(os.Getenv("SCHEMA")))
			if _, err := c.Exec(ctx, text); err != nil {
				return err
			}
			continue
		}
		rows, err := c.Query(ctx, text)
		if err != nil {
			return err
		}
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				return err
			}
			fmt.Println(values...)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		fmt.Println(rows.CommandTag())
	}
	return nil
}
