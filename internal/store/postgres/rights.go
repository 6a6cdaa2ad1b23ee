package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A kernel looks at its own rights before it writes anything. With too many of them a program that takes over the
// kernel could change the log behind the functions that write it; with too few a commit would fail in the middle of
// the work. Both are refused, with the statements that mend it.

// right is one entry of an access list that counts for the role of a connection.
type right struct {
	kind      string // TABLE, SEQUENCE, FUNCTION or SCHEMA, as GRANT has it
	name      string
	signature string // of a function: its arguments; of a right to columns: (column)
	privilege string
	grantee   string // "" is everybody: PUBLIC
}

func (r *right) object(schema string) string {
	switch r.kind {
	case "SCHEMA":
		return "SCHEMA " + quoted(schema)
	case "FUNCTION":
		return "FUNCTION " + quoted(schema, r.name) + r.signature
	}
	return r.kind + " " + quoted(schema, r.name)
}

func (r *right) revoke(schema string) string {
	from := "PUBLIC"
	if r.grantee != "" {
		from = quoted(r.grantee)
	}
	columns := ""
	if r.kind == "TABLE" {
		columns = r.signature
	}
	return fmt.Sprintf("REVOKE %s%s ON %s FROM %s;", r.privilege, columns, r.object(schema), from)
}

// Rights is what is wrong with the rights of a role; the zero value: nothing is.
type Rights struct {
	Role string   // that the connection has logged in as
	Much []string // what it can do, and a kernel must not
	Less []string // what it cannot do, and a kernel has to
	Mend []string // the statements that mend it, for the owner of the schema

	auditor bool // it only reads the logs of all: a login of the auditors is the one to have
}

// rightsError says what a role must not do, or has to. It is one sentence and the statements.
type rightsError struct{ Rights }

const shownRights = 8 // of each kind, in the text of an error

func (e *rightsError) Error() string {
	var b strings.Builder
	what := "a kernel"
	if e.auditor {
		what = "an auditor"
	}
	fmt.Fprintf(&b, "the role %s is not that of %s", e.Role, what)
	for _, part := range []struct {
		says string
		list []string
	}{{"it can do too much", e.Much}, {"it can do too little", e.Less}} {
		if len(part.list) == 0 {
			continue
		}
		shown := part.list[:min(len(part.list), shownRights)]
		fmt.Fprintf(&b, "; %s: %s", part.says, strings.Join(shown, ", "))
		if n := len(part.list) - len(shown); n > 0 {
			fmt.Fprintf(&b, " and %d more", n)
		}
	}
	b.WriteString("; the owner of the schema mends it by:")
	for _, s := range e.Mend {
		b.WriteString("\n  " + s)
	}
	return b.String()
}

// checkRights refuses a role that can do more or less than a kernel. One that only reads may do less.
func (o *Options) checkRights(ctx context.Context, c *pgx.Conn) error {
	if o.AnyRole {
		return nil
	}
	r := Rights{auditor: o.auditor}
	err := r.find(ctx, c, o.Schema, !o.ReadOnly)
	switch {
	case err != nil:
		return fmt.Errorf("the rights of this role cannot be read: %w", err)
	case len(r.Much)+len(r.Less) > 0:
		return &rightsError{r}
	}
	return nil
}

// find compares what the role of a connection can do with what a kernel does.
func (r *Rights) find(ctx context.Context, c querier, schema string, all bool) error {
	if err := r.attributes(ctx, c, schema); err != nil {
		return err
	}
	if err := r.lists(ctx, c, schema); err != nil {
		return err
	}
	if all {
		if err := r.missing(ctx, c, schema); err != nil {
			return err
		}
	}
	r.Mend = slices.Compact(r.Mend)
	return nil
}

// attributes looks at what a role can do without being granted it.
func (r *Rights) attributes(ctx context.Context, c querier, schema string) error {
	var super, creates, bypasses, replicates bool
	err := c.QueryRow(ctx, `SELECT rolname, rolsuper, rolcreaterole, rolbypassrls, rolreplication FROM pg_roles
		WHERE rolname = session_user`).Scan(&r.Role, &super, &creates, &bypasses, &replicates)
	if err != nil {
		return err
	}
	if super { // it is a member of every role, and that would be no news
		r.Much = append(r.Much, "everything (it is a superuser)")
		r.Mend = append(r.Mend, r.anotherLogin(r.Role))
		return nil
	}
	for _, a := range []struct {
		has        bool
		name, says string
	}{
		{creates, "CREATEROLE", "make and change roles"},
		{bypasses, "BYPASSRLS", "pass by the security of rows"},
		{replicates, "REPLICATION", "copy the whole server"},
	} {
		if a.has {
			r.Much = append(r.Much, a.says)
			r.Mend = append(r.Mend, fmt.Sprintf("ALTER ROLE %s NO%s;", quoted(r.Role), a.name))
		}
	}
	return r.memberships(ctx, c, schema)
}

func (r *Rights) anotherLogin(role string) string {
	of := "belay_kernel"
	if r.auditor {
		of = "belay_auditor"
	}
	return fmt.Sprintf("CREATE ROLE belay_NAME LOGIN PASSWORD '…' IN ROLE %s; -- for the DSN, in the place of %s", of,
		quoted(role))
}

// mightyRoles are those by which a member gets around every access list.
const mightyRoles = `WITH mighty AS (
		SELECT nspowner AS id, 'the owner of the schema' AS what FROM pg_namespace WHERE nspname = $1
		UNION SELECT relowner, 'the owner of its tables' FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1))
		UNION SELECT proowner, 'the owner of its functions' FROM pg_proc WHERE pronamespace = to_regnamespace(quote_ident($1))
		UNION SELECT datdba, 'the owner of the database' FROM pg_database WHERE datname = current_database()
		UNION SELECT oid, 'a role that can do everything, or makes roles' FROM pg_roles
			WHERE (rolsuper OR rolcreaterole OR rolbypassrls) AND rolname <> session_user
		UNION SELECT oid, 'a role that reaches every table or the files of the server' FROM pg_roles WHERE rolname IN
			('pg_write_all_data', 'pg_write_server_files', 'pg_read_server_files', 'pg_execute_server_program'))
	SELECT DISTINCT ON (o.rolname) o.rolname, m.what, ARRAY(SELECT pg_get_userbyid(a.member)::text FROM pg_auth_members a
		WHERE a.roleid = m.id AND pg_has_role(session_user, a.member, 'MEMBER') ORDER BY 1)
	FROM mighty m JOIN pg_roles o ON o.oid = m.id
	WHERE pg_has_role(session_user, m.id, 'MEMBER') ORDER BY o.rolname, m.what`

// memberships looks for roles by which it could get at what no list grants it.
func (r *Rights) memberships(ctx context.Context, c querier, schema string) error {
	rows, err := c.Query(ctx, mightyRoles, schema)
	if err != nil {
		return err
	}
	var role, what string
	var members []string
	_, err = pgx.ForEachRow(rows, []any{&role, &what, &members}, func() error {
		if role == r.Role {
			r.Much = append(r.Much, fmt.Sprintf("everything that %s can", what))
			r.Mend = append(r.Mend, r.anotherLogin(role))
			return nil
		}
		r.Much = append(r.Much, fmt.Sprintf("everything that %s can (%s)", role, what))
		for _, m := range members {
			r.Mend = append(r.Mend, fmt.Sprintf("REVOKE %s FROM %s;", quoted(role), quoted(m)))
		}
		return nil
	})
	return err
}

// accessLists has each entry of an access list of the schema that counts for the role, by itself or by a role that it
// is a member of. Owners have everything, and are looked at by attributes. What has no list has the usual one.
const accessLists = `WITH lists AS (
		SELECT 'SCHEMA' AS kind, nspname::text AS name, '' AS signature, coalesce(nspacl, acldefault('n', nspowner)) AS acl,
			nspowner AS owner FROM pg_namespace WHERE nspname = $1
		UNION ALL SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, relname, '', relacl, relowner FROM pg_class
			WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relacl IS NOT NULL
		UNION ALL SELECT 'TABLE', c.relname, '(' || quote_ident(a.attname) || ')', a.attacl, c.relowner
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
			WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND a.attacl IS NOT NULL
		UNION ALL SELECT 'FUNCTION', proname, '(' || pg_get_function_identity_arguments(oid) || ')',
			coalesce(proacl, acldefault('f', proowner)), proowner FROM pg_proc
			WHERE pronamespace = to_regnamespace(quote_ident($1)))
	SELECT DISTINCT l.kind, l.name, l.signature, e.privilege_type,
		CASE e.grantee WHEN 0 THEN '' ELSE pg_get_userbyid(e.grantee)::text END
	FROM lists l CROSS JOIN LATERAL aclexplode(l.acl) e
	WHERE e.grantee <> l.owner AND (e.grantee = 0 OR pg_has_role(session_user, e.grantee, 'MEMBER'))
	ORDER BY 1, 2, 3, 4, 5`

// lists looks for rights that were granted and that a kernel does not have by Grants.
func (r *Rights) lists(ctx context.Context, c querier, schema string) error {
	rows, err := c.Query(ctx, accessLists, schema)
	if err != nil {
		return err
	}
	var x right
	_, err = pgx.ForEachRow(rows, []any{&x.kind, &x.name, &x.signature, &x.privilege, &x.grantee}, func() error {
		if kernelMay(&x) {
			return nil
		}
		r.Much = append(r.Much, x.privilege+" on "+strings.ToLower(x.kind)+" "+x.name)
		r.Mend = append(r.Mend, x.revoke(schema))
		return nil
	})
	return err
}

// missing looks for what a kernel has to be able to do.
func (r *Rights) missing(ctx context.Context, c querier, schema string) error {
	var names, privileges []string
	for _, t := range allTables() {
		for _, p := range strings.Split(t.kernel, ", ") {
			if p != "" {
				names, privileges = append(names, quoted(schema, t.name)), append(privileges, p)
			}
		}
	}
	rows, err := c.Query(
		ctx,
		`SELECT name, privilege FROM unnest($1::text[], $2::text[]) WITH ORDINALITY u (name, privilege, n)
		WHERE NOT coalesce(has_table_privilege(to_regclass(name), privilege), false) ORDER BY n`,
		names,
		privileges,
	)
	if err != nil {
		return err
	}
	var name, privilege string
	lacks := func(says, on string) {
		r.Less = append(r.Less, says)
		r.Mend = append(r.Mend, fmt.Sprintf("GRANT %s ON %s TO %s;", privilege, on, quoted(r.Role)))
	}
	if _, err := pgx.ForEachRow(rows, []any{&name, &privilege}, func() error {
		lacks(privilege+" on table "+name, name)
		return nil
	}); err != nil {
		return err
	}
	rows, err = c.Query(
		ctx,
		`SELECT f, 'EXECUTE' FROM unnest($1::text[]) WITH ORDINALITY u (f, n) WHERE NOT EXISTS (SELECT FROM
		pg_proc WHERE pronamespace = to_regnamespace(quote_ident($2)) AND proname = f AND has_function_privilege(oid,
			'EXECUTE'))
		ORDER BY n`,
		kernelFunctions(),
		schema,
	)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, []any{&name, &privilege}, func() error {
		lacks("EXECUTE on function "+name, "FUNCTION "+quoted(schema, name))
		return nil
	})
	return err
}
