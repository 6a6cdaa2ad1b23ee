package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// stalled runs f while the server's answers to a commit of an event are held back. The commit's error is returned.
func stalled(t *testing.T, p *pgtest.Proxy, s kernel.Store, id string, f func()) (err error) {
	t.Helper()
	free, held := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p.Drop(func([]byte) bool {
		once.Do(func() { close(held) })
		<-free
		return false
	})
	var work sync.WaitGroup
	work.Go(func() { _, err = s.Commit(t.Context(), batch(id)) })
	<-held
	release := sync.OnceFunc(func() {
		p.Drop(nil)
		close(free)
	})
	defer release() // f may end the test
	f()
	release()
	work.Wait()
	return err
}

func ids(t *testing.T, s kernel.Store) (out []string) {
	t.Helper()
	es, err := s.Events(t.Context(), wire.Query{Limit: wire.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		out = append(out, e.ID)
	}
	return out
}

// second is how many callers are enough for a group that is sent behind another.
const second = 8

// secondGroup commits that many events, and returns their ids. Each caller that was told is counted.
func secondGroup(t *testing.T, s kernel.Store, work *sync.WaitGroup, told *atomic.Int32) (ids []string) {
	for n := range second {
		ids = append(ids, fmt.Sprint("second-", n))
		work.Go(func() {
			if _, err := s.Commit(t.Context(), batch(fmt.Sprint("second-", n))); err != nil {
				t.Error(err)
			}
			told.Add(1)
		})
	}
	return ids
}

// holdsOnce checks that a log holds events in this order, and then others, each once.
func holdsOnce(t *testing.T, s kernel.Store, first, others []string) {
	t.Helper()
	got := ids(t, s)
	slices.Sort(got[min(len(first), len(got)):])
	if diff := cmp.Diff(slices.Concat(first, others), got); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	storetest.CheckLog(t, s)
}

// While one group is on its way, callers behind it wait no longer than they want to, and what they gave up is not
// written. The others of their group are.
func TestCallersGiveUpBehindAGroup(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "giveup")
	o.DSN = p.DSN(t)
	s := pgtest.Open(t, o)
	var behind sync.WaitGroup
	if err := stalled(t, p, s, "first", func() {
		behind.Go(func() {
			if _, err := s.Commit(t.Context(), batch("second")); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(20 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := s.Commit(ctx, batch("given up")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that wants to wait 50 ms: %v", err)
		}
	}); err != nil {
		t.Error(err)
	}
	behind.Wait()
	commit(t, s, batch("third"))
	if diff := cmp.Diff([]string{"first", "second", "third"}, ids(t, s)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	storetest.CheckLog(t, s)
}

// What was made ready behind a group that fails is written as if that group had not been there.
func TestAGroupFailsInFrontOfOthers(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "infront")
	o.DSN = p.DSN(t)
	s := pgtest.Open(t, o)
	commit(t, s, batch("taken"))
	var behind sync.WaitGroup
	err := stalled(t, p, s, "taken", func() {
		for n := range 3 {
			behind.Go(func() {
				if _, err := s.Commit(t.Context(), batch(fmt.Sprint("behind-", n))); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
	})
	if err == nil {
		t.Error("an id was taken twice")
	}
	behind.Wait()
	if got := ids(t, s); len(got) != 4 || got[0] != "taken" {
		t.Errorf("the log has %v", got)
	}
	storetest.CheckLog(t, s)
}

// Two groups were on their way when their connection broke, one of them only in the writer: both are written once.
func TestAConnectionBreaksInFrontOfOthers(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "broken")
	o.DSN = p.DSN(t)
	s := pgtest.Open(t, o)
	var behind sync.WaitGroup
	if err := stalled(t, p, s, "first", func() {
		behind.Go(func() {
			if _, err := s.Commit(t.Context(), batch("second")); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(50 * time.Millisecond)
		p.Cut()
	}); err != nil {
		t.Error(err)
	}
	behind.Wait()
	if diff := cmp.Diff([]string{"first", "second"}, ids(t, s)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	storetest.CheckLog(t, s)
}

// eventually waits until a query that counts says so.
func eventually(t *testing.T, o postgres.Options, sql string, want int) {
	t.Helper()
	got := -1
	for end := time.Now().Add(10 * time.Second); got != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: %d, want %d", sql, got, want)
		}
		query(t, o, sql, &got)
	}
}

// A group does not wait for the answer to the one before it: the server has both before this process has read
// anything. All callers are told only when it has. Then the connection breaks or not: each event is there once.
func TestAGroupIsSentBehindAnother(t *testing.T) {
	for _, breaks := range []bool{false, true} {
		t.Run(fmt.Sprint("breaks=", breaks), func(t *testing.T) {
			p := pgtest.NewProxy(t)
			direct := pgtest.Options(t, "ahead")
			o := direct
			o.DSN = p.DSN(t)
			s := pgtest.Open(t, o)
			commit(t, s, batch("zeroth")) // which sets the clock that restricts, and so does not stream
			var behind sync.WaitGroup
			var told atomic.Int32
			var others []string
			if err := stalled(t, p, s, "first", func() {
				others = secondGroup(t, s, &behind, &told)
				eventually(t, direct, "SELECT count(*) FROM events", 2+second)
				time.Sleep(20 * time.Millisecond)
				if n := told.Load(); n > 0 {
					t.Errorf("%d callers were told before the server's answer was there", n)
				}
				if breaks {
					p.Cut()
				}
			}); err != nil {
				t.Error(err)
			}
			behind.Wait()
			holdsOnce(t, s, []string{"zeroth", "first"}, others)
		})
	}
}

// Two groups were on their way when their connection broke, and the server had written the first only.
func TestAConnectionBreaksBetweenTwoGroups(t *testing.T) {
	p := pgtest.NewProxy(t)
	direct := pgtest.Options(t, "between")
	o := direct
	o.DSN = p.DSN(t)
	s := pgtest.Open(t, o)
	commit(t, s, batch("zeroth"))
	// Another hand has an id of the second one, and has not committed it: the server cannot finish that group.
	other, err := pgx.Connect(t.Context(), direct.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(t.Context()))
	for _, sql := range []string{"SET search_path = " + o.Schema, "BEGIN",
		"INSERT INTO events SELECT id, 1000, 'second-0', 0, '' FROM kernels"} {
		if _, err := other.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	var behind sync.WaitGroup
	var told atomic.Int32
	var others []string
	if err := stalled(t, p, s, "first", func() {
		others = secondGroup(t, s, &behind, &told)
		const waits = "FROM pg_stat_activity, kernels WHERE pid = backend_pid AND wait_event_type = 'Lock'"
		eventually(t, direct, "SELECT count(*) "+waits, 1)
		var pid int
		query(t, direct, "SELECT pid "+waits, &pid)
		p.Cut()
		behind.Go(func() {
			eventually(t, direct, fmt.Sprint("SELECT count(*) FROM pg_stat_activity WHERE pid = ", pid), 0)
			if _, err := other.Exec(t.Context(), "ROLLBACK"); err != nil {
				t.Error(err)
			}
		})
	}); err != nil {
		t.Error(err)
	}
	behind.Wait()
	holdsOnce(t, s, []string{"zeroth", "first"}, others)
}

// When a group is refused, so is the one that was sent behind it: its events come where the first one's would be.
func TestARefusedGroupTakesTheNextWithIt(t *testing.T) {
	p := pgtest.NewProxy(t)
	direct := pgtest.Options(t, "refused")
	o := direct
	o.DSN = p.DSN(t)
	s := pgtest.Open(t, o)
	commit(t, s, batch("taken"))
	var behind sync.WaitGroup
	var told atomic.Int32
	var others []string
	err := stalled(t, p, s, "taken", func() {
		others = secondGroup(t, s, &behind, &told)
		time.Sleep(100 * time.Millisecond) // enough for the server to refuse both
		var n int
		if query(t, direct, "SELECT count(*) FROM events", &n); n != 1 {
			t.Errorf("the log has %d events", n)
		}
	})
	if err == nil {
		t.Error("an id was taken twice")
	}
	behind.Wait()
	holdsOnce(t, s, []string{"taken"}, others)
}
