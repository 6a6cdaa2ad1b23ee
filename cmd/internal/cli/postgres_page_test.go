//go:build unix

package cli_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
)

// Who follows docs/SCALING.md in a checkout has two kernels that share leases. The commands run as they stand there, in
// a database of their own; only what starts a server is replaced.
func TestPostgresPage(t *testing.T) {
	dsn, err := url.Parse(pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	database := fmt.Sprintf("first_%d", os.Getpid())
	t.Cleanup(func() {
		pgtest.Exec(t, "public", "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)")
		for _, role := range []string{"desk", "laptop", "audit", "belay_kernel", "belay_reviewer", "belay_auditor"} {
			pgtest.Exec(t, "public", "DROP ROLE IF EXISTS "+role)
		}
	})
	pgtest.Exec(t, "public", "CREATE DATABASE "+database)
	dsn.Path = "/" + database

	var commands strings.Builder
	for _, b := range docPages(t)["docs/SCALING.md"] {
		if b.By == "cmd/internal/cli.TestPostgresPage" {
			commands.WriteString(b.Text)
		}
	}
	dir := t.TempDir()
	text := fmt.Sprintf(`chmod 755 scripts/postgres
exec bash -e walk.sh
stdout 'schema belay: from version 0 to '
stdout 'laptop can do what a kernel does, and nothing else'
stdout 'notes .*active'
stdout 'notes .*revoked'
stdout '^desk +stopped .*\nlaptop +stopped '
stdout 'events verify: ok\n.*\ndesk .*\nlaptop '
-- walk.sh --
%s
-- scripts/postgres --
#!/bin/sh
test "$*" = "start dist/postgres" && echo '%s'
`, commands.String(), dsn)
	if err := os.WriteFile(filepath.Join(dir, "walk.txtar"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, pageParams(dir))
}
