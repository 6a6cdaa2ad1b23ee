package forward_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// batch returns a batch with one event.
func batch(id string) kernel.Batch {
	return kernel.Batch{Now: storetest.T0,
		Events: []phases.Event{{ID: id, Type: phases.EventVerdict, Time: storetest.T0}}}
}

func holder() leases.Holder {
	return leases.Holder{Runtime: "r", Session: "s", Agent: "a", Credential: "c"}
}

// minted returns a batch that makes a lease of so many uses.
func minted(id string, uses int64) kernel.Batch {
	b := batch("mint " + id)
	b.Leases = []leases.Op{{Kind: leases.OpMint, At: storetest.Wall(storetest.T0), Quota: 100, Lease: leases.Lease{ID: id,
		Holder: holder(), NotBefore: storetest.T0, ExpiresAt: storetest.T0.Add(time.Hour), MaxTTLS: 3600, MaxUses: uses,
		State: leases.Active, Created: storetest.T0, Token: []byte("token of " + id)}}}
	return b
}

// claimed returns a batch that uses a lease once, and changes a local row.
func claimed(event, lease string) kernel.Batch {
	b := batch(event)
	b.Leases = []leases.Op{{Kind: leases.OpClaim, ID: lease, By: holder(), At: storetest.Wall(storetest.T0)}}
	b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: event, Value: []byte("local")}}
	return b
}

func commit(t *testing.T, s kernel.Store, b kernel.Batch) kernel.Receipt {
	t.Helper()
	r, err := s.Commit(t.Context(), b)
	if err != nil {
		t.Fatalf("Commit of %q: %v", b.Events[0].ID, err)
	}
	return r
}

func refused(t *testing.T, s kernel.Store, b kernel.Batch) error {
	t.Helper()
	_, err := s.Commit(t.Context(), b)
	if !errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("Commit of %q: %v, want ErrUnavailable", b.Events[0].ID, err)
	}
	return err
}

// until waits for what the forwarder does in the background.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 20 seconds: not %s", what)
		}
	}
}

func uses(t *testing.T, s kernel.Store, lease string) int64 {
	t.Helper()
	l, err := s.Lease(t.Context(), lease)
	if err != nil || l == nil {
		t.Fatalf("lease %s: %v, %v", lease, l, err)
	}
	return l.Uses
}

func kill(t *testing.T, s *forward.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// same waits until the log of the kernel in PostgreSQL is the local one, and compares them byte by byte.
func same(t *testing.T, s *forward.Store, o postgres.Options) {
	t.Helper()
	until(t, "forwarded", func() bool { st := s.State(); return st.Waiting == 0 && st.Away.IsZero() })
	size := storetest.CheckLog(t, s)
	a, err := postgres.OpenAuditor(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	rows, err := a.Kernels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range rows {
		if k.Name != o.Kernel {
			continue
		}
		there := a.Log(k.ID)
		if k.Size != size {
			t.Fatalf("PostgreSQL has %d events, here are %d", k.Size, size)
		}
		own, err1 := s.LogLeaves(t.Context(), 0, 100_000)
		got, err2 := there.LogLeaves(t.Context(), 0, 100_000)
		if err := errors.Join(err1, err2); err != nil || len(own) != len(got) {
			t.Fatalf("%d leaves here, %d there, %v", len(own), len(got), err)
		}
		for i := range own {
			if string(own[i].Body) != string(got[i].Body) || !got[i].Copies {
				t.Fatalf("event %d is\n%s\nthere, and here\n%s", i+1, got[i].Body, own[i].Body)
			}
		}
		until(t, "all checkpoints", func() bool {
			mine, err1 := s.Checkpoints(t.Context())
			theirs, err2 := there.Checkpoints(t.Context())
			return err1 == nil && err2 == nil && fmt.Sprintf("%s", mine) == fmt.Sprintf("%s", theirs)
		})
	}
	r, err := s.Restrictions(t.Context())
	if err != nil || r.Tampered != nil || r.Found != r.Recorded {
		t.Fatalf("the rows that restrict: %+v, %v", r, err)
	}
}

// The local log gets to PostgreSQL as it is, with its checkpoints, and goes on from there after a restart; so does one
// that was there before.
func TestForwards(t *testing.T) {
	o := pgtest.Options(t, "k")
	path := filepath.Join(t.TempDir(), "belay.db")
	local, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 700 { // more than one statement
		commit(t, local, batch(fmt.Sprint("before-", i)))
	}
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	for run := range 3 {
		s := open(t, path, o, forward.Options{})
		for i := range 20 {
			b := batch(fmt.Sprint(run, "-", i))
			b.Latch = &kernel.Latch{Runtime: "r", Session: b.Events[0].ID, Since: storetest.T0}
			commit(t, s, b)
			if i%5 == 0 {
				if err := s.AddCheckpoint(t.Context(), int64(700+20*run+i+1), []byte(b.Events[0].ID)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if run == 1 {
			commit(t, s, minted("l", 3))
		}
		same(t, s, o)
		kill(t, s)
	}
}

// Another process on the same database has its events forwarded, too.
func TestForwardsWhatOthersWrite(t *testing.T) {
	o := pgtest.Options(t, "k")
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, o, forward.Options{Probe: 20 * time.Millisecond})
	defer kill(t, s)
	other, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	commit(t, other, batch("other"))
	until(t, "seen", func() bool { return s.State().Forwarded == 1 })
	commit(t, s, minted("l", 1))
	same(t, s, o)
}

// A log in PostgreSQL that is not a beginning of the local one is never continued: not where it has other events, and
// not where it has more.
func TestForked(t *testing.T) {
	for name, events := range map[string][]string{"other events": {"x", "b", "c"}, "fewer events": {"a"}} {
		t.Run(name, func(t *testing.T) {
			o := pgtest.Options(t, "k")
			first := open(t, filepath.Join(t.TempDir(), "belay.db"), o, forward.Options{})
			for _, id := range []string{"a", "b"} {
				commit(t, first, batch(id))
			}
			same(t, first, o)
			kill(t, first)
			path := filepath.Join(t.TempDir(), "belay.db")
			s := open(t, path, pgtest.Options(t, "another"), forward.Options{})
			for _, id := range events {
				commit(t, s, batch(id))
			}
			kill(t, s)
			s = open(t, path, o, forward.Options{})
			defer kill(t, s)
			st := s.State()
			if st.Forked == "" || !st.Red() {
				t.Errorf("it is not told: %+v", st)
			}
			if err := refused(t, s, minted("l", 1)); !strings.Contains(err.Error(), "forked") {
				t.Errorf("what is shared: %v", err)
			}
			commit(t, s, batch("local")) // goes on
		})
	}
}
