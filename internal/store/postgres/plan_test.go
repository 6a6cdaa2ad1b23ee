package postgres

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// plans explains statements in a schema of its own whose tables look large.
type plans struct {
	*testing.T
	conn *pgx.Conn
}

// grown are the tables that grow with use, or with time.
func grown() []string {
	return []string{"events", "tiles", "checkpoints", "lookup", "lookup_blocks", "changes", "once", "latches", "approvals",
		"leases", "runs", "state"}
}

func newPlans(t *testing.T) *plans {
	dsn := os.Getenv("BELAY_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("it needs a database: run `make test-postgres`")
	}
	o := Options{DSN: dsn, Kernel: "plans", Schema: fmt.Sprint("plans", os.Getpid()), TLS: Off, AnyRole: true}
	if _, err := Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, config, err := o.resolve()
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := c.Exec(ctx, "DROP SCHEMA "+o.Schema+" CASCADE"); err != nil {
			t.Error(err)
		}
		_ = c.Close(ctx)
	})
	// For a table of one page the planner reads the whole table in answer to every query. This test asks
	// whether there is a way by an index.
	if _, err := c.Exec(t.Context(), "SET enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	return &plans{T: t, conn: c}
}

// explain returns the plan of a statement.
func (p *plans) explain(name, sql string, args []any) string {
	p.Helper()
	rows, err := p.conn.Query(p.Context(), "EXPLAIN (COSTS off) "+sql, args...)
	if err != nil {
		p.Fatalf("%s: %v", name, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(lines) == 0 {
		p.Fatalf("%s: %v\n%s", name, err, sql)
	}
	return strings.Join(lines, "\n")
}

// scans returns the tables that a plan reads from the first row to the last.
func scans(plan string) (out []string) {
	for line := range strings.Lines(plan) {
		_, table, ok := strings.Cut(line, "Seq Scan on ")
		if !ok {
			continue
		}
		table, _, _ = strings.Cut(strings.TrimSpace(table), " ")
		for _, g := range grown() {
			if table == g || strings.HasPrefix(table, g+"_") {
				out = append(out, table)
			}
		}
	}
	return out
}

// filters reports whether a plan reads more events of a kernel than those that it asks for.
func filters(plan string) bool {
	for line := range strings.Lines(plan) {
		if strings.Contains(line, "Filter: ") && (strings.Contains(line, "(seq ") || strings.Contains(line, "(id = ")) {
			return true
		}
	}
	return false
}

// No statement that the store runs, but for those that compare all that restricts, reads a table that grows from the
// first row to the last, however large it is.
func TestEveryStatementFindsItsRowsByAnIndex(t *testing.T) {
	p := newPlans(t)
	b, bs, ns := []byte("x"), [][]byte{[]byte("x"), []byte("y")}, int64(1)
	for name, s := range map[string]struct {
		sql  string
		args []any
	}{
		"latches":                 {latchesByKey, []any{bs, bs}},
		"runs":                    {runsByKey, []any{bs, bs, bs}},
		"values":                  {valuesByKey, []any{bs, bs}},
		"approvals":               {approvalsByID, []any{bs}},
		"approvals by question":   {approvalsByKey, []any{bs, bs}},
		"what waits, by owner":    {pendingByOwner, []any{bs, bs}},
		"what gave way":           {supersededByOwner, []any{bs, bs, bs}},
		"siblings":                {siblingsOfSuperseded, []any{bs, bs, bs}},
		"approvals that go":       {approvalsToGo, []any{ns}},
		"siblings of those":       {siblingsToGo, []any{ns}},
		"leases":                  {leasesByID, []any{bs}},
		"leases by token":         {leasesByToken, []any{bs}},
		"leases below":            {leasesBelow, []any{bs, bs}},
		"leases of a credential":  {leasesOfCredential, []any{bs}},
		"approvals in force":      {approvalsInForce, nil},
		"events by id":            {eventsByID, []any{int32(1), bs}},
		"leases that go":          {leasesToGo, []any{ns}},
		"runs that go":            {runsToGo, []any{ns}},
		"insert a latch":          {insertLatch, []any{b, b, ns, b}},
		"update a latch":          {updateLatch, []any{b, b, ns, b, b}},
		"delete a latch":          {deleteLatch, []any{b, b, b}},
		"insert a run":            {insertRun, []any{b, b, b, ns, ns, b, b}},
		"update a run":            {updateRun, []any{b, b, b, ns, ns, b, b, ns, ns}},
		"delete a run":            {deleteRun, []any{b, b, b, ns, ns}},
		"insert a value":          {insertValue, []any{b, b, ns, b}},
		"update a value":          {updateValue, []any{b, b, ns, b, ns}},
		"delete a value":          {deleteValue, []any{b, b, ns}},
		"insert an approval":      {insertApproval, []any{b, b, b, "x", b, b, b, b, ns, b}},
		"update an approval":      {updateApproval, []any{b, "x", ns, b, "y", ns}},
		"delete an approval":      {deleteApproval, []any{b, "x", ns}},
		"insert a lease":          {insertLease, []any{b, b, ns, b, b, b, b, "x", ns, ns, ns, ns, b, ns, ns, b, b}},
		"update a lease":          {updateLease, []any{b, "x", ns, ns, b, ns, ns, "y", ns, ns}},
		"delete a lease":          {deleteLease, []any{b, "x", ns}},
		"the event that vouches":  {vouching, []any{1, ns, ns}},
		"changes":                 {changesAfter, []any{ns}},
		"runs of a session":       {runsOfSession, []any{b, b, b, b, ns, 10}},
		"usage":                   {usageOfNamespace, []any{b}},
		"a lease and those above": {fmt.Sprintf(leasesAbove, "l.id = $1"), []any{b}},
		"a token's lease":         {fmt.Sprintf(leasesAbove, "l.token = $1"), []any{b}},
		"leases of a holder":      {fmt.Sprintf(leasesAbove, leasesOfHolder), []any{b, b, b, bs}},
		"what waits of an owner":  {pendingOfOwner, []any{b, b}},
		"what waits":              {pendingOfAll, nil},
		"an event":                {eventByID, []any{1, b}},
		"the last block":          {lastBlock, []any{1}},
		"events":                  {eventsUp, []any{1, ns, ns, 10}},
		"the newest events":       {eventsDown, []any{1, ns, ns, 10}},
		"events of a block":       {eventsOfUp, []any{1, []int64{1, 2}}},
		"the newest of a block":   {eventsOfDown, []any{1, []int64{1, 2}}},
		"leaves":                  {leavesOfKernel, []any{1, ns, 10}},
		"checkpoints":             {notesOfKernel, []any{1}},
		"hashes":                  {tilesByNumber, []any{1, []int64{1}}},
		"the next block":          {nextBlock, []any{1, lookup.BlockEvents}},
		"events for a block":      {eventsBetween, []any{1, ns, ns}},
		"the times of a block":    {blockTimes, []any{1, ns}},
		"the terms of a block":    {blockTerms, []any{1, ns}},
	} {
		plan := p.explain(name, s.sql, s.args)
		if found := scans(plan); len(found) > 0 {
			t.Errorf("%s: reads all of %v\n%s", name, found, plan)
		}
		if strings.Contains(plan, " on events") && filters(plan) {
			t.Errorf("%s: reads events to look at their numbers or ids\n%s", name, plan)
		}
	}
}

// Each query that `belay events query`, `belay lease list` and `belay approvals list` can make is answered
// by indexes.
func TestEveryQueryIsAnsweredByAnIndex(t *testing.T) {
	p := newPlans(t)
	now := time.Unix(1<<30, 0)
	for name, q := range map[string]wire.Query{
		"a session": {Session: "s"}, "an invocation": {Invocation: "i"}, "a tool": {Tool: "exec"}, "an agent": {Agent: "a"},
		"a binding": {Binding: "b"}, "a kind": {Kind: phases.KindPolicy}, "a phase": {Phase: phases.PreTool},
		"a type":         {Type: "notice"},
		"all but a type": {Except: "hook"}, "a time": {Since: now, Until: now.Add(time.Hour)},
		"several": {Session: "s", Decision: "block", Type: "verdict", Since: now, After: 7, Before: 9, Except: "hook"},
	} {
		for _, q.Newest = range []bool{false, true} {
			sql, args := blockSQL(&q, 1, 0, 9)
			plan := p.explain(name, sql, args)
			if found := scans(plan); len(found) > 0 || !lookup.Asks(&q) {
				t.Errorf("%s: reads all of %v\n%s", name, found, plan)
			}
		}
	}
	for name, q := range map[string]leases.Query{"all": {}, "a prefix": {Prefix: "a"}, "active": {State: leases.Active},
		"expired": {State: leases.Expired, After: "x"}, "a holder": {Holder: leases.Holder{Session: "s", Agent: "a"}}} {
		sql, args := leasesSQL(&q)
		if found := scans(p.explain(name, sql, args)); len(found) > 0 {
			t.Errorf("leases, %s: reads all of %v", name, found)
		}
	}
	for name, q := range map[string]approvals.Query{"all": {}, "pending": {State: approvals.Pending},
		"of one": {Owner: "c"},
		"by":     {By: &approvals.Requester{Credential: "c"}, Kind: approvals.KindAsk},
		"due":    {DueAt: leases.Instant{Wall: now}},
		"before": {Before: "x"}} {
		sql, args := approvalsSQL(&q)
		if found := scans(p.explain(name, sql, args)); len(found) > 0 {
			t.Errorf("approvals, %s: reads all of %v", name, found)
		}
	}
	if found := scans(p.explain("no index", "SELECT FROM runs WHERE version = 1", nil)); len(found) != 1 {
		t.Errorf("a statement without an index is not noticed: %v", found)
	}
}
