package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
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
	f()
	p.Drop(nil)
	close(free)
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
