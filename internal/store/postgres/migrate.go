package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrated says what Migrate has done.
type Migrated struct {
	From, To int64    // versions of the schema; 0: there was none
	Steps    []string // the files that were run
	Lacks    error    // of CheckMigration: why the role could not run them; nil: it could

	owns ownership
}

// Migrate makes the schema, or brings it up to date. It needs a role that owns the schema. Where there is none, the
// role also needs to be able to make one. Several may run at once: one does the work. A schema of a newer belay, and
// one that was migrated by halves, are refused.
func Migrate(ctx context.Context, o Options) (m Migrated, err error) {
	if o.Kernel == "" {
		o.Kernel = "migrate" // which takes no name
	}
	o, config, err := o.resolve()
	if err != nil {
		return m, unavailable("migrate", err)
	}
	if m, err = lacking(ctx, config, o.Schema); err != nil {
		return m, unavailable("migrate", err)
	}
	if len(m.Steps) == 0 {
		return m, nil
	}
	if err := m.owns.mayMigrate(); err != nil {
		return m, unavailable("migrate", err)
	}
	config.RuntimeParams["statement_timeout"] = "0" // an index may take its time
	config.RuntimeParams["lock_timeout"] = milliseconds(time.Minute)
	db := stdlib.OpenDB(*config)
	defer db.Close()
	if !m.owns.there { // else a role that owns the schema needs no right to the database
		if _, err = db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+quoted(o.Schema)); err != nil {
			return m, unavailable("migrate", err)
		}
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return m, unavailable("migrate", err)
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return m, unavailable("migrate", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker),
		goose.WithTableName(versionsTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return m, unavailable("migrate", err)
	}
	done, err := p.Up(ctx)
	if err != nil {
		return m, unavailable("migrate", err)
	}
	// What a step has made is for those whom Grants names, also where the step forgot to say so.
	if _, err = db.ExecContext(ctx, "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA "+quoted(o.Schema)+" FROM PUBLIC"); err != nil {
		return m, unavailable("migrate", err)
	}
	m.Steps = nil // another process may have been faster
	for _, r := range done {
		m.Steps = append(m.Steps, r.Source.Path)
	}
	return m, nil
}

// CheckMigration says what Migrate would do, and does nothing. The role needs to see the schema. Errors are as of
// Migrate.
func CheckMigration(ctx context.Context, o Options) (m Migrated, err error) {
	if o.Kernel == "" {
		o.Kernel = "migrate" // which takes no name
	}
	o, config, err := o.resolve()
	if err != nil {
		return m, unavailable("look at the schema", err)
	}
	if m, err = lacking(ctx, config, o.Schema); err != nil {
		return m, unavailable("look at the schema", err)
	}
	if len(m.Steps) > 0 {
		m.Lacks = m.owns.mayMigrate()
	}
	return m, nil
}

// lacking returns what a schema lacks. One that no step of this program leads on from is refused.
func lacking(ctx context.Context, config *pgx.ConnConfig, schema string) (m Migrated, err error) {
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return m, err
	}
	defer c.Close(ctx)
	names, want, err := wanted()
	if err != nil {
		return m, err
	}
	if m.owns, err = ownershipIn(ctx, c, schema); err == nil {
		err = m.owns.hidden()
	}
	if err != nil {
		return m, err
	}
	have, there, err := steps(ctx, c, schema)
	if err != nil {
		if lacks := m.owns.mayMigrate(); lacks != nil { // says more to the one who migrates
			err = lacks
		}
		return m, err
	}
	if there {
		if err := foreign(schema, have, want); err != nil {
			return m, err
		}
	} else {
		var tables bool
		if err := c.QueryRow(ctx, "SELECT to_regclass('kernels') IS NOT NULL").Scan(&tables); err != nil {
			return m, err
		}
		if tables {
			return m, fmt.Errorf("the schema %q has a table kernels, and no table %s that says how it was made; "+
				"restore it from a backup, or name another schema", schema, versionsTable)
		}
	}
	m.To = want[len(want)-1]
	if len(have) > 0 {
		m.From = have[len(have)-1]
	}
	m.Steps = names[len(have):]
	return m, nil
}

const versionsTable = "schema_versions"

func newer(have, want int64) error {
	return fmt.Errorf("the schema has version %d, and this belay knows versions up to %d: a newer belay has migrated it; "+
		"install that version", have, want)
}

// wanted returns the files of the migrations and the versions that they make, in order.
func wanted() (names []string, versions []int64, err error) {
	paths, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	for _, p := range paths {
		v, verr := goose.NumericComponent(p)
		names, versions, err = append(names, path.Base(p)), append(versions, v), errors.Join(err, verr)
	}
	return names, versions, err
}

// steps returns the versions of the steps that a schema was made by. there is false where no table says so.
func steps(ctx context.Context, c *pgx.Conn, schema string) (have []int64, there bool, err error) {
	if err := c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", versionsTable).Scan(&there); err != nil || !there {
		return nil, false, err
	}
	var readable bool
	if err := c.QueryRow(ctx, "SELECT has_table_privilege($1, 'SELECT')", versionsTable).Scan(&readable); err != nil {
		return nil, true, err
	}
	if !readable {
		return nil, true, fmt.Errorf("this role may not read the schema %q; the owner of the schema runs the statements of "+
			"`belay migrate --grants`, and makes this role a member of one of the three roles", schema)
	}
	rows, err := c.Query(ctx, "SELECT version_id FROM "+versionsTable+" WHERE is_applied AND version_id > 0 ORDER BY 1")
	if err == nil {
		have, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	return have, true, err
}

// foreign refuses a schema that no step of this program leads on from.
func foreign(schema string, have, want []int64) error {
	switch last := want[len(want)-1]; {
	case len(have) > 0 && have[len(have)-1] > last:
		return newer(have[len(have)-1], last)
	case slices.Equal(have, want[:min(len(have), len(want))]):
		return nil
	}
	return fmt.Errorf("the schema %q was migrated by halves: it has the steps %v, and this belay the steps %v; "+
		"restore it from a backup", schema, have, want)
}

// checkSchema refuses a schema of another version, with advice.
func checkSchema(ctx context.Context, c *pgx.Conn, schema string) error {
	const advice = "migrate it with a role that owns the schema (`belay migrate`)"
	_, want, err := wanted()
	if err != nil {
		return err
	}
	have, there, err := steps(ctx, c, schema)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("the database has no schema %q, or this role may not use it; %s", schema, advice)
	}
	if err := foreign(schema, have, want); err != nil {
		return err
	}
	if len(have) < len(want) {
		return fmt.Errorf("the schema %q has version %d, and this belay needs %d; %s", schema, len(have), want[len(want)-1],
			advice)
	}
	return nil
}

// ForgetKey lets the next process that takes a kernel's name bring another checkpoint key. It is for a kernel whose
// state directory is lost, needs a role that owns the schema, and makes no event: the heads that were signed by the old
// key stay, and need that key to be verified.
func ForgetKey(ctx context.Context, o Options, name string) error {
	o.Kernel = name
	_, config, err := o.resolve()
	if err != nil {
		return unavailable("forget a key", err)
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return unavailable("forget a key", err)
	}
	defer c.Close(ctx)
	tag, err := c.Exec(ctx, "UPDATE kernels SET checkpoint_key = '' WHERE name = $1", name)
	if err == nil && tag.RowsAffected() == 0 {
		err = fmt.Errorf("no kernel has written as %q yet", name)
	}
	if err != nil {
		return unavailable("forget a key", err)
	}
	return nil
}
