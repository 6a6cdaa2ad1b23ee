package forward

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func aStore(t *testing.T, o Options) *Store {
	t.Helper()
	local, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belay.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), local, postgres.Options{DSN: "postgres://u@/d?host=/none", Kernel: "k"}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { local.Close() })
	return s
}

func events(id string, reason string) kernel.Batch {
	return kernel.Batch{Now: storetest.T0, Events: []phases.Event{{ID: id, Time: storetest.T0, Reason: reason}}}
}

// Only hashes of the local tree are a beginning of it.
func TestOnlyTheSameLogIsContinued(t *testing.T) {
	s := aStore(t, Options{})
	for i := range 3 {
		if _, err := s.Commit(t.Context(), events(fmt.Sprint("e", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	index := tlog.StoredHashIndex(1, 0)
	own, err := s.Store.LogHashes(t.Context(), []int64{index})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.same(t.Context(), map[int64]tlog.Hash{index: own[0]}); err != nil {
		t.Error(err)
	}
	var forked *postgres.ForkedError
	other := own[0]
	other[31]++
	if err := s.same(t.Context(), map[int64]tlog.Hash{index: other}); !errors.As(err, &forked) ||
		!errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// An event that records what is shared was in PostgreSQL first: it is never forwarded.
func TestNoSharedEventIsForwarded(t *testing.T) {
	s := aStore(t, Options{})
	text := []byte(`{"seq":0,"id":"e"}`)
	plain := leaf.Numbered(nil, text, 1, &restrict.Digest{1})
	if err := s.lost(0, [][]byte{plain}); err != nil {
		t.Error(err)
	}
	shared := leaf.Sharing(nil, text, 2, restrict.Digest{1}, restrict.Digest{2})
	if err := s.lost(0, [][]byte{plain, shared}); !errors.Is(err, kernel.ErrRollback) {
		t.Errorf("%v", err)
	}
}

// Events of another program are not taken over.
func TestForeignEventsAreNotTakenOver(t *testing.T) {
	s := aStore(t, Options{})
	u := &sqlite.Unsettled{First: 1, IDs: []string{"e"}}
	if err := s.foreign(u, [][]byte{[]byte(`{"seq":1,"id":"e","type":"","time":"2026-01-01T00:00:00Z"}`)}); err != nil {
		t.Error(err)
	}
	if err := s.foreign(u, [][]byte{[]byte(`{"seq":1,"id":"x","type":"","time":"2026-01-01T00:00:00Z"}`)}); err == nil {
		t.Error("another event is one of the batch")
	}
}

// Without PostgreSQL nothing that needs it is decided, and no more is kept than may wait.
func TestNothingIsDecidedHere(t *testing.T) {
	s := aStore(t, Options{Keep: 3000})
	b := events("claim", "")
	b.Leases = []leases.Op{{Kind: leases.OpClaim, ID: "l", At: storetest.Wall(storetest.T0)}}
	if _, err := s.Commit(t.Context(), b); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("a claim: %v", err)
	}
	if l, err := s.Lease(t.Context(), "l"); l != nil || !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("a lease: %v, %v", l, err)
	}
	n := 0
	for ; n < 100; n++ {
		if _, err := s.Commit(t.Context(), events(fmt.Sprint("e", n), "")); err != nil {
			if !errors.Is(err, kernel.ErrUnavailable) || !s.State().Full {
				t.Error(err)
			}
			break
		}
	}
	if n == 0 || n == 100 {
		t.Errorf("%d events were kept", n)
	}
}

// Contents that PostgreSQL has not got are not removed here; see TestCompactedContentsAreForwardedFirst.
func TestNothingIsRemovedBeforeItIsForwarded(t *testing.T) {
	s := aStore(t, Options{})
	for i := range 3 {
		if _, err := s.Commit(t.Context(), events(fmt.Sprint("e", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	b := events("compacts", "")
	b.Compact = 2
	if _, err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if left, err := s.LogRemove(t.Context(), 100); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("%d left, %v", left, err)
	}
	if bodies, err := s.Store.Bodies(t.Context(), 0, 10, 1<<20); err != nil || len(bodies) != 4 {
		t.Errorf("%d events, %v", len(bodies), err)
	}
}

// A recovery counts once its event is in the local log.
func TestARecoveryThatWasCutOff(t *testing.T) {
	s := aStore(t, Options{})
	if wrong, err := s.unwritten(t.Context(), "e"); err != nil || !errors.Is(wrong, kernel.ErrRollback) ||
		!errors.Is(wrong, marked.ErrBegun) {
		t.Errorf("%v, %v", wrong, err)
	}
	if _, err := s.Commit(t.Context(), events("e", "")); err != nil {
		t.Fatal(err)
	}
	if wrong, err := s.unwritten(t.Context(), "e"); err != nil || wrong != nil {
		t.Errorf("%v, %v", wrong, err)
	}
}
