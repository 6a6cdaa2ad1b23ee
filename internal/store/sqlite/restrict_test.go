package sqlite_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/ncruces/go-sqlite3"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/internal/store/sqlite/sqlitetest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// unstamp makes of a database one as belay wrote them before events recorded what
// restricts, with a tree over its events.
func unstamp(t *testing.T, path string) {
	t.Helper()
	must(t, sqlitetest.Unpack(t.Context(), path))
	c := raw(t, path)
	defer c.Close()
	must(t, c.Exec(
		"UPDATE restrictions SET since=0, tables=x''; UPDATE events SET body = CAST(json_remove(CAST(body AS TEXT), '$.restrictions') AS BLOB)"))
	retree(t, c)
}

// retree makes the tree fit the events.
func retree(t *testing.T, c *sqlite3.Conn) {
	t.Helper()
	var bodies [][]byte
	st, _, err := c.Prepare("SELECT body FROM events ORDER BY seq")
	must(t, err)
	for st.Step() {
		bodies = append(bodies, st.ColumnBlob(0, nil))
	}
	must(t, errors.Join(st.Err(), st.Close(), c.Exec("DELETE FROM tiles")))
	var hashes []tlog.Hash
	for i, b := range bodies {
		more, err := tlog.StoredHashes(int64(i), b, tlog.HashReaderFunc(func(indexes []int64) (out []tlog.Hash, err error) {
			for _, x := range indexes {
				out = append(out, hashes[x])
			}
			return out, nil
		}))
		must(t, err)
		hashes = append(hashes, more...)
	}
	for n := 0; n < len(hashes); n += 32 {
		hex := ""
		for _, h := range hashes[n:min(len(hashes), n+32)] {
			hex += fmt.Sprintf("%x", h[:])
		}
		must(t, c.Exec(fmt.Sprintf("INSERT INTO tiles VALUES (%d, x'%s')", n/32, hex)))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// raw opens the database as another program does.
func raw(t *testing.T, path string) *sqlite3.Conn {
	t.Helper()
	c, err := sqlite3.Open("file:" + path)
	must(t, err)
	must(t, c.BusyTimeout(5*time.Second))
	return c
}

var (
	heldSession = wire.Session{Runtime: "r", Session: "s-1"}
	someRun     = phases.RunKey{Runtime: "r", Session: "s-1", Run: "1"}
)

// restricted fills a store with rows of every kind.
func restricted(t *testing.T, s *sqlite.Store) {
	t.Helper()
	n := 0
	commit := func(b kernel.Batch) {
		t.Helper()
		n++
		b.Now = storetest.T0.Add(time.Duration(n) * 2 * time.Second)
		b.Events = batch(fmt.Sprint("row-", n)).Events
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for _, session := range []string{"s-1", "s-2", ""} {
		runtime := map[string]string{"": "whole"}[session]
		if runtime == "" {
			runtime = "r"
		}
		commit(kernel.Batch{Latch: &kernel.Latch{Runtime: runtime, Session: session,
			Reason: "too late", Kind: phases.KindPolicy, Since: storetest.T0}})
	}
	bag := phases.Metadata{"class": {Value: jsontext.Value(`"secret"`), Hook: "h"}}
	commit(kernel.Batch{Run: &kernel.RunWrite{Key: someRun, Metadata: bag, Retries: map[string]int{"h": 1}}})
	commit(kernel.Batch{StateWrites: []kernel.StateWrite{{Namespace: "budget", Key: "today", Value: []byte("99")},
		{Namespace: "budget", Key: "month", Value: []byte("7")}}})
	commit(kernel.Batch{Leases: []leases.Op{storetest.Mint("single", 3)}})
	commit(kernel.Batch{Leases: []leases.Op{storetest.Claim("single")}})
	for i, state := range []approvals.State{approvals.Denied, approvals.Approved, approvals.Pending} {
		id := fmt.Sprint("item-", i)
		it := approvals.Item{ID: id, Kind: approvals.KindAsk, Key: "sha256:" + id, State: approvals.Pending,
			By:      approvals.Requester{Credential: "uid 1", Runtime: "r", Session: "s-1"},
			Created: storetest.T0, Expires: storetest.T0.Add(time.Hour), Action: jsontext.Value(`{"tool":"exec"}`)}
		commit(kernel.Batch{Approvals: []approvals.Op{{Create: &it, Quota: 9}}})
		if state != approvals.Pending {
			commit(kernel.Batch{Approvals: []approvals.Op{{Change: &approvals.Change{ID: id, From: approvals.Pending,
				To: state, At: storetest.Wall(storetest.T0),
				Decision: &approvals.Decision{Verdict: approvals.Verdict(state), By: "anna", At: storetest.T0,
					Until: storetest.T0.Add(time.Hour)}}}}})
		}
	}
	commit(kernel.Batch{Compact: 2})
}

// reads are the ways in which decisions see the rows of a table.
func reads(s *sqlite.Store) map[string]func(*testing.T) error {
	return map[string]func(*testing.T) error{
		"latches": func(t *testing.T) error {
			_, err := s.Latch(t.Context(), heldSession)
			return err
		},
		"approvals": func(t *testing.T) error {
			_, err := s.Approval(t.Context(), "item-0")
			_, err2 := s.ApprovalByKey(t.Context(), approvals.KindAsk, "sha256:item-0")
			if (err == nil) != (err2 == nil) {
				return nil // the two must agree
			}
			return errors.Join(err, err2)
		},
		"leases": func(t *testing.T) error {
			_, err := s.Lease(t.Context(), "single")
			return err
		},
		"lease_clock": func(t *testing.T) error {
			_, err := s.LeaseClock(t.Context())
			return err
		},
		"runs": func(t *testing.T) error {
			_, err := s.RunState(t.Context(), someRun, storetest.T0)
			return err
		},
		"state": func(t *testing.T) error {
			_, err := s.HookState(t.Context(), "budget", "today")
			return err
		},
	}
}

// first selects the row of each table that reads look at.
var first = map[string]string{
	"latches": "runtime='r' AND session='s-1'", "approvals": "id='item-0'", "leases": "id='single'", "lease_clock": "1",
	"runs":  "1",
	"state": "key='today'", "state_version": "1", "compaction": "1",
}

// uncovered are the tables that restrict nothing by themselves.
var uncovered = map[string]string{
	"events": "the log itself: its tree covers it", "tiles": "the tree: checkpoints cover it",
	"high_water":   "the id that the mark outside of the database is compared with",
	"checkpoints":  "signed; evidence for verify, nothing is decided on them",
	"restrictions": "names what differs; compared with the newest event",
	"lookup":       "finds events for queries; compared with them by verify", "lookup_blocks": "likewise",
	"forwarding": "what waits for another store: while it does nothing is written, and the digest in the events there decides",
}

func tablesOf(t *testing.T, c *sqlite3.Conn) (out []string) {
	t.Helper()
	st, _, err := c.Prepare("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")
	must(t, err)
	for st.Step() {
		out = append(out, st.ColumnText(0))
	}
	must(t, errors.Join(st.Err(), st.Close()))
	return out
}

type column struct{ name, kind string }

func columnsOf(t *testing.T, c *sqlite3.Conn, table string) (out []column) {
	t.Helper()
	st, _, err := c.Prepare("SELECT name, type FROM pragma_table_info('" + table + "')")
	must(t, err)
	for st.Step() {
		out = append(out, column{st.ColumnText(0), st.ColumnText(1)})
	}
	must(t, errors.Join(st.Err(), st.Close()))
	return out
}

// edits returns statements that change a table: every column of a row, and whole rows.
func edits(t *testing.T, c *sqlite3.Conn, table string) map[string]string {
	t.Helper()
	out := map[string]string{
		"DELETE a row": "DELETE FROM " + table + " WHERE " + first[table],
		"DELETE all":   "DELETE FROM " + table,
	}
	cols := columnsOf(t, c, table)
	for _, col := range cols {
		value := map[string]string{"INTEGER": col.name + "+1", "TEXT": col.name + "||'x'",
			"BLOB": "CAST(" + col.name + "||' ' AS BLOB)"}[col.kind]
		if value == "" {
			t.Fatalf("%s.%s is %s: say how to change it", table, col.name, col.kind)
		}
		out["UPDATE "+col.name] = "UPDATE " + table + " SET " + col.name + "=" + value + " WHERE " + first[table]
	}
	// A copy of the row under another key: what a forger would add.
	values := []string{}
	for i, col := range cols {
		switch {
		case i == 0 && col.kind == "TEXT" || col.name == "token":
			values = append(values, "CAST('forged' AS "+col.kind+")")
		default:
			values = append(values, col.name)
		}
	}
	out["INSERT a row"] = "INSERT INTO " + table + " SELECT " + strings.Join(values, ", ") + " FROM " + table + " WHERE " +
		first[table]
	return out
}

// wantTampered fails unless the error says that the rows of the table were changed.
func wantTampered(t *testing.T, err error, table string) {
	t.Helper()
	var tampered *kernel.Tampered
	if !errors.As(err, &tampered) || !errors.Is(err, kernel.ErrTampered) || !errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("%v, want ErrTampered and ErrUnavailable", err)
	}
	if !slices.ContainsFunc(tampered.Tables, func(s string) bool { return strings.HasPrefix(s, table) }) ||
		!strings.Contains(tampered.Text(), table) {
		t.Errorf("%q does not name %s", err, table)
	}
}

// Whatever is done by SQL to whichever column of a row that restricts: a process that is running
// refuses, and so does one that starts, both name the table, and when the rows are as they were, both go on.
func TestEveryRowIsCovered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	running := open(t, path, sqlite.Options{})
	restricted(t, running)
	c := raw(t, path)
	defer c.Close()
	seen := 0
	for _, table := range tablesOf(t, c) {
		if uncovered[table] != "" {
			continue
		}
		if first[table] == "" {
			t.Errorf("the table %s is new: does it restrict? Add it to internal/restrict and docs/EVENTS.md, or say here why not", table)
			continue
		}
		seen++
		must(t, c.Exec("DROP TABLE IF EXISTS temp.before; CREATE TEMP TABLE before AS SELECT * FROM "+table))
		for what, sql := range edits(t, c, table) {
			t.Run(table+": "+what, func(t *testing.T) {
				n := 0
				works := func() {
					t.Helper()
					n++
					_, err := running.Commit(t.Context(), batch(fmt.Sprint(table, what, n)))
					if err = errors.Join(err, running.Probe(t.Context(), storetest.T0)); err != nil {
						t.Fatalf("untouched: %v", err)
					}
				}
				works()
				must(t, c.Exec(sql))
				starting := open(t, path, sqlite.Options{})
				for name, s := range map[string]*sqlite.Store{"running": running, "starting": starting} {
					if read := reads(s)[table]; read != nil && (what != "INSERT a row" || table == "lease_clock") {
						if err := read(t); err == nil {
							t.Errorf("%s: a read believes the row", name)
						} else {
							wantTampered(t, err, table)
						}
					}
					_, err := s.Commit(t.Context(), batch("never"))
					wantTampered(t, err, table)
					wantTampered(t, s.Probe(t.Context(), storetest.T0), table)
				}
				r, err := starting.Restrictions(t.Context())
				if err != nil || r.Tampered == nil {
					t.Fatalf("Restrictions: %+v, %v", r, err)
				}
				wantTampered(t, r.Tampered, table)
				r, err = running.Restrictions(t.Context())
				if err != nil || r.Tampered == nil || len(r.Tampered.Rows) == 0 {
					t.Fatalf("a running process does not name rows: %+v, %v", r, err)
				}
				must(t, c.Exec("DELETE FROM "+table+"; INSERT INTO "+table+" SELECT * FROM temp.before"))
				works()
				for _, s := range []*sqlite.Store{running, starting} {
					if read := reads(s)[table]; read != nil {
						must(t, read(t))
					}
				}
				must(t, starting.Close())
			})
		}
	}
	if seen != len(first) {
		t.Errorf("%d tables were tried, want %d", seen, len(first))
	}
}

// An older row, or two rows that change places, were right once: they are not believed either.
func TestOlderRowsAreNotBelieved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	restricted(t, s)
	c := raw(t, path)
	defer c.Close()
	must(t, c.Exec(
		"CREATE TEMP TABLE old_state AS SELECT * FROM state; CREATE TEMP TABLE old_leases AS SELECT * FROM leases; "+
			"CREATE TEMP TABLE old_approvals AS SELECT * FROM approvals; CREATE TEMP TABLE old_runs AS SELECT * FROM runs"))
	b := batch("more")
	b.Now = storetest.T0.Add(time.Hour / 2)
	b.StateWrites = []kernel.StateWrite{{Namespace: "budget", Key: "today", Value: []byte("100")}}
	b.Leases = []leases.Op{storetest.Claim("single")}
	b.Approvals = []approvals.Op{{Change: &approvals.Change{ID: "item-1", From: approvals.Approved,
		To: approvals.Consumed, At: storetest.Wall(storetest.T0)}}}
	b.TouchRun = &someRun
	if _, err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for table, sql := range map[string]string{
		"state":     "UPDATE state SET (version, value) = (SELECT version, value FROM temp.old_state o WHERE o.key=state.key) WHERE key='today'",
		"leases":    "REPLACE INTO leases SELECT * FROM temp.old_leases",
		"approvals": "REPLACE INTO approvals SELECT * FROM temp.old_approvals WHERE id='item-1'",
		"runs":      "REPLACE INTO runs SELECT * FROM temp.old_runs",
		"latches":   "UPDATE latches SET body=(SELECT body FROM latches l WHERE l.session='s-2') WHERE session='s-1'",
	} {
		t.Run(table, func(t *testing.T) {
			must(t, c.Exec("BEGIN; CREATE TEMP TABLE now AS SELECT * FROM "+table+"; "+sql+"; COMMIT"))
			for _, s := range []*sqlite.Store{s, open(t, path, sqlite.Options{})} {
				if table != "approvals" { // which reads item-0
					wantTampered(t, reads(s)[table](t), table)
				}
				_, err := s.Commit(t.Context(), batch("never"))
				wantTampered(t, err, table)
			}
			must(t, c.Exec("DELETE FROM "+table+"; INSERT INTO "+table+" SELECT * FROM temp.now; DROP TABLE temp.now"))
			if _, err := s.Commit(t.Context(), batch("after "+table)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A denial that is deleted does not give way to an older approval of the same question.
func TestNewestAnswerIsCovered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	restricted(t, s)
	c := raw(t, path)
	defer c.Close()
	// The newer item goes, and comes back before anything is written: only the read can tell.
	must(t, c.Exec("CREATE TEMP TABLE before AS SELECT * FROM approvals; DELETE FROM approvals WHERE id='item-0'"))
	_, err := s.ApprovalByKey(t.Context(), approvals.KindAsk, "sha256:item-0")
	wantTampered(t, err, "approvals")
}

// A trigger, a view, an index or a column can undo writes: the store refuses every commit
// unless the schema is that of the migrations.
func TestSchemaIsCompared(t *testing.T) {
	for _, sql := range []string{
		"CREATE TRIGGER forget AFTER INSERT ON latches BEGIN DELETE FROM latches; END",
		"CREATE UNIQUE INDEX one ON latches (session)",
		"ALTER TABLE latches ADD COLUMN x INTEGER",
		"CREATE VIEW v AS SELECT 1",
	} {
		path := filepath.Join(t.TempDir(), "belay.db")
		running := open(t, path, sqlite.Options{})
		restricted(t, running)
		change(t, path, sql)
		for name, s := range map[string]*sqlite.Store{"running": running, "starting": open(t, path, sqlite.Options{})} {
			_, err := s.Commit(t.Context(), batch("never"))
			if !errors.Is(err, kernel.ErrTampered) || !strings.Contains(err.Error(), "sqlite_schema") {
				t.Errorf("%s, after %s: %v", name, sql, err)
			}
		}
	}
}

// An edit that two processes share is seen by both, and what one of them writes is
// believed by the other.
func TestProcessesBelieveEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	one, two := open(t, path, sqlite.Options{}), open(t, path, sqlite.Options{})
	restricted(t, one)
	for i := range 6 {
		s := []*sqlite.Store{one, two}[i%2]
		k := wire.Session{Runtime: "r", Session: fmt.Sprint("new-", i)}
		b := batch(fmt.Sprint("latch-", i))
		b.Latch = &kernel.Latch{Runtime: k.Runtime, Session: k.Session, Reason: "x", Since: storetest.T0}
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*sqlite.Store{one, two} {
			if l, err := s.Latch(t.Context(), k); err != nil || l == nil {
				t.Fatalf("latch %d: %v, %v", i, l, err)
			}
		}
	}
	change(t, path, "DELETE FROM latches WHERE session='new-3'")
	for _, s := range []*sqlite.Store{one, two} {
		_, err := s.Latch(t.Context(), wire.Session{Runtime: "r", Session: "new-3"})
		wantTampered(t, err, "latches")
		_, err = s.Commit(t.Context(), batch("never"))
		wantTampered(t, err, "latches")
	}
}

// What the newest event records cannot be changed in its place: it is a leaf.
func TestStampIsInTheTree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	restricted(t, s)
	r, err := s.Restrictions(t.Context())
	must(t, err)
	must(t, s.Close())
	for _, sql := range []string{
		"UPDATE events SET body = CAST(replace(CAST(body AS TEXT), '" + r.Recorded[8:20] + "', '000000000000') AS BLOB)",
		"UPDATE events SET body = CAST(json_remove(CAST(body AS TEXT), '$.restrictions') AS BLOB)",
		"UPDATE events SET body = CAST(json_remove(CAST(body AS TEXT), '$.restrictions') AS BLOB); UPDATE restrictions SET since=0",
		"DELETE FROM events WHERE seq=(SELECT max(seq) FROM events)",
	} {
		copied := filepath.Join(t.TempDir(), "belay.db")
		b, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(copied, b, 0o600))
		change(t, copied, sql)
		s := open(t, copied, sqlite.Options{})
		_, err = s.Commit(t.Context(), batch("never"))
		wantTampered(t, err, "events")
		_, err = s.Latch(t.Context(), heldSession)
		wantTampered(t, err, "events")
	}
	// With a tree that was made to fit, the store still knows that it has recorded before.
	must(t, sqlitetest.Unpack(t.Context(), path))
	c := raw(t, path)
	must(t, c.Exec("UPDATE events SET body = CAST(json_remove(CAST(body AS TEXT), '$.restrictions') AS BLOB)"))
	retree(t, c)
	must(t, c.Close())
	_, err = open(t, path, sqlite.Options{}).Commit(t.Context(), batch("never"))
	wantTampered(t, err, "events")
}

// unzipped returns the path of a copy of a database.
func unzipped(t *testing.T, name string) string {
	t.Helper()
	zipped, err := os.Open(name)
	must(t, err)
	defer zipped.Close()
	z, err := gzip.NewReader(zipped)
	must(t, err)
	plain, err := io.ReadAll(z)
	must(t, err)
	path := filepath.Join(t.TempDir(), "belay.db")
	must(t, os.WriteFile(path, plain, 0o600))
	return path
}

// A database of the version before is adopted by the first event that is written to it, and loses nothing.
func TestAdoption(t *testing.T) {
	path := unzipped(t, "testdata/schema6.db.gz")
	s := open(t, path, sqlite.Options{})
	look := func(recorded bool) {
		t.Helper()
		if l, err := s.Latch(t.Context(), wire.Session{Runtime: "claude-code", Session: "s-1"}); err != nil ||
			l == nil || l.Reason != "too late to block" {
			t.Errorf("the latch: %+v, %v", l, err)
		}
		if v, err := s.HookState(t.Context(), "n", "k"); err != nil || string(v.Value) != "7" {
			t.Errorf("the value: %+v, %v", v, err)
		}
		if l, err := s.Lease(t.Context(), "a"); err != nil || l == nil || l.Uses != 1 {
			t.Errorf("the lease: %+v, %v", l, err)
		}
		if it, err := s.Approval(t.Context(), "1"); err != nil || it == nil || it.State != approvals.Denied {
			t.Errorf("the denial: %+v, %v", it, err)
		}
		if r, err := s.RunState(t.Context(), phases.RunKey{Runtime: "claude-code", Session: "s-1", Run: "1"},
			storetest.T0); err != nil || len(r.Metadata) != 1 || r.Retries["h"] != 1 {
			t.Errorf("the run: %+v, %v", r, err)
		}
		r, err := s.Restrictions(t.Context())
		if err != nil || r.Tampered != nil || (r.Recorded != "") != recorded || recorded &&
			(r.Recorded != r.Found || r.Since != 9) {
			t.Errorf("Restrictions: %+v, %v", r, err)
		}
		if n := storetest.CheckLog(t, s); n != 8 && !recorded {
			t.Errorf("%d events", n)
		}
	}
	look(false)
	if _, err := s.Commit(t.Context(), batch("first")); err != nil {
		t.Fatal(err)
	}
	look(true)
	must(t, s.Close())
	s = open(t, path, sqlite.Options{})
	look(true)
	change(t, path, "DELETE FROM latches")
	_, err := s.Latch(t.Context(), wire.Session{Runtime: "claude-code", Session: "s-1"})
	wantTampered(t, err, "latches")
}
