package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/fleet"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// fill writes what a kernel has: 40 events, of which the last changes a value that is shared, and two heads.
func fill(t *testing.T, o postgres.Options, name string, k *eventlog.Key) {
	t.Helper()
	o.Kernel = name
	s := pgtest.Open(t, o)
	for n := range 40 {
		b := kernel.Batch{Now: t0, Events: []phases.Event{{ID: fmt.Sprint(name, n), Type: phases.EventNotice, Time: t0}}}
		if n == 39 {
			b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: name, Value: []byte("v")}}
		}
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if n == 20 || n == 39 {
			head(t, s, k)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// auditor opens a schema for reading.
func auditor(t *testing.T, o postgres.Options) fleet.Database {
	t.Helper()
	a, err := postgres.OpenAuditor(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return fleet.Database{Auditor: a}
}

func tables() []string {
	return []string{"kernels", "events", "tiles", "checkpoints", "shared", "state", "denials"}
}

// undo makes the tables what they were.
func undo(t *testing.T, schema string) {
	t.Helper()
	var back []string
	for _, name := range tables() {
		back = append(back, "DELETE FROM "+name,
			"INSERT INTO "+name+" OVERRIDING SYSTEM VALUE SELECT * FROM saved_"+name)
	}
	pgtest.Exec(t, schema, "BEGIN; "+strings.Join(back, "; ")+"; COMMIT")
}

// Rows are edited by hand by one who may do everything in the database. Each edit shows.
func TestHandEditedRowsShow(t *testing.T) {
	o := pgtest.Options(t, "a")
	keys := map[string]*eventlog.Key{"a": key(t, 1), "b": key(t, 2)}
	known := fleet.Known{Keys: map[string]string{}, Silent: time.Hour}
	for _, name := range []string{"a", "b"} {
		fill(t, o, name, keys[name])
		known.Keys[name] = keys[name].Verifier()
	}
	db := auditor(t, pgtest.Login(t, o, "auditor"))
	first, m, err := fleet.Verify(t.Context(), db, known)
	if err != nil || !first.OK || said(first) != "a ok\nb ok\n" || first.Shared.Version == 0 || first.Shared.Kernel != "b" {
		t.Fatalf("%v %+v\n%s", err, first.Shared, said(first))
	}
	known.Memory = m
	for _, name := range tables() {
		pgtest.Exec(t, o.Schema, "CREATE TABLE saved_"+name+" AS TABLE "+name)
	}
	for _, c := range []struct {
		edit, want string
		shared     string // the finding about the shared rows
	}{
		{edit: "UPDATE events SET body = convert_to(replace(convert_from(body, 'UTF8'), 'a7', 'x7'), 'UTF8') WHERE id = 'a7'",
			want: "a forged; forged: event 8 is "},
		{edit: "UPDATE events SET id = 'x7' WHERE id = 'a7'", want: "a forged; forged: event 8 is found under values"},
		{edit: "UPDATE events SET time_ns = 1 WHERE id = 'a7'", want: "a forged; forged: event 8 is found under values"},
		{edit: "DELETE FROM events WHERE id = 'a7'", want: "a forged; forged: event 8 is missing"},
		{edit: "DELETE FROM events WHERE kernel = 1", want: "a forged; forged: event 1 is missing"},
		{edit: "INSERT INTO events SELECT kernel, 41, 'x', time_ns, body FROM events WHERE id = 'a39'",
			want: "a forged; forged: event 41 is not in the tree"},
		{edit: "UPDATE tiles SET hashes = set_byte(hashes, 40, get_byte(hashes, 40) # 1) WHERE kernel = 1 AND n = 1",
			want: "a forged; forged: "},
		{edit: "DELETE FROM tiles WHERE kernel = 1 AND n = 0", want: "a forged; forged: "},
		{edit: "UPDATE kernels SET tail = set_byte(tail, 3, get_byte(tail, 3) # 1) WHERE id = 1", want: "a forged; forged: "},
		{edit: "UPDATE kernels SET tail = '' WHERE id = 1", want: "a forged; forged: event 1: its hashes in the tree cannot be read"},
		{edit: "UPDATE kernels SET size = 39 WHERE id = 1", want: "a forged; forged: "},
		{edit: "UPDATE kernels SET size = 1000000 WHERE id = 1", want: "a forged; forged: "},
		{edit: "DELETE FROM kernels WHERE id = 1", want: "#1 missing; missing: events or hashes of kernel number 1 are there"},
		{edit: "UPDATE kernels SET name = 'c' WHERE id = 1", want: "a missing; missing: it was there on "},
		{edit: "UPDATE checkpoints SET note = note || 'x' WHERE kernel = 1", want: "a forged; forged: checkpoint 1 in the store"},
		{edit: "UPDATE checkpoints SET kernel = 3 - kernel", want: "a forged; forged: checkpoint 1 in the store"},
		{edit: "UPDATE kernels SET renewed = now() - interval '2 hours', holder = gen_random_uuid() WHERE id = 1",
			want: "a silent; silent: not heard of for 2h0m"},
		{edit: "UPDATE kernels SET renewed = 'infinity' WHERE id = 1", want: "a silent; silent: its row does not say"},
		{edit: "UPDATE kernels SET renewed = '-infinity' WHERE id = 1", want: "a silent; silent: its row does not say"},
		{edit: "UPDATE kernels SET through = 3, announced = 4, first = 4 WHERE id = 1", want: "a ok", shared: "compaction"},
		{edit: "UPDATE state SET value = 'x'", want: "a ok", shared: "state"},
		{edit: "UPDATE state SET value = 'x'; UPDATE shared SET tables = ''", want: "a ok", shared: "shared"},
		{edit: "DELETE FROM state; UPDATE shared SET version = 0", want: "a ok", shared: "changes were made to what restricts"},
		{edit: "INSERT INTO denials (name, kernel, seq, body) VALUES (gen_random_uuid(), 1, 3, '{}')",
			want: "a forged; forged: row 1 of what all kernels deny is not what event 3 records"},
		{edit: "DELETE FROM shared", want: "a ok", shared: "is gone"},
		{edit: "UPDATE shared SET seq = 39, leaf = leaf - 1", want: "a ok", shared: "(events)"},
	} {
		t.Run(c.edit, func(t *testing.T) {
			pgtest.Exec(t, o.Schema, c.edit)
			defer undo(t, o.Schema)
			r, _, err := fleet.Verify(t.Context(), db, known)
			got := r.Shared.Wrong + r.Shared.Went
			if err != nil || r.OK || !strings.HasPrefix(said(r), c.want) || !strings.Contains(got, c.shared) ||
				(got == "") != (c.shared == "") {
				t.Errorf("%v %q\n%s", err, got, said(r))
			}
		})
	}
	if r, _, err := fleet.Verify(t.Context(), db, known); err != nil || !r.OK {
		t.Errorf("at the end: %v\n%s", err, said(r))
	}
}
