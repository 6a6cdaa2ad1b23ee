package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/store/postgres"
)

type migrateOptions struct {
	database      databaseFlags
	check, grants bool
	forgetKey     string
	roles         postgres.Roles
	json          bool
}

func (a *App) migrateCmd() *cobra.Command {
	var options migrateOptions
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema of a shared PostgreSQL up to date",
		Long: `migrate makes the schema that kernels share in PostgreSQL, or brings it up to date with this belay.
It takes a DSN of a role that owns the schema. No kernel should log in as that role. Where there is
no schema yet, the role has to be able to make one. Otherwise the error says what the administrator
of the database runs for that.
Each step is one transaction. A schema of a newer belay is refused, and so is one that has steps
missing.

A kernel's name belongs to the key that signed its first checkpoint, which is in its state
directory. Where that directory is lost for good, --forget-key NAME lets a new one take the name and
go on with the log. Keep the old public key: the old checkpoints are verified with it.

--grants prints the statements that make three roles with the least rights. The administrator of
the database runs them after each migration.

belay.yaml says the rest (store.postgres); flags say it on a machine without a kernel.`,
		Example: `  belay migrate --dsn-file /etc/belay/owner.dsn --check
  belay migrate --dsn-file /etc/belay/owner.dsn
  belay migrate --grants | psql belay`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.migrate(cmd.Context(), options) },
	}
	f := cmd.Flags()
	options.database.add(f, "file that holds the owner's postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	f.BoolVar(&options.check, "check", false, "only say what would be done; exit status 1 if that is something")
	f.StringVar(&options.forgetKey, "forget-key", "",
		"let the kernel of this name come back with another key for its checkpoints")
	f.BoolVar(&options.grants, "grants", false, "only print the statements that give the roles their rights")
	f.StringVar(&options.roles.Kernel, "kernel-role", "",
		"with --grants: name of the role of kernels (default belay_kernel)")
	f.StringVar(&options.roles.Reviewer, "reviewer-role", "", "with --grants: of reviewers (default belay_reviewer)")
	f.StringVar(&options.roles.Auditor, "auditor-role", "", "with --grants: of auditors (default belay_auditor)")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

// migrated is what `belay migrate --json` prints.
type migrated struct {
	Schema string   `json:"schema"`
	From   int64    `json:"from"` // version; 0: there was no schema
	To     int64    `json:"to"`
	Steps  []string `json:"steps"`
	Lacks  string   `json:"lacks,omitzero"` // with --check: why the role could not run them
}

// forgotten is what `belay migrate --forget-key --json` prints.
type forgotten struct {
	Schema    string `json:"schema"`
	ForgotKey string `json:"forgot_key"` // of the kernel of this name
}

func (a *App) migrate(ctx context.Context, options migrateOptions) error {
	switch {
	case options.check && (options.grants || options.forgetKey != ""), options.grants && options.forgetKey != "":
		return usageError("--check, --grants and --forget-key do not go together", "")
	case options.grants:
		return a.printGrants(options)
	case options.roles != postgres.Roles{}:
		return usageError("the names of roles go with --grants", "")
	}
	o, err := a.ownerOptions(&options.database)
	if err != nil {
		return err
	}
	if options.forgetKey != "" {
		if err := postgres.ForgetKey(ctx, o, options.forgetKey); err != nil {
			return migrateFailure(err)
		}
		return a.tell(options.json, forgotten{o.Schema, options.forgetKey}, a.Out,
			"schema %s: the next start of kernel %s may bring another key\n", safe(o.Schema), safe(options.forgetKey))
	}
	do := postgres.Migrate
	if options.check {
		do = postgres.CheckMigration
	}
	m, err := do(ctx, o)
	if err != nil {
		return migrateFailure(err)
	}
	out := migrated{Schema: o.Schema, From: m.From, To: m.To, Steps: append([]string{}, m.Steps...)}
	switch {
	case len(m.Steps) == 0:
		return a.tell(options.json, out, a.Out, "schema %s: up to date, version %d\n", safe(o.Schema), m.To)
	case !options.check:
		return a.tell(options.json, out, a.Out, "schema %s: from version %d to %d\n"+
			"Next, as the administrator of the database: belay migrate --grants | psql DATABASE\n", safe(o.Schema), m.From, m.To)
	}
	lacks := ""
	if m.Lacks != nil {
		out.Lacks = m.Lacks.Error()
		lacks = "could not: " + safe(out.Lacks) + "\n"
	}
	err = a.tell(options.json, out, a.Out, "schema %s: version %d, and this belay needs %d\nwould run: %s\n%s",
		safe(o.Schema), m.From, m.To, strings.Join(m.Steps, ", "), lacks)
	if err != nil {
		return err
	}
	return exitWith(ExitError)
}

func (a *App) printGrants(options migrateOptions) error {
	named, err := a.namedStore()
	if err != nil {
		return err
	}
	schema := cmp.Or(options.database.schema, named.Schema, postgres.DefaultSchema)
	sql := postgres.Grants(schema, options.roles)
	return a.tell(options.json, map[string]any{"schema": schema, "sql": sql}, a.Out, "%s", sql)
}

// ownerOptions says how to reach the database as the owner of its schema.
func (a *App) ownerOptions(d *databaseFlags) (o postgres.Options, err error) {
	if d.dsnFile == "" {
		return o, usageError("migrate takes --dsn-file FILE",
			"The file holds the DSN of a role that owns the schema, postgres://USER:PASSWORD@HOST:PORT/DATABASE, mode 600.")
	}
	named, err := a.namedStore()
	if err != nil {
		return o, err
	}
	return d.options(&named)
}

func migrateFailure(err error) error {
	why, _ := whyUnavailable(err)
	return &exitError{code: ExitError, text: safe(why), cause: err,
		hint: "A step that failed has changed nothing. docs/SCALING.md says which role, file and server it takes."}
}
