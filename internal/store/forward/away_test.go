package forward_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// PostgreSQL is away, from the start and in between: what needs it is refused at once, the rest goes on, and all of it
// gets there afterwards without a hand.
func TestAway(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "k")
	direct := o
	o.DSN = p.DSN(t)
	p.Down(true)
	s := open(t, filepath.Join(t.TempDir(), "belay.db"), o, forward.Options{Probe: 20 * time.Millisecond})
	defer kill(t, s)
	for round := range 2 {
		until(t, "away", func() bool { return !s.State().Away.IsZero() })
		begun := time.Now()
		for i := range 30 {
			commit(t, s, batch(fmt.Sprint(round, "-", i)))
			refused(t, s, claimed(fmt.Sprint("claim-", round, "-", i), "l"))
			if _, err := s.Lease(t.Context(), "l"); !errors.Is(err, kernel.ErrUnavailable) {
				t.Fatalf("a lease: %v", err)
			}
			if _, err := s.Approvals(t.Context(), approvals.Query{}); !errors.Is(err, kernel.ErrUnavailable) {
				t.Fatalf("approvals: %v", err)
			}
		}
		if _, err := s.Commit(t.Context(), kernel.Batch{Now: batch("x").Now, Prune: true,
			Events: batch(fmt.Sprint("prune-", round)).Events}); err != nil {
			t.Errorf("what has had its time here stays: %v", err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("it took %v: something waits", took)
		}
		if st := s.State(); st.Waiting != 31 || st.Bytes == 0 || st.Why == "" || st.Red() {
			t.Errorf("the state is %+v", st)
		}
		p.Down(false)
		until(t, "back", func() bool { return s.State().Away.IsZero() })
		commit(t, s, minted(fmt.Sprint("l", round), 1))
		same(t, s, direct)
		p.Down(true)
	}
	p.Down(false)
}

// So many bytes may wait, and then nothing is committed, until PostgreSQL has taken some.
func TestKeep(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "k")
	direct := o
	o.DSN = p.DSN(t)
	p.Down(true)
	path := filepath.Join(t.TempDir(), "belay.db")
	bounds := forward.Options{Keep: 20_000, Probe: 20 * time.Millisecond}
	s := open(t, path, o, bounds)
	full := func(n int) bool {
		b := batch(fmt.Sprint("e", n))
		b.Events[0].Reason = strings.Repeat(fmt.Sprintf("%08x", rand.Uint32()), 60)
		_, err := s.Commit(t.Context(), b)
		if err != nil &&
			(!errors.Is(err, kernel.ErrUnavailable) || !strings.Contains(err.Error(), "keep allows 20000 bytes")) {
			t.Fatal(err)
		}
		return err != nil
	}
	n := 0
	for refusals := 0; refusals < 5 && n < 2000; n++ {
		if !full(n) {
			refusals = 0
			continue
		}
		refusals++ // that was an estimate until the forwarder has counted
		time.Sleep(50 * time.Millisecond)
	}
	if n < 10 || n > 1000 {
		t.Errorf("%d events fit", n)
	}
	if err := s.Probe(t.Context(), batch("x").Now); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("Probe: %v", err)
	}
	if st := s.State(); !st.Full || !st.Red() {
		t.Errorf("the state is %+v", st)
	}
	kill(t, s)
	s = open(t, path, o, bounds) // it is bound by what is on the disk, whatever process has put it there
	defer kill(t, s)
	refused(t, s, batch("more"))
	p.Down(false)
	until(t, "room", func() bool { return !s.State().Full })
	commit(t, s, batch("after"))
	commit(t, s, minted("l", 1))
	same(t, s, direct)
}

// Two kernels with logs of their own, one lease of one use: it is used once, by the first that comes.
func TestTwoKernels(t *testing.T) {
	o := pgtest.Options(t, "a")
	other := o
	other.Kernel = "b"
	var stores []*forward.Store
	for _, own := range []postgres.Options{o, other} {
		s := open(t, filepath.Join(t.TempDir(), "belay.db"), own, forward.Options{})
		defer kill(t, s)
		stores = append(stores, s)
	}
	for round := range 3 {
		lease := fmt.Sprint("l", round)
		commit(t, stores[0], minted(lease, 1))
		var granted atomic.Int64
		var work sync.WaitGroup
		for k, s := range stores {
			for c := range 3 {
				work.Go(func() {
					_, err := s.Commit(t.Context(), claimed(fmt.Sprint(round, "-", k, "-", c), lease))
					switch {
					case err == nil:
						granted.Add(1)
					case !errors.Is(err, kernel.ErrConflict):
						t.Error(err)
					}
				})
				work.Go(func() { commit(t, s, batch(fmt.Sprint("local-", round, "-", k, "-", c))) })
			}
		}
		work.Wait()
		if n := granted.Load(); n != 1 || uses(t, stores[1], lease) != 1 {
			t.Errorf("the lease was used %d times", n)
		}
	}
	same(t, stores[0], o)
	same(t, stores[1], other)
}

// An event that records what was shared is in PostgreSQL before it is here. If it is gone there, a use is gone with it:
// nothing shared is decided any more, and the rest goes on.
func TestCentreLostAUse(t *testing.T) {
	o := pgtest.Options(t, "k")
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, o, forward.Options{})
	commit(t, s, minted("l", 3))
	kill(t, s)
	pgtest.Exec(t, o.Schema, "UPDATE kernels SET size = 0, tail = ''", "DELETE FROM events", "DELETE FROM tiles")
	s = open(t, path, o, forward.Options{Probe: 10 * time.Millisecond})
	defer kill(t, s)
	if _, err := s.Commit(t.Context(), claimed("claim", "l")); !errors.Is(err, kernel.ErrRollback) {
		t.Errorf("a claim: %v, want ErrRollback", err)
	}
	if st := s.State(); !strings.Contains(st.Lost, "lost event 1") || !st.Red() {
		t.Errorf("the state is %+v", st)
	}
	commit(t, s, batch("local"))
}

// What PostgreSQL has not got yet is not removed here.
func TestCompactedContentsAreForwardedFirst(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "k")
	direct := o
	o.DSN = p.DSN(t)
	s := open(t, filepath.Join(t.TempDir(), "belay.db"), o, forward.Options{Probe: 10 * time.Millisecond})
	defer kill(t, s)
	commit(t, s, batch("first"))
	same(t, s, direct)
	p.Down(true)
	until(t, "away", func() bool {
		_, err := s.Lease(t.Context(), "l")
		return err != nil && !s.State().Away.IsZero()
	})
	for i := range 5 {
		commit(t, s, batch(fmt.Sprint("e", i)))
	}
	b := batch("compacts")
	b.Compact = 4
	commit(t, s, b)
	if left, err := s.LogRemove(t.Context(), 100); err != nil || left != 3 {
		t.Errorf("LogRemove: %d, %v; want 3 left", left, err)
	}
	if left, err := s.LogRemove(t.Context(), 100); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("LogRemove: %d, %v; want ErrUnavailable", left, err)
	}
	p.Down(false)
	until(t, "back", func() bool { return s.State().Away.IsZero() })
	if left, err := s.LogRemove(t.Context(), 100); err != nil || left != 0 {
		t.Errorf("LogRemove: %d, %v", left, err)
	}
	commit(t, s, minted("l", 1))
	if st := s.State(); st.Waiting != 0 {
		t.Errorf("the state is %+v", st)
	}
}
