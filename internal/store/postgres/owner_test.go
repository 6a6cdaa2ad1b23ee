package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
)

// roleLogin makes a login without any rights, and returns options with it.
func roleLogin(t *testing.T, o postgres.Options, name string) (postgres.Options, string) {
	t.Helper()
	name = o.Schema + "_" + name
	pgtest.Exec(t, "public", "CREATE ROLE "+name+" LOGIN")
	t.Cleanup(func() { pgtest.Exec(t, "public", "DROP OWNED BY "+name+" CASCADE", "DROP ROLE "+name) })
	o.DSN = strings.Replace(o.DSN, "//postgres@", "//"+name+"@", 1)
	return o, name
}

// The owner of a schema needs no right to its database. A login that lacks something is told the statement that gives
// it.
func TestWhoMigrates(t *testing.T) {
	o := pgtest.Bare(t, "k")
	mine, me := roleLogin(t, o, "owner")
	other, _ := roleLogin(t, o, "other")
	refused := func(o postgres.Options, wants ...string) {
		t.Helper()
		_, err := postgres.Migrate(t.Context(), o)
		for _, want := range wants {
			if err == nil || !errors.Is(err, kernel.ErrUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q: %v", want, err)
			}
		}
		m, err := postgres.CheckMigration(t.Context(), o)
		if err == nil {
			err = m.Lacks
		}
		if err == nil || !strings.Contains(err.Error(), wants[0]) {
			t.Errorf("the check says %v", err)
		}
	}
	refused(mine, "there is no schema", `CREATE SCHEMA "`+o.Schema+`" AUTHORIZATION "`+me+`";`)

	pgtest.Exec(t, "public", `CREATE SCHEMA "`+o.Schema+`" AUTHORIZATION "`+me+`";`)
	refused(other, "belongs to the role "+me, "log in as "+me, `ALTER SCHEMA "`+o.Schema+`" OWNER TO "`)
	if m, err := postgres.CheckMigration(t.Context(), mine); err != nil || m.Lacks != nil || len(m.Steps) == 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	m, err := postgres.Migrate(t.Context(), mine)
	if err != nil || m.From != 0 || len(m.Steps) == 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	commit(t, pgtest.Open(t, pgtest.Login(t, o, "kernel")), batch("a"))
	// With the roles there, the owner of the schema gives them their rights without an administrator.
	if err := try(t, mine.DSN, o.Schema, postgres.Grants(o.Schema, pgtest.Roles(o.Schema))); err != nil {
		t.Error(err)
	}

	// The rest is refused where there is something to do, and to whom can see it.
	pgtest.Exec(t, o.Schema, "DELETE FROM schema_versions WHERE version_id = (SELECT max(version_id) FROM schema_versions)")
	refused(other, "belongs to the role "+me+", and the DSN is of the role")
	_, err = postgres.Migrate(t.Context(), other)
	if err != nil && strings.Contains(err.Error(), "ALTER SCHEMA") {
		t.Errorf("a schema with tables is to be given away: %v", err)
	}
	pgtest.Exec(t, o.Schema, "ALTER TABLE schema_versions OWNER TO postgres")
	refused(mine, "owns the schema", "belong to the role postgres")
}
