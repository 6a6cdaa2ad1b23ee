package postgres_test

import (
	"os"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// blockOf returns the commands of docs/SCALING.md that a text is in.
func blockOf(t *testing.T, text string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/SCALING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(page), "```sh\n")[1:] {
		if block, _, _ = strings.Cut(block, "```"); strings.Contains(block, text) {
			return block
		}
	}
	t.Fatalf("docs/SCALING.md has no commands with %q", text)
	return ""
}

// A base backup of the whole server is restored that is older than what was acknowledged, by the commands of the page.
// A kernel that starts notices it, and so does one that runs and has only seen what another one did. Both are blocked
// until they are recovered, and what was used since the backup stays used.
func TestARestoredBaseBackup(t *testing.T) {
	server, o := pgtest.NewOwn(t, "k")
	m := openMarked(t, o)
	for _, step := range []kernel.Batch{approved("used"), approved("unused"), mint("l", 3)} {
		m.must(step)
	}
	o.Kernel = "other"
	other := openMarked(t, o)
	other.must(batch("first"))
	server.Shell(blockOf(t, "pg_basebackup"))
	m.must(use("used"))
	m.must(claim("l", "claimed"))
	other.looks()
	m.close()
	server.Shell(blockOf(t, "pg_ctl stop"))
	m = m.again()
	m.wantRollback(`the log of kernel "k" holds 3 events, and held 5: events 4 to 5 are gone`)
	other.wantRollback(`which event 5 of kernel "k" records: a server took over that lacks it, or the database was restored`)
	m.recovers("recovered")
	m.wantTakenBack("used", "unused", "l")
	other.wantRollback("or the database was restored")
	other.recovers("recovered")
	for _, k := range []*markedKernel{m, other} {
		k.must(batch("on"))
		storetest.CheckLog(t, k.Store)
	}
}
