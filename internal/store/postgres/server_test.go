package postgres_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
)

// A server that a power cut would make lose acknowledged events is refused.
func TestAServerThatLosesEvents(t *testing.T) {
	o := pgtest.Options(t, "k")
	for _, setting := range []string{"fsync", "full_page_writes"} {
		set := func(statement, want string) {
			t.Helper()
			pgtest.Exec(t, "public", statement, "SELECT pg_reload_conf()")
			until(t, setting+" "+want, func() bool {
				var now string
				query(t, o, "SHOW "+setting, &now)
				return now == want
			})
		}
		t.Cleanup(func() {
			pgtest.Exec(t, "public", "ALTER SYSTEM RESET "+setting, "SELECT pg_reload_conf()")
		})
		set("ALTER SYSTEM SET "+setting+" = off", "off")
		s, err := postgres.Open(t.Context(), o)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), setting) {
			t.Errorf("%s is off: %v", setting, err)
		}
		set("ALTER SYSTEM RESET "+setting, "on")
	}
	pgtest.Open(t, o)
}
