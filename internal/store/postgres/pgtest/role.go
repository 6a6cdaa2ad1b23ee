package pgtest

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// Login makes the roles of a schema and a login for one of them ("kernel", "reviewer" or "auditor"), and returns options
// with that login.
func Login(t testing.TB, o postgres.Options, role string) postgres.Options {
	t.Helper()
	roles := postgres.Roles{Kernel: o.Schema + "_kernel", Reviewer: o.Schema + "_reviewer", Auditor: o.Schema + "_auditor"}
	login := o.Schema + "_login_" + role
	Exec(t, o.Schema, postgres.Grants(o.Schema, roles), postgres.Grants(o.Schema, roles),
		"CREATE ROLE "+login+" LOGIN IN ROLE "+o.Schema+"_"+role)
	t.Cleanup(func() {
		for _, r := range []string{login, roles.Kernel, roles.Reviewer, roles.Auditor} {
			Exec(t, "public", "DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = '"+r+"') THEN "+
				"DROP OWNED BY "+r+"; DROP ROLE "+r+"; END IF; END $$")
		}
	})
	o.DSN, o.AnyRole = strings.Replace(o.DSN, "//postgres@", "//"+login+"@", 1), false
	return o
}
