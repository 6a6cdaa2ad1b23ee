package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// save keeps what restricts, and the logs of kernels, beside the tables; restore makes them what they were, as a
// failover to a server does that lacks the last transactions.
func save(t *testing.T, schema string) (restore func()) {
	t.Helper()
	return saveAs(t, schema, "saved")
}

// saveAs is save under a name of its own.
func saveAs(t *testing.T, schema, as string) (restore func()) {
	t.Helper()
	tables := []string{
		"shared",
		"changes",
		"latches",
		"approvals",
		"leases",
		"runs",
		"state",
		"kernels",
		"events",
		"tiles",
	}
	for _, name := range tables {
		pgtest.Exec(t, schema, "CREATE TABLE "+as+"_"+name+" AS TABLE "+name)
	}
	return func() {
		t.Helper()
		var back []string
		for _, name := range tables {
			if name != "kernels" { // who holds a name is no part of a log
				back = append(back, "DELETE FROM "+name, "INSERT INTO "+name+" SELECT * FROM "+as+"_"+name)
			}
		}
		back = append(back, "UPDATE kernels k SET size = s.size, tail = s.tail FROM "+as+"_kernels s WHERE s.id = k.id")
		pgtest.Exec(t, schema, "BEGIN; "+strings.Join(back, "; ")+"; COMMIT")
	}
}

// value is a batch that makes a version of its own of the rows that restrict.
func value(id string) kernel.Batch {
	b := batch(id)
	b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: id, Value: []byte("v")}}
	return b
}

// A failover loses the latch of one kernel, of which another one knows. That one writes nothing to the new server, even
// where a third kernel has used the numbers of the lost versions again, or does so later.
func TestWhatRestrictsWentBack(t *testing.T) {
	for name, c := range map[string]struct {
		before, after int                          // versions of the third kernel
		same          bool                         // the connection is that from before
		batch         func(id string) kernel.Batch // what is tried; nil: only events
	}{
		"as many":         {before: 1, after: 1},
		"more":            {before: 3, after: 1},
		"more by rows":    {before: 3, after: 1, batch: value},
		"fewer":           {after: 3},
		"as many by rows": {before: 1, after: 1, batch: value},
		"fewer by rows":   {after: 3, batch: value},
		"same connection": {after: 3, same: true},
		"same by rows":    {after: 3, same: true, batch: value},
	} {
		t.Run(name, func(t *testing.T) {
			p := pgtest.NewProxy(t)
			o := pgtest.Options(t, "a")
			open := func(kernel string) *postgres.Store {
				other := o
				other.Kernel = kernel
				return pgtest.Open(t, other)
			}
			other, third := open("b"), open("c")
			o.DSN = p.DSN(t)
			s := pgtest.Open(t, o)
			for n, k := range []kernel.Store{s, other, third} {
				commit(t, k, value(string(rune('a'+n))))
			}
			restore := save(t, o.Schema)
			b := batch("latch")
			b.Latch = &kernel.Latch{Runtime: "r", Session: "s", Since: storetest.T0}
			commit(t, other, b)
			// It looks at the rows that restrict, and writes nothing: its own log is the same after the failover.
			b = batch("refused")
			key := (&kernel.Latch{Runtime: "r", Session: "other"}).Key()
			b.ClearLatch = &key
			if _, err := s.Commit(t.Context(), b); !errors.Is(err, kernel.ErrConflict) {
				t.Fatal(err)
			}
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			restore()
			written := 0
			write := func(times int) {
				for range times {
					written++
					commit(t, third, value(fmt.Sprint("again", written)))
				}
			}
			write(c.before)
			if !c.same {
				p.Cut()
			}
			if c.batch == nil {
				c.batch = func(id string) kernel.Batch { return batch(id) }
			}
			refused := func(when string) {
				t.Helper()
				if _, err := s.Commit(t.Context(), c.batch(when)); !errors.Is(err, kernel.ErrRollback) {
					t.Errorf("%s: %v", when, err)
				}
			}
			refused("first")
			write(c.after)
			refused("later")
		})
	}
}
