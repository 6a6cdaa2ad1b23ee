package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

func event(id string) phases.Event {
	return phases.Event{ID: id, Type: phases.EventVerdict, Time: storetest.T0}
}

func batch(ids ...string) kernel.Batch {
	b := kernel.Batch{Now: storetest.T0}
	for _, id := range ids {
		b.Events = append(b.Events, event(id))
	}
	return b
}

func commit(t *testing.T, s kernel.Store, b kernel.Batch) kernel.Receipt {
	t.Helper()
	r, err := s.Commit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A kernel's name is for one process. A second one is refused, and says who has it; when the first has
// closed the store, the next one goes on with its log.
func TestOneProcessForEachName(t *testing.T) {
	o := pgtest.Options(t, "one")
	o.Hold = 3 * time.Second
	first, err := postgres.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, first, batch("a"))
	if _, err := postgres.Open(t.Context(), o); !errors.Is(err, kernel.ErrUnavailable) ||
		!strings.Contains(err.Error(), "holds the kernel name one") || !strings.Contains(err.Error(), "name of its own") {
		t.Errorf("a second process: %v", err)
	}
	other := o
	other.Kernel = "two"
	if r := commit(t, pgtest.Open(t, other), batch("a")); r.First != 1 {
		t.Errorf("another kernel's log begins with %d", r.First)
	}
	reader := o
	reader.ReadOnly = true
	r := pgtest.Open(t, reader)
	if es, err := r.Events(t.Context(), wire.Query{}); err != nil || len(es) != 1 {
		t.Errorf("a reader beside it: %d events, %v", len(es), err)
	}
	if _, err := r.Commit(t.Context(), batch("x")); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("a reader writes: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := pgtest.Open(t, o)
	if r := commit(t, again, batch("b")); r.First != 2 {
		t.Errorf("the log goes on with %d", r.First)
	}
	storetest.CheckLog(t, again)
}

// A process that crashed has not given its name back. The next one waits until it is known to be gone, and goes on.
func TestAfterACrashTheNextOneWaits(t *testing.T) {
	o := pgtest.Options(t, "one")
	o.Hold = 3 * time.Second
	first := pgtest.Open(t, o)
	commit(t, first, batch("a"))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// As a crash leaves it: held, heard of just now, by a session that is not there any more.
	pgtest.Exec(t, o.Schema, "UPDATE kernels SET holder = gen_random_uuid(), renewed = clock_timestamp()")
	if r := commit(t, pgtest.Open(t, o), batch("b")); r.First != 2 {
		t.Errorf("the log goes on with %d", r.First)
	}
}

// A kernel that has lost its name cannot write any more: the fencing number in its transactions is an older one.
func TestWhoLostTheNameCannotWrite(t *testing.T) {
	o := pgtest.Options(t, "one")
	o.Hold = 10 * time.Minute // so that it is not heard of meanwhile
	first := pgtest.Open(t, o)
	commit(t, first, batch("a"))
	o.Hold = 3 * time.Second
	// As when it was not heard of for so long that another process was let in.
	pgtest.Exec(t, o.Schema, "UPDATE kernels SET renewed = '-infinity'")
	second := pgtest.Open(t, o)
	commit(t, second, batch("b"))
	for _, b := range []kernel.Batch{batch("c"),
		{Now: storetest.T0, Events: batch("d").Events,
			Latch: &kernel.Latch{Runtime: "r", Session: "s", Since: storetest.T0}}} {
		if _, err := first.Commit(t.Context(), b); !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("the one that lost its name: %v", err)
		}
	}
	if err := first.AddCheckpoint(t.Context(), 1, []byte("x")); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("a checkpoint: %v", err)
	}
	es, err := second.Events(t.Context(), wire.Query{})
	if err != nil || len(es) != 2 || es[1].ID != "b" {
		t.Errorf("%+v, %v", es, err)
	}
	if l, err := second.Latches(t.Context()); err != nil || len(l) != 0 {
		t.Errorf("%v, %v", l, err)
	}
}

// Connections are cut all the time while callers commit. Each batch is written once, or not at all and its
// caller knows; a caller is told the number that its event has.
func TestCutConnections(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "cut")
	o.DSN = p.DSN(t)
	s := pgtest.Open(t, o)
	var stop atomic.Bool
	done := make(chan map[string]int64)
	const callers = 4
	for c := range callers {
		go func() {
			mine := map[string]int64{}
			for n := 0; !stop.Load(); n++ {
				id := fmt.Sprint(c, "-", n)
				b := batch(id)
				if n%3 == 0 {
					b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: id, Value: []byte("v")}}
				}
				if r, err := s.Commit(t.Context(), b); err == nil {
					mine[id] = r.First
				} else if !errors.Is(err, kernel.ErrUnavailable) {
					t.Error(err)
				} else {
					mine[id] = 0
				}
			}
			done <- mine
		}()
	}
	for n := range 15 {
		time.Sleep(60 * time.Millisecond)
		if n%5 == 4 {
			p.Down(true)
			time.Sleep(50 * time.Millisecond)
			p.Down(false)
			continue
		}
		p.Cut()
	}
	stop.Store(true)
	told := map[string]int64{}
	for range callers {
		for id, seq := range <-done {
			told[id] = seq
		}
	}
	compare(t, s, told)
}

// readsWithin waits until a store that was cut off reads again by itself.
func readsWithin(t *testing.T, s kernel.Store, within time.Duration) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		_, err := s.LogSize(t.Context())
		if err == nil {
			return
		}
		if !errors.Is(err, kernel.ErrUnavailable) || time.Since(begun) > within {
			t.Fatal(err)
		}
	}
}

// compare checks that the log holds exactly what callers were told.
func compare(t *testing.T, s kernel.Store, told map[string]int64) {
	t.Helper()
	readsWithin(t, s, 5*time.Second) // after a cut, until the writer is back
	written := 0
	stored := map[string]int64{}
	for after := int64(0); ; {
		es, err := s.Events(t.Context(), wire.Query{After: after, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if len(es) == 0 {
			break
		}
		for _, e := range es {
			if stored[e.ID] != 0 {
				t.Errorf("event %s is there twice", e.ID)
			}
			stored[e.ID] = e.Seq
			after = e.Seq
		}
	}
	for id, seq := range told {
		if stored[id] != seq {
			t.Errorf("event %s: its caller was told %d, and it has number %d", id, seq, stored[id])
		}
		if seq != 0 {
			written++
		}
		delete(stored, id)
	}
	if len(stored) > 0 || written == 0 {
		t.Errorf("%d events have no caller; %d were written", len(stored), written)
	}
	storetest.CheckLog(t, s)
	if r, err := s.Restrictions(t.Context()); err != nil || r.Tampered != nil {
		t.Errorf("%+v, %v", r.Tampered, err)
	}
	t.Logf("%d events, %d refused", written, len(told)-written)
}

// The answer to a commit is lost on its way back. The caller is told what is true, for both ways to write.
func TestLostAnswers(t *testing.T) {
	for name, change := range map[string]func(*kernel.Batch){
		"events": func(*kernel.Batch) {},
		"rows": func(b *kernel.Batch) {
			b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: b.Events[0].ID, Value: []byte("v")}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pgtest.NewProxy(t)
			o := pgtest.Options(t, "lost")
			o.DSN = p.DSN(t)
			s := pgtest.Open(t, o)
			commit(t, s, batch("first"))
			told := map[string]int64{"first": 1}
			for n := range 25 {
				var lost atomic.Int64
				p.Drop(func(b []byte) bool { // one answer of the next few
					return lost.Add(1) == int64(n%5+1)
				})
				b := batch(fmt.Sprint("e", n))
				change(&b)
				r, err := s.Commit(t.Context(), b)
				p.Drop(nil)
				if err != nil && !errors.Is(err, kernel.ErrUnavailable) {
					t.Error(err)
				}
				if err != nil {
					t.Logf("e%d: %v", n, err)
				}
				told[b.Events[0].ID] = r.First
			}
			compare(t, s, told)
		})
	}
}

// The server crashes and comes back while callers commit. No hand is needed, and nothing is lost or doubled.
func TestServerRestarts(t *testing.T) {
	o := pgtest.Options(t, "restart")
	s := pgtest.Open(t, o)
	var stop atomic.Bool
	done := make(chan map[string]int64)
	go func() {
		told := map[string]int64{}
		for n := 0; !stop.Load(); n++ {
			id := fmt.Sprint("e", n)
			r, err := s.Commit(t.Context(), batch(id))
			if told[id] = r.First; err != nil {
				time.Sleep(10 * time.Millisecond)
			}
		}
		done <- told
	}()
	longer := func(than int64) {
		for size := int64(0); size <= than; time.Sleep(10 * time.Millisecond) {
			size, _ = s.LogSize(t.Context())
		}
	}
	longer(5)
	pgtest.Restart(t)
	size, err := s.LogSize(t.Context())
	for ; err != nil; size, err = s.LogSize(t.Context()) {
		time.Sleep(10 * time.Millisecond)
	}
	longer(size + 5)
	stop.Store(true)
	compare(t, s, <-done)
	commit(t, s, batch("after"))
}

// What says that a kernel is there, and what is made again from the events, waits for no disk.
func TestWhatACrashMayTakeWaitsForNoDisk(t *testing.T) {
	o := pgtest.Options(t, "disk")
	pgtest.Open(t, o)
	for _, call := range []string{"renew(id, fence)", "add_block(id, fence, 7, 0, 0, '{}', '{}')"} {
		pgtest.Exec(t, o.Schema, "DO $$ BEGIN PERFORM "+call+" FROM kernels; "+
			"IF current_setting('synchronous_commit') <> 'off' THEN RAISE EXCEPTION 'it waits'; END IF; END $$")
	}
}
