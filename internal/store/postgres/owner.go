package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ownership is what the role of a connection can do with a schema, before it is migrated. PostgreSQL itself would only
// say that something was denied.
type ownership struct {
	role, database string
	schema         string
	there          bool   // the schema is
	owner          string // of it
	tables         string // the owner of what is in it; "" where nothing is
	uses           bool   // the role can look into it
	owns           bool   // it can do what the owner of the schema can
	ownsTables     bool
	creates        bool // it can make a schema in the database
}

const ownershipOf = `SELECT session_user::text, current_database()::text, n.oid IS NOT NULL,
		coalesce(pg_get_userbyid(n.nspowner)::text, ''), coalesce(pg_get_userbyid(c.relowner)::text, ''),
		coalesce(has_schema_privilege(n.oid, 'USAGE'), false), coalesce(pg_has_role(n.nspowner, 'USAGE'), false),
		coalesce(pg_has_role(c.relowner, 'USAGE'), false), has_database_privilege(current_database(), 'CREATE')
	FROM (VALUES (1)) one LEFT JOIN pg_namespace n ON n.nspname = $1
	LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $2`

func ownershipIn(ctx context.Context, c *pgx.Conn, schema string) (o ownership, err error) {
	o.schema = schema
	err = c.QueryRow(ctx, ownershipOf, schema, versionsTable).Scan(&o.role, &o.database, &o.there, &o.owner, &o.tables,
		&o.uses, &o.owns, &o.ownsTables, &o.creates)
	return o, err
}

// hidden returns why the role cannot even see what the schema has, or nil.
func (o *ownership) hidden() error {
	if o.there && !o.uses {
		return o.another()
	}
	return nil
}

// mayMigrate returns why the role cannot migrate the schema, with the statement that mends it, or nil.
func (o *ownership) mayMigrate() error {
	switch {
	case !o.there && !o.creates:
		return fmt.Errorf("there is no schema %q, and the role %s cannot make one in the database %s; "+
			"the administrator of the database runs: CREATE SCHEMA %s AUTHORIZATION %s;", o.schema, o.role, o.database,
			quoted(o.schema), quoted(o.role))
	case o.there && !o.owns:
		return o.another()
	case o.tables != "" && !o.ownsTables:
		return fmt.Errorf("the role %s owns the schema %q, and not its tables, which belong to the role %s: log in as %s",
			o.role, o.schema, o.tables, o.tables)
	}
	return nil
}

// another says that the schema belongs to another role.
func (o *ownership) another() error {
	mend := "log in as " + o.owner
	if o.tables == "" { // it is empty, and may be meant for this role
		mend += fmt.Sprintf(", or the administrator of the database runs: ALTER SCHEMA %s OWNER TO %s;", quoted(o.schema),
			quoted(o.role))
	}
	return fmt.Errorf("the schema %q belongs to the role %s, and the DSN is of the role %s; %s", o.schema, o.owner, o.role,
		mend)
}
