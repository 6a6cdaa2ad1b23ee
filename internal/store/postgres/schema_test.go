package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// A schema of another version is refused, with what to do: a missing one, an older, a newer, and one that was
// migrated by halves. To migrate twice does nothing.
func TestSchemaVersions(t *testing.T) {
	o := pgtest.Bare(t, "k")
	refused := func(want string) {
		t.Helper()
		s, err := postgres.Open(t.Context(), o)
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, kernel.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused("has no schema")
	m, err := postgres.CheckMigration(t.Context(), o)
	if err != nil || m.From != 0 || len(m.Steps) != int(m.To) {
		t.Errorf("what there is to do: %+v, %v", m, err)
	}
	refused("has no schema")
	m, err = postgres.Migrate(t.Context(), o)
	last := m.To
	if err != nil || m.From != 0 || last < 3 || len(m.Steps) != int(last) {
		t.Fatalf("%+v, %v", m, err)
	}
	if m, err = postgres.Migrate(t.Context(), o); err != nil || m.From != last || len(m.Steps) != 0 {
		t.Errorf("a second time: %+v, %v", m, err)
	}
	pgtest.Exec(t, o.Schema, fmt.Sprintf("DELETE FROM schema_versions WHERE version_id = %d", last))
	refused(fmt.Sprintf("has version %d, and this belay needs %d; migrate it", last-1, last))
	if m, err = postgres.CheckMigration(t.Context(), o); err != nil || m.From != last-1 || len(m.Steps) != 1 {
		t.Errorf("what there is to do: %+v, %v", m, err)
	}
	pgtest.Exec(
		t,
		o.Schema,
		fmt.Sprintf("INSERT INTO schema_versions (version_id, is_applied) VALUES (%d, true), (%d, true)",
			last, last+1),
	)
	refused("a newer belay has migrated it")
	if _, err := postgres.Migrate(t.Context(), o); err == nil || !strings.Contains(err.Error(), "a newer belay") {
		t.Errorf("migrate: %v", err)
	}
	pgtest.Exec(t, o.Schema, fmt.Sprintf("DELETE FROM schema_versions WHERE version_id IN (1, %d)", last+1))
	refused("migrated by halves")
	neither := func(want string) {
		t.Helper()
		for _, f := range []func(context.Context, postgres.Options) (postgres.Migrated, error){postgres.Migrate,
			postgres.CheckMigration} {
			if _, err := f(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("migrate: %v, want %q", err, want)
			}
		}
	}
	neither("migrated by halves")
	pgtest.Exec(t, o.Schema, "DROP TABLE schema_versions")
	neither("no table schema_versions")
}

// The role of a kernel can do what a kernel does, and not write events or hashes by itself, change or remove them, or
// speak for another kernel. The other two roles only read.
func TestRoles(t *testing.T) {
	owner := pgtest.Options(t, "other")
	commit(t, pgtest.Open(t, owner), batch("a")) // a kernel of another login
	o := pgtest.Login(t, owner, "kernel")
	o.Kernel = "mine"
	s := pgtest.Open(t, o)
	b := batch("a")
	b.Latch = &kernel.Latch{Runtime: "r", Session: "s", Since: storetest.T0}
	b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("v")}}
	commit(t, s, b)
	if err := s.AddCheckpoint(t.Context(), 1, []byte("note")); err != nil {
		t.Error(err)
	}
	commit(t, s, kernel.Batch{Now: storetest.T0, Events: batch("b").Events, Compact: 1})
	if left, err := s.LogRemove(t.Context(), 10); err != nil || left != 0 {
		t.Errorf("%d left, %v", left, err)
	}
	stolen := o
	stolen.Kernel = "other"
	if _, err := postgres.Open(t.Context(), stolen); err == nil ||
		!strings.Contains(err.Error(), "belongs to the role postgres") {
		t.Errorf("the name of another role's kernel: %v", err)
	}
	auditor, reviewer := pgtest.Login(t, owner, "auditor"), pgtest.Login(t, owner, "reviewer")
	for _, c := range []struct {
		dsn, sql string
		allowed  bool
	}{
		{o.DSN, "INSERT INTO events VALUES (1, 99, 'x', 1, 'x')", false},
		{o.DSN, "UPDATE events SET body = 'x'", false},
		{o.DSN, "DELETE FROM events", false},
		{o.DSN, "DELETE FROM tiles", false},
		{o.DSN, "UPDATE kernels SET size = 0", false},
		{o.DSN, "UPDATE shared SET version = 0", false},
		{o.DSN, "DELETE FROM checkpoints", false},
		{o.DSN, "TRUNCATE leases", false},
		{o.DSN, "DROP TABLE leases", false},
		{o.DSN, "CREATE TABLE mine (n int)", false},
		{o.DSN, "SELECT append(1, (SELECT fence FROM kernels WHERE id = 1), 1, 0, '', '{x}', '{1}', '{x}', 0, '{}')", false},
		{o.DSN, "SELECT add_checkpoint(1, (SELECT fence FROM kernels WHERE id = 1), 1, 'x')", false},
		{o.DSN, "SELECT release(1, (SELECT fence FROM kernels WHERE id = 1))", true}, // and it does nothing; see below
		{auditor.DSN, "SELECT count(*) FROM events", true},
		{auditor.DSN, "SELECT count(*) FROM leases", true},
		{auditor.DSN, "DELETE FROM leases", false},
		{auditor.DSN, "SELECT lock_shared()", false},
		{auditor.DSN, "SELECT hold('x', gen_random_uuid(), '', '', '1s', '1s', '')", false},
		{reviewer.DSN, "SELECT count(*) FROM approvals", true},
		{reviewer.DSN, "SELECT count(*) FROM events", false},
		{reviewer.DSN, "UPDATE approvals SET state = 'approved'", false},
	} {
		if err := try(t, c.dsn, o.Schema, c.sql); (err == nil) != c.allowed {
			t.Errorf("%s: %v, allowed %v", c.sql, err, c.allowed)
		}
	}
	var held bool
	query(t, owner, "SELECT holder IS NOT NULL FROM kernels WHERE id = 1", &held)
	if !held {
		t.Error("a kernel has given away the name of another one")
	}
	readOnly := auditor
	readOnly.Kernel, readOnly.ReadOnly = "mine", true
	if es, err := pgtest.Open(t, readOnly).Events(t.Context(), wire.Query{}); err != nil || len(es) != 1 {
		t.Errorf("an auditor reads %d events, %v", len(es), err)
	}
}

func try(t *testing.T, dsn, schema, sql string) error {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), "SET search_path = "+schema); err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), sql)
	return err
}

func query(t testing.TB, o postgres.Options, sql string, into ...any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), o.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), "SET search_path = "+o.Schema); err != nil {
		t.Fatal(err)
	}
	if err := c.QueryRow(t.Context(), sql).Scan(into...); err != nil {
		t.Fatal(err)
	}
}

// Events are kept in partitions by their numbers. They are made ahead, and compaction drops those that it
// empties as a whole; the log stays provable, and queries find what is left.
func TestPartitions(t *testing.T) {
	o := pgtest.Options(t, "parts")
	pgtest.Exec(t, o.Schema, "UPDATE settings SET span = 10")
	s := pgtest.Open(t, o)
	partitions := func() (names string) {
		query(t, o, "SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_inherits i "+
			"JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events_1'::regclass", &names)
		return names
	}
	for n := range 35 {
		commit(t, s, batch(fmt.Sprint("e", n)))
	}
	big := batch()
	for n := range 25 { // more than one partition at once
		big.Events = append(big.Events, event(fmt.Sprint("big", n)))
	}
	commit(t, s, big)
	const later = "events_1_2 events_1_3 events_1_4 events_1_5 events_1_6 events_1_7"
	if got := partitions(); got != "events_1_0 events_1_1 "+later {
		t.Errorf("partitions: %s", got)
	}
	storetest.CheckLog(t, s)
	commit(t, s, kernel.Batch{Now: storetest.T0, Events: batch("compact").Events, Compact: 25})
	for left := int64(25); left > 0; {
		got, err := s.LogRemove(t.Context(), 3)
		if err != nil || got >= left {
			t.Fatalf("%d left after %d, %v", got, left, err)
		}
		left = got
	}
	if got := partitions(); got != later {
		t.Errorf("partitions: %s", got)
	}
	es, err := s.Events(t.Context(), wire.Query{Limit: 100})
	if err != nil || len(es) != 36 || es[0].Seq != 26 {
		t.Errorf("%d events, %v", len(es), err)
	}
	storetest.CheckLog(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := pgtest.Open(t, o)
	if r := commit(t, again, batch("next")); r.First != 62 {
		t.Errorf("the next event has number %d", r.First)
	}
	storetest.CheckLog(t, again)
}

// Rows that were edited by hand are noticed: by a reader and a writer that meet them, and by a comparison of all.
func TestRowsEditedByHand(t *testing.T) {
	latched := &kernel.Latch{Runtime: "r", Session: "s", Since: storetest.T0}
	for name, c := range map[string]struct{ sql, table string }{
		"a latch is lifted":        {"DELETE FROM latches", "latches"},
		"a value is changed":       {"UPDATE state SET value = 'other'", "state"},
		"a value is put back":      {"UPDATE state SET version = version - 1", "state"},
		"a run is changed":         {"UPDATE runs SET used_ns = used_ns + 1", "runs"},
		"a row is added":           {"INSERT INTO state VALUES ('n', 'new', 1, 'x')", "state"},
		"the version is put back":  {"UPDATE shared SET state_version = 0", "state_version"},
		"the clock is put back":    {"UPDATE shared SET wall_ns = 0", "lease_clock"},
		"the event is another one": {"UPDATE events SET body = replace(encode(body, 'escape'), 'x', 'y')::bytea", "events"},
		"the digests are others":   {"UPDATE shared SET tables = sha512('x')", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := pgtest.Options(t, "k")
			s := pgtest.Open(t, o)
			b := batch("x")
			b.Latch = latched
			b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("v")}}
			b.Run = &kernel.RunWrite{Key: phases.RunKey{Runtime: "r", Session: "s", Run: "1"}}
			commit(t, s, b)
			pgtest.Exec(t, o.Schema, c.sql)
			if strings.HasPrefix(c.sql, "UPDATE shared") && c.table != "" { // numbers, which no row of a table holds
				if _, err := s.HeldLeases(t.Context(), leases.Holder{Session: "s"}, leases.Instant{Wall: storetest.T0}); !errors.Is(
					err,
					kernel.ErrTampered,
				) {
					t.Errorf("a reader: %v", err)
				}
				b := batch("y")
				b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("w")}}
				if _, err := s.Commit(t.Context(), b); !errors.Is(err, kernel.ErrTampered) {
					t.Errorf("a writer: %v", err)
				}
			}
			r, err := s.Restrictions(t.Context())
			if err != nil || r.Tampered == nil ||
				c.table != "" && !strings.Contains(strings.Join(r.Tampered.Tables, " "), c.table) {
				t.Errorf("%+v, %v", r.Tampered, err)
			}
			if err := s.Probe(t.Context(), storetest.T0); !errors.Is(err, kernel.ErrTampered) {
				t.Errorf("a probe: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err := postgres.Open(t.Context(), o); !errors.Is(err, kernel.ErrTampered) {
				t.Errorf("it is opened: %v", err)
				if err == nil {
					s.Close()
				}
			}
		})
	}
	o := pgtest.Options(t, "k")
	s := pgtest.Open(t, o)
	b := batch("x")
	b.Latch = latched
	commit(t, s, b)
	pgtest.Exec(t, o.Schema, "DELETE FROM latches")
	if l, err := s.Latch(t.Context(), latched.Key()); !errors.Is(err, kernel.ErrTampered) {
		t.Errorf("a reader: %v, %v", l, err)
	}
	key := latched.Key()
	b = batch("y")
	b.Unlatched = &key
	for range 2 {
		if _, err := s.Commit(t.Context(), b); !errors.Is(err, kernel.ErrTampered) {
			t.Errorf("a writer: %v", err)
		}
	}
}

// A version that cannot be is an error of those who read it, and ends no process.
func TestVersionThatCannotBe(t *testing.T) {
	o := pgtest.Options(t, "k")
	s := pgtest.Open(t, o)
	b := batch("x")
	b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("v")}}
	commit(t, s, b)
	pgtest.Exec(t, o.Schema, "UPDATE shared SET version = -1")
	if _, err := s.HookState(t.Context(), "n", "k"); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("a reader: %v", err)
	}
	b = batch("y")
	b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("w")}}
	if _, err := s.Commit(t.Context(), b); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("a writer: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := postgres.Open(t.Context(), o); !errors.Is(err, kernel.ErrTampered) {
		t.Errorf("it is opened: %v", err)
		if err == nil {
			s.Close()
		}
	}
}

// A server that lacks the last transactions, as after a failover, is noticed: nothing is written to it.
func TestADatabaseThatWentBack(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "back")
	o.DSN = p.DSN(t)
	s := pgtest.Open(t, o)
	commit(t, s, batch("a"))
	var before string
	direct := o
	direct.DSN = pgtest.DSN(t)
	query(t, direct, "SELECT encode(tail, 'hex') FROM kernels", &before)
	commit(t, s, batch("b"))
	pgtest.Exec(t, o.Schema, "DELETE FROM events WHERE seq = 2",
		"UPDATE kernels SET size = 1, tail = decode('"+before+"', 'hex')")
	p.Cut()
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, err := s.Commit(t.Context(), batch("c"))
		if errors.Is(err, kernel.ErrRollback) {
			break
		}
		if err == nil || time.Now().After(deadline) {
			t.Fatalf("it is not noticed: %v", err)
		}
	}
}

// Leases and approvals end by the clock: a machine whose clock is an hour away from the server's is
// refused, and says so.
func TestClocksThatDiffer(t *testing.T) {
	o := pgtest.Options(t, "clock")
	for _, d := range []time.Duration{-time.Hour, time.Hour} {
		o.Now = func() time.Time { return time.Now().Add(d) }
		if _, err := postgres.Open(t.Context(), o); !errors.Is(err, kernel.ErrUnavailable) ||
			!strings.Contains(err.Error(), "clocks differ") {
			t.Errorf("%v: %v", d, err)
		}
	}
	o.Now = func() time.Time { return time.Now().Add(3 * time.Second) }
	commit(t, pgtest.Open(t, o), batch("a"))
}
