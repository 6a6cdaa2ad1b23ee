package postgres_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// adviceOf is what the logs would say of the rows that a kernel knows.
func adviceOf(t *testing.T, s *postgres.Store) marked.Advice {
	t.Helper()
	out := marked.Advice{Newest: storetest.T0.Add(time.Hour), Compactions: map[string]marked.Compaction{"a": {}, "b": {}}}
	var err error
	if out.Latches, err = s.Latches(t.Context()); err != nil {
		t.Fatal(err)
	}
	items, err := s.Approvals(t.Context(), approvals.Query{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		if items[i].State == approvals.Denied {
			out.Denied = append(out.Denied, items[i].ID)
		}
	}
	out.Sound = func(it *approvals.Item) (bool, error) {
		return slices.ContainsFunc(items, func(had approvals.Item) bool { return reflect.DeepEqual(had, *it) }), nil
	}
	return out
}

// repairs recovers by what the logs say.
func (m *markedKernel) repairs(advice marked.Advice, event string) (marked.Stand, error) {
	m.t.Helper()
	var stand marked.Stand
	advise := func() (marked.Advice, error) { return advice, nil }
	err := m.Recover(m.t.Context(), advise, func(now marked.Stand) (d marked.Decision, err error) {
		stand = now
		d.Event = phases.Event{ID: event, Type: phases.EventRecovery, Time: storetest.T0}
		d.Mark = &highwater.State{Store: now.Store, Epoch: 1, Head: now.Database, Uses: map[string]highwater.Use{}}
		if now.Mark != nil {
			d.Mark.Store, d.Mark.Epoch, d.Mark.Uses = now.Mark.Store, now.Mark.Epoch+1, now.Mark.Uses
		}
		return d, nil
	})
	return stand, err
}

// goesOn waits until a kernel that was blocked decides again, by itself.
func goesOn(t *testing.T, s *postgres.Store, id string) {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := s.Commit(t.Context(), value(id))
		if err == nil {
			break
		}
		if !errors.Is(err, kernel.ErrUnavailable) || time.Now().After(deadline) {
			t.Fatalf("%s: %v", id, err)
		}
	}
	if r, err := s.Restrictions(t.Context()); err != nil || r.Tampered != nil {
		t.Errorf("%s: %+v, %v", id, r.Tampered, err)
	}
}

// restricted are kernels a and b, with rows of each kind that both have written.
func restricted(t *testing.T, with func(*postgres.Options)) (a *markedKernel, b *postgres.Store) {
	t.Helper()
	o := pgtest.Options(t, "a")
	o.Hold = 3 * time.Second
	if with != nil {
		with(&o)
	}
	a = openMarked(t, o)
	o.Kernel = "b"
	b = pgtest.Open(t, o)
	a.fill("")
	commit(t, b, value("w"))
	return a, b
}

// fill writes rows of each kind, whose names end with n.
func (m *markedKernel) fill(n string) {
	m.t.Helper()
	denied := approved("denied" + n)
	denied.Approvals[1].Change.To = approvals.Denied
	denied.Approvals[1].Change.Decision.Verdict = approvals.Deny
	run := batch("run" + n)
	run.Run = &kernel.RunWrite{Key: phases.RunKey{Runtime: "r", Session: "s", Run: "1" + n}}
	for _, step := range []kernel.Batch{latched("latch" + n), approved("open" + n), approved("used" + n), use("used" + n),
		denied, mint("l"+n, 3), claim("l"+n, "claimed"+n), mint("other"+n, 2), value("v" + n), run} {
		m.must(step)
	}
}

// Rows of each kind are edited by hand. What the logs say is made again, what would let something pass is taken back,
// and all kernels go on by themselves. Tables without an edit stay as they are.
func TestEditedRowsAreRepaired(t *testing.T) {
	a, b := restricted(t, nil)
	a.close()
	leased := true
	for i, c := range []struct {
		name, sql, table string
		says             string // of what becomes of the rows; # is the number of the case
	}{
		{"a latch is lifted", "DELETE FROM latches", "latches", `latch "r" "s"`},
		{"a latch is added", "INSERT INTO latches VALUES ('r', 'new', 1, '{}')", "latches",
			`latch "r" "new", which no event made`},
		{"an approval is opened", `UPDATE approvals SET state = 'approved' WHERE id = 'used#'`, "approvals",
			"approval used#, which is not what"},
		{"an approval is gone", "DELETE FROM approvals WHERE id = 'denied#'", "approvals",
			"the denial of approval denied# is lost"},
		{"a use is set back", "UPDATE leases SET uses = 0 WHERE id = 'l#'", "leases", "lease l#"},
		{"a lease ends later", "UPDATE leases SET expires_ns = expires_ns + 1", "leases", "lease other#"},
		{"a lease says two things", "UPDATE leases SET agent = 'x', max_uses = 99 WHERE id = 'l#'", "leases",
			"lease l#, which cannot be read"},
		{"a lease is revoked", "UPDATE leases SET state = 'revoked' WHERE id = 'l#'", "leases", "lease other#"},
		{"a value is changed", "UPDATE state SET value = 'other'", "state", `state "n": values found: `},
		{"a value is gone", "DELETE FROM state WHERE key = 'v#'", "state", "a budget may begin anew"},
		{"a run is changed", "UPDATE runs SET used_ns = used_ns + 1", "runs", `run "r" "s" "1#"`},
		{"the version is put back", "UPDATE shared SET state_version = 0", "state_version", "the last version given"},
		{"the digests are others", "UPDATE shared SET tables = sha512('x')", "shared", ""},
		// These set the clock of leases to now: no lease of the tests counts afterwards.
		{"the clock is put back", "UPDATE shared SET wall_ns = 0", "lease_clock", "the highest wall time seen"},
		{"another event is named", "UPDATE shared SET seq = seq + 1", "latches", "which rows were changed is not known"},
		{"a later version is named", "UPDATE shared SET version = version + 1000; DELETE FROM latches", "latches",
			`latch "r" "s"`},
		// The last: the log stays damaged.
		{"the event is another one", "UPDATE events SET body = body || ' ' WHERE seq = (SELECT seq FROM shared)", "latches",
			"which rows were changed is not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := fmt.Sprint(i)
			numbered := strings.NewReplacer("#", n).Replace
			a.t = t
			a = a.again()
			if leased = leased && c.table != "lease_clock"; leased {
				a.fill(n)
			}
			advice := adviceOf(t, a.Store)
			a.close()
			commit(t, b, value("b"+n))
			before, err := b.Restrictions(t.Context())
			if err != nil || before.Tampered != nil {
				t.Fatalf("%+v, %v", before.Tampered, err)
			}
			pgtest.Exec(t, a.o.Schema, numbered(c.sql))
			a = a.again()
			if err := a.commit(batch("never")); !errors.Is(err, kernel.ErrTampered) {
				t.Fatalf("a commit answers %v", err)
			}
			found, _ := a.Restrictions(t.Context())
			stand, err := a.repairs(advice, "recovered"+n)
			if err != nil || stand.Wrong != nil || stand.Repair == nil {
				t.Fatalf("%+v, %v", stand, err)
			}
			r := stand.Repair
			said := strings.Join(slices.Concat(r.Rebuilt, r.Revoked, r.Accepted), "\n")
			if !slices.Contains(r.Tables, c.table) || !strings.Contains(said, numbered(c.says)) || r.Found != found.Found {
				t.Errorf("%+v, found %s", r, found.Found)
			}
			now, err := a.Restrictions(t.Context())
			if err != nil || now.Tampered != nil || now.Recorded != now.Found {
				t.Fatalf("still: %+v, %v", now.Tampered, err)
			}
			for i, table := range restrict.Tables() {
				name := table.String()
				edited := slices.ContainsFunc(r.Tables, func(t string) bool {
					return strings.HasPrefix(name, t) || strings.HasPrefix(t, "state") && strings.HasPrefix(name, "state")
				})
				if at := 32 * i; !edited && string(now.Tables[at:at+32]) != string(before.Tables[at:at+32]) {
					t.Errorf("%s was changed, which was as recorded", name)
				}
			}
			if held, err := a.Latches(t.Context()); err != nil || !reflect.DeepEqual(held, advice.Latches) {
				t.Errorf("latches: %+v, %v", held, err)
			}
			if slices.Contains(r.Tables, "approvals") {
				open, err := a.Approvals(t.Context(), approvals.Query{State: approvals.Approved, Limit: 9})
				if err != nil || len(open) > 0 {
					t.Errorf("%+v, %v", open, err)
				}
			}
			for _, id := range []string{"l" + n, "other" + n} {
				l, err := a.Lease(t.Context(), id)
				if err != nil || leased && slices.Contains(r.Tables, "leases") && l != nil && l.State != leases.Revoked {
					t.Errorf("%s lives on: %+v, %v", id, l, err)
				}
			}
			es, err := a.Events(t.Context(), wire.Query{ID: "recovered" + n})
			if err != nil || len(es) != 1 || es[0].Restrictions == "" {
				t.Errorf("%+v, %v", es, err)
			}
			a.must(batch("on" + n))
			if _, err := b.Commit(t.Context(), value("b-on"+n)); err != nil {
				t.Errorf("the other kernel: %v", err)
			}
			goesOn(t, b, "b-goes-on"+n)
		})
	}
}

// What no kernel may write is named with the statement by which the owner of the schema sets it right.
func TestWhatOnlyTheOwnerRepairs(t *testing.T) {
	for name, c := range map[string]struct{ sql, says string }{
		"no row of shared":   {"DELETE FROM shared", "the table shared has 0 rows"},
		"two rows of shared": {"INSERT INTO shared SELECT * FROM shared", "the table shared has 2 rows"},
		"an older version":   {"UPDATE shared SET version = 2; DELETE FROM latches", "and version 11 was written"},
		"a compaction": {"UPDATE kernels SET through = 3, announced = 4 WHERE name = 'b'",
			"the compaction of kernel b is stored as up to event 3, and its log says 0"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := restricted(t, nil)
			advice := adviceOf(t, a.Store)
			a.close()
			pgtest.Exec(t, a.o.Schema, c.sql)
			a = a.again()
			_, err := a.repairs(advice, "refused")
			if !errors.Is(err, kernel.ErrTampered) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("it answers %v", err)
			}
			_, sql, _ := strings.Cut(err.Error(), "sets it right by `")
			pgtest.Exec(t, "public", strings.TrimSuffix(sql, "`"))
			if r, err := a.Restrictions(t.Context()); err == nil && r.Tampered != nil {
				if _, err := a.repairs(advice, "recovered"); err != nil {
					t.Fatal(err)
				}
			}
			goesOn(t, a.Store, "a-on")
			goesOn(t, b, "b-on")
		})
	}
}

// Kernel roles can do all that a repair needs, and no more than before.
func TestAKernelsRoleRepairs(t *testing.T) {
	a, b := restricted(t, func(o *postgres.Options) { *o = pgtest.Login(t, *o, "kernel") })
	advice := adviceOf(t, a.Store)
	a.close()
	pgtest.Exec(t, a.o.Schema, "DELETE FROM latches; UPDATE leases SET uses = 0; UPDATE shared SET wall_ns = 1")
	a = a.again()
	if _, err := a.repairs(advice, "recovered"); err != nil {
		t.Fatal(err)
	}
	goesOn(t, b, "b-on")
}

// The database went back, and was edited as well: one recovery is about both.
func TestOneRecoveryForBoth(t *testing.T) {
	a, _ := restricted(t, nil)
	a.must(approved("unused"))
	advice := adviceOf(t, a.Store)
	restore := save(t, a.o.Schema)
	a.must(use("open"))
	a.close()
	restore()
	pgtest.Exec(t, a.o.Schema, "DELETE FROM latches")
	a = a.again()
	stand, err := a.repairs(advice, "recovered")
	if err != nil || stand.Wrong == nil || stand.Repair == nil ||
		!reflect.DeepEqual(stand.Repair.Tables, []string{"latches"}) {
		t.Fatalf("%+v, %v", stand, err)
	}
	a.wantTakenBack("open", "unused", "l")
	if held, err := a.Latches(t.Context()); err != nil || !reflect.DeepEqual(held, advice.Latches) {
		t.Errorf("latches: %+v, %v", held, err)
	}
}

// A crash between the mark and the commit leaves the rows as they were, blocked. The next recovery goes on from there.
func TestACrashInARepair(t *testing.T) {
	a, _ := restricted(t, nil)
	advice := adviceOf(t, a.Store)
	a.close()
	pgtest.Exec(t, a.o.Schema, "DELETE FROM latches")
	a = a.again()
	found, _ := a.Restrictions(t.Context())
	const used = highwater.Statement + "order-1"
	err := a.Recover(t.Context(), func() (marked.Advice, error) { return advice, nil },
		func(now marked.Stand) (d marked.Decision, err error) { // an event without an id cannot be written
			d.Mark = &highwater.State{Store: now.Mark.Store, Epoch: now.Mark.Epoch + 1, Head: now.Database,
				Uses: map[string]highwater.Use{used: {ID: used, Event: "crashed", Until: time.Now().Add(time.Hour).Unix()}}}
			return d, nil
		})
	if err == nil {
		t.Fatal("it did not crash")
	}
	if now, err := a.Restrictions(t.Context()); err != nil || now.Found != found.Found || now.Tampered == nil {
		t.Errorf("it was %s, and is %+v, %v", found.Found, now, err)
	}
	a.close()
	a = a.again()
	stand, err := a.repairs(advice, "second")
	if err != nil || stand.Mark.Uses[used].ID == "" {
		t.Fatalf("%+v, %v", stand, err)
	}
	es, err := a.Events(t.Context(), wire.Query{ID: "crashed"})
	if err != nil || len(es) != 1 {
		t.Errorf("%+v, %v", es, err)
	}
	a.must(batch("on"))
}

// A kernel that can keep no mark is repaired as well.
func TestARepairWithoutAPlaceForAMark(t *testing.T) {
	a, b := restricted(t, nil)
	advice := adviceOf(t, b)
	o := a.o
	o.Kernel = "c"
	o.Mark = highwater.New(highwater.Options{Dir: filepath.Join("/dev/null", "marks"), Name: "m"})
	pgtest.Exec(t, o.Schema, "DELETE FROM latches")
	c := &markedKernel{t: t, o: o, Store: pgtest.Open(t, o)}
	if err := c.commit(value("never")); !errors.Is(err, kernel.ErrTampered) {
		t.Fatal(err)
	}
	stand, err := c.repairs(advice, "recovered")
	if err != nil || stand.Mark != nil {
		t.Fatalf("%+v, %v", stand, err)
	}
	c.must(value("on"))
	goesOn(t, b, "b-on")
}

// A plan that refuses, advice that fails and a look change nothing.
func TestARepairThatIsRefusedChangesNothing(t *testing.T) {
	a, _ := restricted(t, nil)
	a.close()
	pgtest.Exec(t, a.o.Schema, "DELETE FROM latches")
	a = a.again()
	found, _ := a.Restrictions(t.Context())
	no := errors.New("no")
	for range 2 {
		err := a.Recover(t.Context(), func() (marked.Advice, error) { return marked.Advice{}, nil },
			func(marked.Stand) (d marked.Decision, err error) { return d, no })
		if !errors.Is(err, no) {
			t.Fatal(err)
		}
		err = a.Recover(t.Context(), func() (marked.Advice, error) { return marked.Advice{}, no }, nil)
		if !errors.Is(err, no) {
			t.Fatal(err)
		}
		if now, err := a.Restrictions(t.Context()); err != nil || now.Found != found.Found || now.Seq != found.Seq {
			t.Fatalf("it was %+v, and is %+v, %v", found, now, err)
		}
	}
}

// A kernel that is blocked because of edited rows gives its name back, so that another process can recover, and goes on
// by itself: after the recovery, and when the edit is undone.
func TestABlockedKernelLetsRecover(t *testing.T) {
	for _, while := range []string{"it reads", "it writes"} {
		t.Run(while, func(t *testing.T) {
			a, _ := restricted(t, nil)
			advice := adviceOf(t, a.Store)
			pgtest.Exec(t, a.o.Schema, "CREATE TABLE saved_latches AS TABLE latches", "DELETE FROM latches")
			if while == "it reads" {
				for range 2 { // the row is named also when it is blocked
					err := a.Probe(t.Context(), storetest.T0)
					if !errors.Is(err, kernel.ErrTampered) {
						t.Fatal(err)
					}
					if r, err := a.Restrictions(t.Context()); err != nil || len(r.Tampered.Rows) != 1 {
						t.Errorf("%+v, %v", r.Tampered, err)
					}
				}
			} else if err := a.commit(latched("again")); !errors.Is(err, kernel.ErrTampered) {
				t.Fatal(err)
			}
			other := a.again() // the process of `belay recover`
			if _, err := other.repairs(advice, "recovered"); err != nil {
				t.Fatal(err)
			}
			other.close()
			goesOn(t, a.Store, "a-on")
			storetest.CheckLog(t, a.Store)
			pgtest.Exec(t, a.o.Schema, "DELETE FROM latches")
			if err := a.commit(latched("once more")); !errors.Is(err, kernel.ErrTampered) {
				t.Fatal(err)
			}
			pgtest.Exec(t, a.o.Schema, "INSERT INTO latches SELECT * FROM saved_latches")
			goesOn(t, a.Store, "a-goes-on")
		})
	}
}

// What a kernel's own row says of its compaction is compared where all else is: else events would be removed that are
// not given up.
func TestACompactionEditedByHand(t *testing.T) {
	o := pgtest.Options(t, "k")
	s := pgtest.Open(t, o)
	for _, id := range []string{"e1", "e2", "e3"} {
		commit(t, s, value(id))
	}
	pgtest.Exec(t, o.Schema, "UPDATE kernels SET through = 2, announced = 3")
	if _, err := s.LogRemove(t.Context(), 10); !errors.Is(err, kernel.ErrTampered) {
		t.Errorf("it removes events: %v", err)
	}
	if leaves, err := s.LogLeaves(t.Context(), 0, 9); err != nil || len(leaves) != 3 {
		t.Errorf("%d events are left, %v", len(leaves), err)
	}
	pgtest.Exec(t, o.Schema, "UPDATE kernels SET through = 0, announced = 0")
	goesOn(t, s, "e4")
	pgtest.Exec(t, o.Schema, "UPDATE kernels SET through = 2, announced = 3")
	if _, err := s.Commit(t.Context(), value("e5")); !errors.Is(err, kernel.ErrTampered) {
		t.Errorf("a commit answers %v", err)
	}
}

// A reviewer's statement that orders a recovery is used once, by the event of the recovery: also where that was cut off
// by a crash, and a process that starts writes it.
func TestTheStatementOfARecoveryIsUsedOnce(t *testing.T) {
	for _, crash := range []bool{false, true} {
		a, _ := restricted(t, nil)
		restore := save(t, a.o.Schema)
		a.must(use("open"))
		a.close()
		restore()
		a = a.again()
		const used = highwater.Statement + "order-1"
		err := a.Recover(t.Context(), nil, func(now marked.Stand) (d marked.Decision, err error) {
			d.Event = phases.Event{ID: "recovered", Type: phases.EventRecovery, Time: storetest.T0}
			d.Mark = &highwater.State{Store: now.Mark.Store, Epoch: now.Mark.Epoch + 1, Head: now.Database,
				Uses: map[string]highwater.Use{used: {ID: used, Event: "recovered", Until: time.Now().Add(time.Hour).Unix()}},
				Recovery: &highwater.Recovery{Size: now.Database.Size,
					Body: `{"id":"recovered","type":"recovery","time":"2026-01-01T00:00:00Z"}`}}
			if crash {
				d.Event.ID = ""
			}
			return d, nil
		})
		if (err != nil) != crash {
			t.Fatalf("crash %v: %v", crash, err)
		}
		a.close()
		a = a.again()
		a.must(batch("on"))
		if es, err := a.Events(t.Context(), wire.Query{ID: "recovered"}); err != nil || len(es) != 1 {
			t.Errorf("crash %v: %+v, %v", crash, es, err)
		}
		storetest.CheckLog(t, a.Store)
	}
}
