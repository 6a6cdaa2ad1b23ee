package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
)

// A step of a migration that fails leaves nothing behind: kernels are refused with what to do, and when the cause is
// gone, the migration goes on from there.
func TestMigrationThatFails(t *testing.T) {
	o := pgtest.Bare(t, "k")
	pgtest.Exec(t, "public", "CREATE SCHEMA "+o.Schema)
	pgtest.Exec(t, o.Schema, "CREATE TABLE once (mine int)") // step 3 makes one of this name
	if _, err := postgres.Migrate(t.Context(), o); !errors.Is(err, kernel.ErrUnavailable) ||
		!strings.Contains(err.Error(), "once") {
		t.Fatalf("%v", err)
	}
	var keys, versions int
	query(
		t,
		o,
		"SELECT count(*) FROM pg_class WHERE relname = 'keys' AND relnamespace = '"+o.Schema+"'::regnamespace",
		&keys,
	)
	query(t, o, "SELECT max(version_id) FROM schema_versions", &versions)
	if keys != 0 || versions != 2 {
		t.Errorf("half of a step is there: %d tables of step 3, version %d", keys, versions)
	}
	if _, err := postgres.Open(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "has version 2, and this belay needs") ||
		!strings.Contains(err.Error(), "migrate") {
		t.Errorf("%v", err)
	}
	pgtest.Exec(t, o.Schema, "DROP TABLE once")
	if m, err := postgres.Migrate(t.Context(), o); err != nil || m.From != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	commit(t, pgtest.Open(t, o), batch("a"))
}

// A newer belay migrates the schema while older kernels run: each blocks at its next connection, and says why. The
// newer one has to be installed; nothing that the older one does not know of is written by it until then.
func TestOlderKernelMeetsNewerSchema(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "older")
	direct := o.Schema
	o.DSN = p.DSN(t)
	s := pgtest.Open(t, o)
	commit(t, s, batch("a"))
	pgtest.Exec(
		t,
		direct,
		"INSERT INTO schema_versions (version_id, is_applied) SELECT max(version_id) + 1, true FROM schema_versions",
	)
	p.Cut()
	refused := false
	for deadline := time.Now().Add(20 * time.Second); !refused && time.Now().Before(deadline); {
		_, err := s.Commit(t.Context(), batch("b"))
		if err == nil {
			t.Fatal("an older kernel writes to a newer schema")
		}
		refused = errors.Is(err, kernel.ErrUnavailable) && strings.Contains(err.Error(), "a newer belay has migrated it")
	}
	if !refused {
		t.Error("it does not say why")
	}
	pgtest.Exec(t, direct, "DELETE FROM schema_versions WHERE version_id = (SELECT max(version_id) FROM schema_versions)")
	until(
		t,
		"the schema is of its version again",
		func() bool { _, err := s.Commit(t.Context(), batch(fmt.Sprint("c"))); return err == nil },
	)
}
