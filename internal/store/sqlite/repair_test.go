package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// adviceOf is what the log of an untouched store would say of its rows.
func adviceOf(t *testing.T, s *sqlite.Store) func() (marked.Advice, error) {
	t.Helper()
	var out marked.Advice
	var err error
	out.Latches, err = s.Latches(t.Context())
	must(t, err)
	out.Compacted, err = s.LogCompacted(t.Context())
	must(t, err)
	out.Newest = storetest.T0.Add(time.Hour)
	items, err := s.Approvals(t.Context(), approvals.Query{Limit: 100})
	must(t, err)
	for i := range items {
		if items[i].State == approvals.Denied {
			out.Denied = append(out.Denied, items[i].ID)
		}
	}
	out.Sound = func(it *approvals.Item) (bool, error) {
		return slices.ContainsFunc(items, func(had approvals.Item) bool { return reflect.DeepEqual(had, *it) }), nil
	}
	return func() (marked.Advice, error) { return out, nil }
}

// recovers agrees to a recovery as it is planned, and returns the Stand of the plan.
func recovers(t *testing.T, s *sqlite.Store, advise func() (marked.Advice, error), id string) marked.Stand {
	t.Helper()
	stand, err := recovery(t, s, advise, phases.Event{ID: id, Type: phases.EventRecovery, Time: storetest.T0})
	must(t, err)
	return stand
}

func recovery(t *testing.T, s *sqlite.Store, advise func() (marked.Advice, error),
	e phases.Event) (stand marked.Stand, err error) {
	t.Helper()
	err = s.Recover(t.Context(), advise, func(now marked.Stand) (marked.Decision, error) {
		stand = now
		d := marked.Decision{Event: e,
			Mark: &highwater.State{Store: now.Store, Epoch: 1, Head: now.Database, Uses: map[string]highwater.Use{}}}
		if now.Mark != nil {
			d.Mark.Store, d.Mark.Epoch, d.Mark.Uses, d.Mark.Recovery = now.Mark.Store, now.Mark.Epoch+1, now.Mark.Uses,
				now.Mark.Recovery
		}
		return d, nil
	})
	return stand, err
}

func tablesNode(t *testing.T, s *sqlite.Store) (*kernel.Restrictions, map[string]string) {
	t.Helper()
	r, err := s.Restrictions(t.Context())
	must(t, err)
	out := map[string]string{}
	for i, table := range restrict.Tables() {
		out[table.String()] = string(r.Tables[i*32 : i*32+32])
	}
	return &r, out
}

// After SQL has changed any column of a row that restricts, a recovery takes the database
// back into use, restricts no less than before, and leaves the other tables alone.
func TestRecoverRowsOfEveryTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	running := open(t, path, sqlite.Options{})
	restricted(t, running)
	advise := adviceOf(t, running)
	latches, err := running.Latches(t.Context())
	must(t, err)
	before, was := tablesNode(t, running)
	c := raw(t, path)
	defer c.Close()
	saved := map[string]bool{}
	for _, table := range tablesOf(t, c) {
		saved[table] = true
		must(t, c.Exec("CREATE TEMP TABLE old_"+table+" AS SELECT * FROM "+table))
	}
	n := 0
	for table := range first {
		for what, sql := range edits(t, c, table) {
			t.Run(table+": "+what, func(t *testing.T) {
				n++
				id := fmt.Sprint("recovery-", n)
				must(t, c.Exec(sql))
				starting := open(t, path, sqlite.Options{})
				_, err := starting.Commit(t.Context(), batch("never"))
				wantTampered(t, err, table)
				found, _ := tablesNode(t, starting)
				stand := recovers(t, starting, advise, id)
				if stand.Wrong != nil || stand.Repair == nil || stand.Repair.Recorded != before.Recorded ||
					stand.Repair.Found != found.Found || stand.Repair.Recorded == stand.Repair.Found {
					t.Fatalf("%+v", stand.Repair)
				}
				if !strings.Contains(strings.Join(stand.Repair.Tables, ","), table) {
					t.Errorf("tables: %q", stand.Repair.Tables)
				}
				named := len(stand.Repair.Rebuilt) + len(stand.Repair.Revoked) + len(stand.Repair.Accepted)
				if named == 0 {
					t.Error("nothing is said of what becomes of the rows")
				}
				r, now := tablesNode(t, running)
				if r.Tampered != nil || r.Found != r.Recorded {
					t.Fatalf("still tampered: %+v", r.Tampered)
				}
				for name := range was {
					if touched := slices.Contains(stand.Repair.Tables, name) || strings.HasPrefix(name, "approvals") &&
						table == "approvals" ||
						strings.HasPrefix(name, "state") && strings.HasPrefix(table, "state"); !touched && now[name] != was[name] {
						t.Errorf("%s was changed, which was as recorded", name)
					}
				}
				held, err := running.Latches(t.Context())
				if err != nil || !reflect.DeepEqual(held, latches) {
					t.Errorf("latches: %+v, %v", held, err)
				}
				if table == "approvals" {
					for _, state := range []approvals.State{approvals.Pending, approvals.Approved} {
						if open, err := running.Approvals(t.Context(), approvals.Query{State: state, Limit: 9}); err != nil ||
							len(open) > 0 {
							t.Errorf("%s: %+v, %v", state, open, err)
						}
					}
				}
				if table == "leases" {
					if l, err := running.Lease(t.Context(), "single"); err != nil || l != nil && l.State == leases.Active {
						t.Errorf("a lease lives on: %+v, %v", l, err)
					}
				}
				if table == "state" || table == "state_version" {
					_, err := running.Commit(t.Context(),
						kernel.Batch{Now: storetest.T0, Events: batch("stale-" + id).Events,
							StateReads: []kernel.StateRead{{Namespace: "budget", Key: "today", Version: 1}}})
					if table == "state" && !errors.Is(err, kernel.ErrConflict) {
						t.Errorf("a version of before counts: %v", err)
					}
				}
				es, err := running.Events(t.Context(), wire.Query{Type: phases.EventRecovery, After: before.Seq, Limit: 9})
				if err != nil || len(es) != 1 || es[0].Seq != before.Seq+1 || es[0].Restrictions == "" {
					t.Fatalf("the recovery is recorded as %+v, %v", es, err)
				}
				for _, s := range []*sqlite.Store{running, starting} {
					_, err := s.Commit(t.Context(), batch(fmt.Sprint(id, s == running)))
					must(t, errors.Join(err, s.Probe(t.Context(), storetest.T0)))
				}
				must(t, starting.Close())
				restoreTables(t, c, saved)
			})
		}
	}
}

// restoreTables puts back the saved contents of every table, the log included.
func restoreTables(t *testing.T, c *sqlite3.Conn, saved map[string]bool) {
	t.Helper()
	must(t, c.Exec("BEGIN IMMEDIATE"))
	for table := range saved {
		must(t, c.Exec("DELETE FROM "+table+"; INSERT INTO "+table+" SELECT * FROM temp.old_"+table))
	}
	must(t, c.Exec("COMMIT"))
}

// What cannot be told apart is repaired as a whole: where the digests of the tables, the newest event or the
// schema was changed as well.
func TestRecoverWhereTheTableIsNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		sql, table string
		recorded   bool
	}{
		"the digests of the tables": {"DELETE FROM latches; UPDATE restrictions SET tables=x'00'", "latches", true},
		"their row":                 {"DELETE FROM latches; DELETE FROM restrictions", "latches", true},
		"two rows": {"DELETE FROM latches; INSERT INTO restrictions SELECT * FROM restrictions",
			"latches", true},
		"the newest event": {"DELETE FROM latches; UPDATE events SET body=CAST('{}' AS BLOB) WHERE seq=(SELECT max(seq) FROM events)", "latches", false},
		"the newest event is gone": {"DELETE FROM latches; DELETE FROM events WHERE seq=(SELECT max(seq) FROM events)",
			"latches", false},
		"a trigger": {"CREATE TRIGGER gone AFTER INSERT ON latches BEGIN DELETE FROM latches; END",
			"sqlite_schema", true},
		"an index":                     {"CREATE INDEX one ON approvals (kind)", "sqlite_schema", true},
		"a table dropped: latches":     {"DROP TABLE latches", "latches", true},
		"a table dropped: leases":      {"DROP TABLE leases", "leases", true},
		"a table dropped: approvals":   {"DROP TABLE approvals", "approvals", true},
		"a table dropped: restriction": {"DROP TABLE restrictions", "sqlite_schema", true},
		"a table dropped: high_water":  {"DROP TABLE high_water", "sqlite_schema", true},
		"a table dropped: checkpoints": {"DROP TABLE checkpoints", "sqlite_schema", true},
		"a table added, and a trigger": {"CREATE TABLE mine (a); CREATE TRIGGER t2 AFTER INSERT ON events BEGIN DELETE FROM latches; END; DELETE FROM latches", "latches", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "belay.db")
			s := open(t, path, sqlite.Options{})
			restricted(t, s)
			advise := adviceOf(t, s)
			latches, err := s.Latches(t.Context())
			must(t, err)
			before, _ := tablesNode(t, s)
			out := raw(t, path)
			must(t, errors.Join(out.Exec(c.sql), out.Close()))
			_, err = s.Commit(t.Context(), batch("never"))
			if !errors.Is(err, kernel.ErrTampered) {
				t.Fatalf("a commit answers %v", err)
			}
			stand := recovers(t, s, advise, "recovered")
			if !slices.Contains(stand.Repair.Tables, c.table) || c.recorded != (stand.Repair.Recorded == before.Recorded) {
				t.Errorf("%+v, recorded %s", stand.Repair, before.Recorded)
			}
			if !c.recorded &&
				!strings.Contains(strings.Join(stand.Repair.Accepted, "\n"), "which rows were changed is not known") {
				t.Errorf("it does not say that it cannot know: %q", stand.Repair.Accepted)
			}
			held, err := s.Latches(t.Context())
			if err != nil || !reflect.DeepEqual(held, latches) {
				t.Errorf("latches: %+v, %v", held, err)
			}
			for _, s := range []*sqlite.Store{s, open(t, path, sqlite.Options{})} {
				_, err := s.Commit(t.Context(), batch(fmt.Sprintf("after-%p", s)))
				must(t, errors.Join(err, s.Probe(t.Context(), storetest.T0)))
			}
		})
	}
}

// The log itself cannot be made again, nor can a table whose columns were changed.
func TestRecoverRefusesWhatItCannotMakeAgain(t *testing.T) {
	for name, c := range map[string]struct{ sql, says string }{
		"events dropped": {"ALTER TABLE events RENAME TO other", ""},
		"a column added": {"ALTER TABLE latches ADD COLUMN mine TEXT",
			"the table latches is not as belay makes it: put a backup of belay.db back"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "belay.db")
			s := open(t, path, sqlite.Options{})
			restricted(t, s)
			advise := adviceOf(t, s)
			out := raw(t, path)
			must(t, errors.Join(out.Exec(c.sql), out.Close()))
			_, err := recovery(t, s, advise, phases.Event{ID: "r", Type: phases.EventRecovery, Time: storetest.T0})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it answers %v", err)
			}
			if _, err := s.Commit(t.Context(), batch("never")); !errors.Is(err, kernel.ErrUnavailable) {
				t.Errorf("a commit answers %v", err)
			}
		})
	}
}

// Where the log is in doubt, the latch stays that ends hardest, stored or in events; where
// it is not, that of the events.
func TestRecoverKeepsTheHarderLatch(t *testing.T) {
	// each harder than the one before
	ends := []phases.LatchEnd{phases.EndsWithCause, phases.EndsByJudging, phases.EndsByPerson}
	key := wire.Session{Runtime: "r", Session: "both"}
	for inTable := range ends {
		for inEvents := range ends {
			for _, doubt := range []bool{false, true} {
				t.Run(fmt.Sprintf("%q stored, %q in events, doubt %v", ends[inTable], ends[inEvents], doubt), func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "belay.db")
					s := open(t, path, sqlite.Options{})
					restricted(t, s)
					latch := func(who string, end phases.LatchEnd) kernel.Latch {
						return kernel.Latch{Runtime: key.Runtime, Session: key.Session, Reason: who, Kind: phases.KindStore,
							Invocation: who, Since: storetest.T0,
							ID: who, Cause: phases.LatchStore, Ends: end}
					}
					advice, _ := adviceOf(t, s)()
					advice.Latches = append(advice.Latches, latch("events", ends[inEvents]))
					if doubt {
						advice.Doubts = []string{"event 2 is missing"}
					}
					file := latch("file", ends[inTable])
					body, err := json.Marshal(&file)
					must(t, err)
					out := raw(t, path)
					must(t, errors.Join(
						out.Exec(fmt.Sprintf(
							"INSERT INTO latches (runtime, session, since_ns, body) VALUES ('r', 'both', %d, CAST('%s' AS BLOB))",
							storetest.T0.UnixNano(), body)), out.Close()))
					recovers(t, s, func() (marked.Advice, error) { return advice, nil }, "r")
					want := "events"
					if doubt && (inTable > inEvents || inTable == inEvents && ends[inTable] == phases.EndsByJudging) {
						want = "file"
					}
					if l, err := s.Latch(t.Context(), key); err != nil || l == nil || l.Invocation != want {
						t.Errorf("%+v, %v, want that of the %s", l, err, want)
					}
				})
			}
		}
	}
}

// Where the log is in doubt, a stored latch that no event made stays; where it is not, it goes.
func TestRecoverKeepsLatchesInDoubt(t *testing.T) {
	for _, doubt := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "belay.db")
		s := open(t, path, sqlite.Options{})
		restricted(t, s)
		advice, _ := adviceOf(t, s)()
		if doubt {
			advice.Doubts = []string{"event 2 is missing"}
		}
		out := raw(t, path)
		must(t, errors.Join(
			out.Exec("INSERT INTO latches SELECT runtime, 'more', since_ns, CAST('x' AS BLOB) FROM latches WHERE session='s-1'"),
			out.Close()))
		stand := recovers(t, s, func() (marked.Advice, error) { return advice, nil }, "r")
		l, err := s.Latch(t.Context(), wire.Session{Runtime: "r", Session: "more"})
		if err != nil || (l != nil) != doubt || doubt != (len(stand.Repair.Accepted) > 0) ||
			doubt != (len(stand.Repair.Revoked) == 0) {
			t.Errorf("doubt %v: latch %+v, %v, %+v", doubt, l, err, stand.Repair)
		}
	}
}

// A plan or an advice that fails, and a look, change nothing.
func TestRecoverThatIsRefusedChangesNothing(t *testing.T) {
	m := openMarked(t)
	restricted(t, m.Store)
	advise := adviceOf(t, m.Store)
	out := raw(t, m.path)
	must(t, errors.Join(out.Exec("DELETE FROM latches; CREATE TABLE mine (a)"), out.Close()))
	found, _ := tablesNode(t, m.Store)
	no := errors.New("no")
	for range 2 {
		err := m.Recover(t.Context(), advise, func(marked.Stand) (d marked.Decision, err error) { return d, no })
		if !errors.Is(err, no) {
			t.Fatal(err)
		}
		err = m.Recover(t.Context(), func() (a marked.Advice, err error) { return a, no }, nil)
		if !errors.Is(err, no) {
			t.Fatal(err)
		}
		if now, _ := tablesNode(t, m.Store); now.Tampered == nil || now.Found != found.Found || now.Seq != found.Seq {
			t.Fatalf("it was %+v, and is %+v", found, now)
		}
	}
}

// A crash between the mark and the commit leaves the database as it was, blocked, and the statement used. The
// next recovery goes on from there. An event without an id is such a crash: the mark is written, the commit fails.
func TestACrashInARecovery(t *testing.T) {
	const used = highwater.Statement + "order-1"
	m := openMarked(t)
	restricted(t, m.Store)
	advise := adviceOf(t, m.Store)
	out := raw(t, m.path)
	must(t, errors.Join(out.Exec("DELETE FROM latches"), out.Close()))
	found, _ := tablesNode(t, m.Store)
	err := m.Recover(t.Context(), advise, func(now marked.Stand) (d marked.Decision, err error) {
		d.Mark = &highwater.State{Store: now.Mark.Store, Epoch: now.Mark.Epoch + 1, Head: now.Database,
			Uses: map[string]highwater.Use{
				used: {ID: used, Event: "crashed", Until: time.Now().Add(time.Hour).Unix()},
			}}
		return d, nil
	})
	if err == nil {
		t.Fatal("it did not crash")
	}
	next := m.again()
	wantTampered(t, next.commit(batch("never")), "latches")
	if now, _ := tablesNode(t, next.Store); now.Found != found.Found || now.Seq != found.Seq {
		t.Fatalf("it was %+v, and is %+v", found, now)
	}
	stand := recovers(t, next.Store, advise, "second")
	if stand.Wrong != nil || stand.Mark.Uses[used].ID == "" || stand.Next != stand.Database {
		t.Errorf("%+v", stand)
	}
	if l, err := next.Latches(t.Context()); err != nil || len(l) != 3 {
		t.Errorf("latches: %v, %v", l, err)
	}
	if es, err := next.Events(t.Context(), wire.Query{After: found.Seq, Limit: 9}); err != nil || len(es) != 2 ||
		es[0].ID != "second" || es[1].ID != "crashed" {
		t.Errorf("%+v, %v", es, err)
	}
	must(t, next.commit(batch("after")))
}

// A recovery of a database that went back, which a crash cut off, is written first, and takes back what it
// would have: also when rows were edited since.
func TestARecoveryThatWasCutOffIsNotForgotten(t *testing.T) {
	m := openMarked(t)
	m.must(approved("a"))
	m.must(mint("l", 3))
	old := filepath.Join(t.TempDir(), "old.db")
	m.backup(old)
	m.must(use("a"))
	advise := adviceOf(t, m.Store)
	m.restore(old)
	m.wantRollback("")
	err := m.Recover(t.Context(), advise, func(now marked.Stand) (d marked.Decision, err error) {
		d.Mark = &highwater.State{Store: now.Mark.Store, Epoch: now.Mark.Epoch + 1, Head: now.Database,
			Uses: map[string]highwater.Use{},
			Recovery: &highwater.Recovery{Size: now.Database.Size,
				Body: `{"id":"first","type":"recovery","time":"2026-01-01T00:00:00Z"}`}}
		return d, nil
	})
	if err == nil {
		t.Fatal("it did not crash")
	}
	out := raw(t, m.path)
	must(t, errors.Join(out.Exec("UPDATE lease_clock SET wall_ns=1"), out.Close()))
	next := m.again()
	wantTampered(t, next.commit(batch("never")), "lease_clock")
	look, _ := recovery(t, next.Store, advise, phases.Event{})
	again := next.again()
	stand := recovers(t, again.Store, advise, "second")
	if stand.Wrong != nil || stand.Next.Size != stand.Database.Size+1 || stand.Next != look.Next {
		t.Errorf("%+v, a look said %+v", stand, look)
	}
	es, err := again.Events(t.Context(), wire.Query{After: stand.Database.Size, Limit: 9})
	if err != nil || len(es) < 2 || es[0].ID != "first" || es[1].ID != "second" {
		t.Fatalf("%+v, %v", es, err)
	}
	if it, err := again.Approval(t.Context(), "a"); err != nil || it.State != approvals.Superseded {
		t.Errorf("the approval is %+v, %v", it, err)
	}
	if l, err := again.Lease(t.Context(), "l"); err != nil || l.State != leases.Revoked {
		t.Errorf("the lease is %+v, %v", l, err)
	}
}
