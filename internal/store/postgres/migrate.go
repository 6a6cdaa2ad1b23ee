package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
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
}

// Migrate makes the schema, or brings it up to date. It needs a role that may create a schema and owns it.
// Several may run at once: one does the work.
func Migrate(ctx context.Context, o Options) (m Migrated, err error) {
	if o.Kernel == "" {
		o.Kernel = "migrate" // which takes no name
	}
	o, config, err := o.resolve()
	if err != nil {
		return m, unavailable("migrate", err)
	}
	config.RuntimeParams["statement_timeout"] = "0" // an index may take its time
	config.RuntimeParams["lock_timeout"] = milliseconds(time.Minute)
	db := stdlib.OpenDB(*config)
	defer db.Close()
	if _, err = db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{o.Schema}.Sanitize()); err != nil {
		return m, unavailable("migrate", err)
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
	if m.From, m.To, err = p.GetVersions(ctx); err != nil {
		return m, unavailable("migrate", err)
	}
	if m.From > m.To {
		return m, unavailable("migrate", newer(m.From, m.To))
	}
	done, err := p.Up(ctx)
	if err != nil {
		return m, unavailable("migrate", err)
	}
	// What a step has made is for those whom Grants names, also where the step forgot to say so.
	if _, err = db.ExecContext(ctx, "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA "+quoted(o.Schema)+" FROM PUBLIC"); err != nil {
		return m, unavailable("migrate", err)
	}
	for _, r := range done {
		m.Steps = append(m.Steps, r.Source.Path)
	}
	return m, nil
}

const versionsTable = "schema_versions"

func newer(have, want int64) error {
	return fmt.Errorf("the schema has version %d, and this belay knows versions up to %d: a newer belay has migrated it; "+
		"install that version", have, want)
}

// wanted returns the versions that the migrations make.
func wanted() (out []int64, err error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	for _, n := range names {
		v, verr := goose.NumericComponent(n)
		out, err = append(out, v), errors.Join(err, verr)
	}
	slices.Sort(out)
	return out, err
}

// checkSchema refuses a schema of another version, with advice.
func checkSchema(ctx context.Context, c *pgx.Conn, schema string) error {
	const advice = "migrate it with a role that owns the schema"
	want, err := wanted()
	if err != nil {
		return err
	}
	var there bool
	if err := c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", versionsTable).Scan(&there); err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("the database has no schema %q, or this role may not use it; %s", schema, advice)
	}
	var readable bool
	if err := c.QueryRow(ctx, "SELECT has_table_privilege($1, 'SELECT')", versionsTable).Scan(&readable); err != nil {
		return err
	}
	if !readable {
		return fmt.Errorf("this role may not read the schema %q; the owner of the schema runs the statements of "+
			"`belay migrate --grants`, and makes this role a member of one of the three roles", schema)
	}
	rows, err := c.Query(ctx, "SELECT version_id FROM "+versionsTable+" WHERE is_applied AND version_id > 0 ORDER BY 1")
	if err != nil {
		return err
	}
	have, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	switch last := want[len(want)-1]; {
	case err != nil:
		return err
	case slices.Equal(have, want):
		return nil
	case len(have) > 0 && have[len(have)-1] > last:
		return newer(have[len(have)-1], last)
	case slices.Equal(have, want[:min(len(have), len(want))]):
		return fmt.Errorf("the schema %q has version %d, and this belay needs %d; %s", schema, len(have), last, advice)
	}
	return fmt.Errorf("the schema %q was migrated by halves: it has the steps %v, and this belay the steps %v; "+
		"restore it from a backup, or %s", schema, have, want, advice)
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
