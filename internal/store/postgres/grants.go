package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Roles are the names of the three roles. Zero values mean belay_kernel, belay_reviewer and belay_auditor.
type Roles struct {
	Kernel   string // decides and writes: each kernel logs in as a member of it, best each with a login of its own
	Reviewer string // reads the queue, and nothing else: decisions go through a kernel
	Auditor  string // reads the logs and what restricts
}

// The functions that a kernel may call. They write events and hashes; no role may do so by itself.
func kernelFunctions() []string {
	return []string{"hold", "renew", "release", "append", "advance", "compact", "remove", "partition_ahead", "lock_shared",
		"add_checkpoint", "drop_checkpoints", "add_block", "note_once", "organisation_keys", "report", "deny"}
}

// Grants returns the statements that give the roles of an organisation the least rights, for its administrator to run
// with psql. They make the roles that are missing, without a login.
func Grants(schema string, r Roles) string {
	if schema == "" {
		schema = DefaultSchema
	}
	name := func(s, usual string) string {
		if s == "" {
			s = usual
		}
		return s
	}
	id := func(s string) string { return pgx.Identifier{s}.Sanitize() }
	k, rev, aud := name(r.Kernel, "belay_kernel"), name(r.Reviewer, "belay_reviewer"), name(r.Auditor, "belay_auditor")
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, role := range []string{k, rev, aud} {
		line("DO $$ BEGIN CREATE ROLE %s NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;", id(role))
		line("REVOKE ALL ON ALL TABLES IN SCHEMA %s FROM %s;", id(schema), id(role))
		line("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %s FROM %s;", id(schema), id(role))
		line("REVOKE ALL ON SCHEMA %s FROM %s;", id(schema), id(role))
		line("GRANT USAGE ON SCHEMA %s TO %s;", id(schema), id(role))
		line("GRANT SELECT ON %s TO %s;", tables(schema, versionsTable), id(role))
	}
	line("GRANT SELECT ON %s TO %s;", tables(schema, "kernels", "settings", "events", "tiles", "checkpoints", "lookup",
		"lookup_blocks", "shared", "changes", "once", "reports", "denials"), id(k))
	line("GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %s;", tables(schema, "latches", "approvals", "leases", "runs",
		"state"), id(k))
	for _, f := range kernelFunctions() {
		line("GRANT EXECUTE ON FUNCTION %s.%s TO %s;", id(schema), id(f), id(k))
	}
	line("GRANT SELECT ON %s TO %s;", tables(schema, "approvals", "kernels"), id(rev))
	line("GRANT SELECT ON %s TO %s;", tables(schema, "kernels", "settings", "events", "tiles", "checkpoints", "lookup",
		"lookup_blocks", "shared", "changes", "once", "latches", "approvals", "leases", "runs", "state", "reports",
		"denials"), id(aud))
	return b.String()
}

func tables(schema string, names ...string) string {
	for i, n := range names {
		names[i] = pgx.Identifier{schema, n}.Sanitize()
	}
	return strings.Join(names, ", ")
}
