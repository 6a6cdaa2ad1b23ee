package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
)

// login is a kernel's role of its own, with names that statements of a test can use.
type login struct {
	o            postgres.Options
	role, kernel string
}

func kernelLogin(t *testing.T) login {
	o := pgtest.Login(t, pgtest.Options(t, "k"), "kernel")
	return login{o, o.Schema + "_login_kernel", o.Schema + "_kernel"}
}

// in puts the names of roles and of the schema into a statement.
func (l *login) in(sql string) string {
	return strings.NewReplacer("LOGIN_", l.role, "KERNEL_", l.kernel, "SCHEMA_", l.o.Schema,
		"OWN_", l.kernel+"_own", "GRP_", l.kernel+"_grp").Replace(sql)
}

// mends returns the statements of an error.
func mends(err error) (out []string) {
	_, list, _ := strings.Cut(err.Error(), "mends it by:\n")
	for line := range strings.Lines(list) {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// A role that can do more than a kernel, or less, is refused before anything is written. The error names the
// right, and the statements in it mend it.
func TestRightsOfAKernel(t *testing.T) {
	l := kernelLogin(t)
	commit(t, pgtest.Open(t, l.o), batch("first"))
	pgtest.Exec(t, "public", l.in("CREATE ROLE OWN_"), l.in("CREATE ROLE GRP_"))
	t.Cleanup(func() {
		for _, r := range []string{l.kernel + "_grp", l.kernel + "_own"} {
			pgtest.Exec(t, "public", "DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = '"+r+"') THEN "+
				"REASSIGN OWNED BY "+r+" TO postgres; DROP OWNED BY "+r+"; DROP ROLE "+r+"; END IF; END $$")
		}
	})
	for _, c := range []struct{ name, sql, want string }{
		{"may make roles", "ALTER ROLE LOGIN_ CREATEROLE", "too much: make and change roles"},
		{"may pass by row security", "ALTER ROLE LOGIN_ BYPASSRLS", "too much: pass by the security of rows"},
		{"may replicate", "ALTER ROLE LOGIN_ REPLICATION", "too much: copy the whole server"},
		{"is one of the owners", "ALTER TABLE tiles OWNER TO OWN_; GRANT OWN_ TO LOGIN_",
			"too much: everything that OWN_ can (the owner of its tables)"},
		{"is in a group of the owner", "ALTER SCHEMA SCHEMA_ OWNER TO OWN_; " +
			"GRANT OWN_ TO GRP_; GRANT GRP_ TO LOGIN_",
			"too much: everything that OWN_ can (the owner of"},
		{"may write all data", "GRANT pg_write_all_data TO LOGIN_", "too much: everything that pg_write_all_data can"},
		{"may read the server's files", "GRANT pg_read_server_files TO LOGIN_",
			"everything that pg_read_server_files can"},
		{"may change events", "GRANT UPDATE ON events TO KERNEL_", "too much: UPDATE on table events"},
		{"may remove events", "GRANT DELETE ON events TO LOGIN_", "too much: DELETE on table events"},
		{"may change a partition", "GRANT INSERT ON events_1_0 TO LOGIN_", "too much: INSERT on table events_1_0"},
		{"may change one column", "GRANT UPDATE (fence) ON kernels TO LOGIN_", "too much: UPDATE on table kernels"},
		{"may change hashes", "GRANT INSERT, UPDATE ON tiles TO PUBLIC",
			"too much: INSERT on table tiles, UPDATE on table tiles"},
		{"may empty a table", "GRANT TRUNCATE ON leases TO KERNEL_", "too much: TRUNCATE on table leases"},
		{"may make triggers", "GRANT TRIGGER ON shared TO KERNEL_", "too much: TRIGGER on table shared"},
		{"may read keys by itself", "GRANT SELECT ON keys TO KERNEL_", "too much: SELECT on table keys"},
		{"may make tables", "GRANT CREATE ON SCHEMA SCHEMA_ TO KERNEL_", "too much: CREATE on schema SCHEMA_"},
		{"may set a sequence", "GRANT UPDATE ON SEQUENCE kernels_id_seq TO KERNEL_",
			"too much: UPDATE on sequence kernels_id_seq"},
		{"may call an inner function", "GRANT EXECUTE ON FUNCTION own TO KERNEL_", "too much: EXECUTE on function own"},
		{"may call what is no function of belay", "CREATE FUNCTION other() RETURNS int LANGUAGE sql AS 'SELECT 1'",
			"too much: EXECUTE on function other"},
		{"may not read the log", "REVOKE SELECT ON events FROM KERNEL_", "too little: SELECT on table"},
		{"may not write leases", "REVOKE UPDATE ON leases FROM KERNEL_", "too little: UPDATE on table"},
		{"may not append", "REVOKE EXECUTE ON FUNCTION append FROM KERNEL_", "too little: EXECUTE on function append"},
		{"is in no role", "REVOKE KERNEL_ FROM LOGIN_; " +
			"GRANT USAGE ON SCHEMA SCHEMA_ TO LOGIN_; GRANT SELECT ON schema_versions TO LOGIN_",
			"too little: SELECT on table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pgtest.Exec(t, l.o.Schema, l.in(c.sql))
			const holds = "SELECT sum(fence) FROM kernels"
			var before, after int
			query(t, admin(t, l.o), holds, &before)
			_, err := postgres.Open(t.Context(), l.o)
			if !errors.Is(err, kernel.ErrUnavailable) || !strings.Contains(err.Error(), l.in(c.want)) {
				t.Fatalf("%v", err)
			}
			if query(t, admin(t, l.o), holds, &after); before != after {
				t.Error("it has taken a name")
			}
			pgtest.Exec(t, "public", mends(err)...)
			o := l.o
			o.Kernel = "other"
			s, err := postgres.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// admin returns options with the login of the owner of the schema.
func admin(t *testing.T, o postgres.Options) postgres.Options {
	o.DSN, o.AnyRole = pgtest.DSN(t), true
	return o
}

// A superuser is refused, also for reading, and told how to make a login. A role that has no right at all is told what
// to run.
func TestNoKernelIsASuperuser(t *testing.T) {
	o := pgtest.Options(t, "k")
	o.AnyRole = false
	for _, o.ReadOnly = range []bool{false, true} {
		if _, err := postgres.Open(t.Context(), o); err == nil ||
			!strings.Contains(err.Error(), "the role postgres is not that of a kernel; it can do too much: everything") ||
			!strings.Contains(err.Error(), "LOGIN PASSWORD '…' IN ROLE belay_kernel") {
			t.Errorf("%v", err)
		}
	}
	if _, err := postgres.OpenAuditor(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "the role postgres is not that of an auditor; it can do too much: everything") ||
		!strings.Contains(err.Error(), "LOGIN PASSWORD '…' IN ROLE belay_auditor") {
		t.Errorf("as an auditor: %v", err)
	}
	l := kernelLogin(t)
	pgtest.Exec(t, l.o.Schema, l.in("REVOKE KERNEL_ FROM LOGIN_"))
	if _, err := postgres.Open(t.Context(), l.o); err == nil || !strings.Contains(err.Error(), "may not use it") {
		t.Errorf("no right to the schema: %v", err)
	}
	pgtest.Exec(t, l.o.Schema, l.in("GRANT USAGE ON SCHEMA SCHEMA_ TO LOGIN_"))
	if _, err := postgres.Open(t.Context(), l.o); err == nil ||
		!strings.Contains(err.Error(), "`belay migrate --grants`") {
		t.Errorf("no right to its tables: %v", err)
	}
}

// Every table and every function of the schema has a rule for each of the three roles, and each role can do that and
// nothing else. A new one without a rule fails here: it goes into allTables, kernelFunctions or innerFunctions.
func TestEveryTableAndFunctionHasARule(t *testing.T) {
	o := pgtest.Options(t, "k")
	commit(t, pgtest.Open(t, o), batch("a")) // so that there are partitions
	tables, functions := postgres.Rules()
	logins := map[string]*pgx.Conn{}
	for _, role := range []string{"kernel", "reviewer", "auditor"} {
		logins[role] = connect(t, pgtest.Login(t, o, role))
	}
	admin := connect(t, o)
	list := func(sql string) (out []string) {
		rows, err := admin.Query(t.Context(), sql, o.Schema)
		if err != nil {
			t.Fatal(err)
		}
		if out, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(out) == 0 {
			t.Fatalf("%d rows, %v", len(out), err)
		}
		return out
	}
	// try runs a statement as a role, in a transaction that is undone, and reports whether the role has the right to it.
	try := func(role, sql string) bool {
		tx, err := logins[role].Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		_, err = tx.Exec(t.Context(), sql)
		var e *pgconn.PgError
		return !errors.As(err, &e) || e.Code != "42501"
	}
	for _, name := range list(`SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace($1)
		AND relkind IN ('r', 'p', 'v', 'm', 'f')`) {
		rule := tables[name]
		if strings.HasPrefix(name, "events_") {
			rule = map[string]string{"kernel": "", "reviewer": "", "auditor": ""} // a partition: read through events
		}
		if rule == nil {
			t.Errorf("the table %s has no rule", name)
		}
		var column string
		query(t, o, "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = '"+name+"'::regclass AND attnum > 0 "+
			"AND attidentity = '' LIMIT 1", &column)
		for role, may := range rule {
			for privilege, sql := range map[string]string{
				"SELECT":   "SELECT " + column + " FROM " + name + " WHERE false",
				"INSERT":   "EXPLAIN INSERT INTO " + name + " (" + column + ") SELECT NULL WHERE false",
				"UPDATE":   "UPDATE " + name + " SET " + column + " = " + column + " WHERE false",
				"DELETE":   "DELETE FROM " + name + " WHERE false",
				"TRUNCATE": "TRUNCATE " + name,
				"DROP":     "DROP TABLE " + name + " CASCADE",
				"ALTER":    "ALTER TABLE " + name + " SET (fillfactor = 50)",
			} {
				if want := slices.Contains(strings.Split(may, ", "), privilege); try(role, sql) != want {
					t.Errorf("%s may %s: %v, want %v: %s", role, privilege, !want, want, sql)
				}
			}
		}
	}
	for _, f := range list(`SELECT proname || '(' || coalesce((SELECT string_agg('NULL::' || a::regtype::text, ', ' ORDER BY n)
		FROM unnest(proargtypes) WITH ORDINALITY u (a, n)), '') || ')' FROM pg_proc
		WHERE pronamespace = to_regnamespace($1)`) {
		name, _, _ := strings.Cut(f, "(")
		rule, ok := functions[name]
		if !ok {
			t.Errorf("the function %s has no rule", name)
		}
		for role := range logins {
			want := rule == role
			if try(role, "SELECT "+f) != want {
				t.Errorf("%s may call %s: %v, want %v", role, name, !want, want)
			}
		}
	}
	for role := range logins {
		for _, sql := range []string{"CREATE TABLE mine (n int)", "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
			"DROP SCHEMA " + o.Schema + " CASCADE", "SET ROLE postgres", "SELECT setval('kernels_id_seq', 1)",
			fmt.Sprintf("ALTER ROLE %s_login_%s CREATEROLE", o.Schema, role)} {
			if try(role, sql) {
				t.Errorf("%s may: %s", role, sql)
			}
		}
	}
}

func connect(t *testing.T, o postgres.Options) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), o.DSN)
	if err == nil {
		_, err = c.Exec(t.Context(), "SET search_path = "+o.Schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	return c
}
