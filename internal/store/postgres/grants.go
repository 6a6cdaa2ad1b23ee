package postgres

import (
	"fmt"
	"slices"
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
		"add_checkpoint", "drop_checkpoints", "add_block", "note_once", "organisation_keys", "report", "deny",
		"forward", "forward_heads", "set_mark"}
}

// The functions that others call, and no role may.
func innerFunctions() []string { return []string{"own", "tell"} }

// What a role may do with a table.
const (
	reads  = "SELECT"
	writes = "SELECT, INSERT, UPDATE, DELETE"
)

// tableRights say what each role may do with a table; "" is nothing.
type tableRights struct {
	name                      string
	kernel, reviewer, auditor string
}

// allTables are the tables of a schema. The partitions of events have no rights of their own.
func allTables() []tableRights {
	return []tableRights{
		{versionsTable, reads, reads, reads},
		{"kernels", reads, reads, reads},
		{"settings", reads, "", reads},
		{"events", reads, "", reads},
		{"tiles", reads, "", reads},
		{"checkpoints", reads, "", reads},
		{"lookup", reads, "", reads},
		{"lookup_blocks", reads, "", reads},
		{"shared", reads, "", reads},
		{"changes", reads, "", reads},
		{"once", reads, "", reads},
		{"reports", reads, "", reads},
		{"denials", reads, "", reads},
		{"keys", "", "", ""},
		{"latches", writes, "", reads},
		{"approvals", writes, reads, reads},
		{"leases", writes, "", reads},
		{"runs", writes, "", reads},
		{"state", writes, "", reads},
	}
}

// Grants returns the statements that give the roles of an organisation the least rights, for its administrator to run
// with psql. They make the roles that are missing, without a login. They are one transaction: kernels that run have
// their rights all the while, and a statement that fails leaves everything as it was.
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
	k, rev, aud := name(r.Kernel, "belay_kernel"), name(r.Reviewer, "belay_reviewer"), name(r.Auditor, "belay_auditor")
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("BEGIN;")
	for _, role := range []string{k, rev, aud} {
		// Roles that are there need no administrator: the owner of the schema can run the rest.
		line("DO $$ BEGIN IF to_regrole('%s') IS NULL THEN CREATE ROLE %s NOLOGIN; END IF; "+
			"EXCEPTION WHEN duplicate_object THEN NULL; END $$;", strings.ReplaceAll(quoted(role), "'", "''"), quoted(role))
		line("REVOKE ALL ON ALL TABLES IN SCHEMA %s FROM %s;", quoted(schema), quoted(role))
		line("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %s FROM %s;", quoted(schema), quoted(role))
		line("REVOKE ALL ON SCHEMA %s FROM %s;", quoted(schema), quoted(role))
		line("GRANT USAGE ON SCHEMA %s TO %s;", quoted(schema), quoted(role))
		for _, rights := range []string{reads, writes} {
			var list []string
			for _, t := range allTables() {
				if role == k && t.kernel == rights || role == rev && t.reviewer == rights || role == aud && t.auditor == rights {
					list = append(list, quoted(schema, t.name))
				}
			}
			if len(list) > 0 {
				line("GRANT %s ON %s TO %s;", rights, strings.Join(list, ", "), quoted(role))
			}
		}
	}
	for _, f := range kernelFunctions() {
		line("GRANT EXECUTE ON FUNCTION %s TO %s;", quoted(schema, f), quoted(k))
	}
	line("COMMIT;")
	return b.String()
}

func quoted(name ...string) string { return pgx.Identifier(name).Sanitize() }

// kernelMay reports whether a kernel's role has a right by Grants.
func kernelMay(r *right) bool {
	switch r.kind {
	case "SCHEMA":
		return r.privilege == "USAGE"
	case "FUNCTION":
		return slices.Contains(kernelFunctions(), r.name)
	}
	for _, t := range allTables() {
		if t.name == r.name {
			return slices.Contains(strings.Split(t.kernel, ", "), r.privilege)
		}
	}
	return false
}
