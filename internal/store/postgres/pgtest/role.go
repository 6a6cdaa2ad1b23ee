package pgtest

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

// Roles are the names of the roles of a schema.
func Roles(schema string) postgres.Roles {
	return postgres.Roles{Kernel: schema + "_kernel", Reviewer: schema + "_reviewer", Auditor: schema + "_auditor"}
}

// Logins makes the roles of a schema, and returns the DSN of a login for each: "kernel", "reviewer" and "auditor". They
// may do what postgres.Grants grants to Roles. They go with the test.
func Logins(t testing.TB, schema string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, role := range []string{"kernel", "reviewer", "auditor"} {
		group, login := schema+"_"+role, schema+"_login_"+role
		Exec(t, "public", "CREATE ROLE "+group, "CREATE ROLE "+login+" LOGIN IN ROLE "+group)
		t.Cleanup(func() {
			for _, r := range []string{login, group} {
				Exec(t, "public", "DROP OWNED BY "+r, "DROP ROLE "+r)
			}
		})
		out[role] = strings.Replace(DSN(t), "//postgres@", "//"+login+"@", 1)
	}
	return out
}

// Login makes the roles of a schema, if they are missing, and a login for one of them ("kernel", "reviewer" or
// "auditor"), and returns options with that login, whose rights are looked at.
func Login(t testing.TB, o postgres.Options, role string) postgres.Options {
	t.Helper()
	roles := Roles(o.Schema)
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
