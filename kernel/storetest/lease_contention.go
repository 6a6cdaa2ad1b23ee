package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
)

func leasesContended(t *testing.T, s kernel.Store) {
	commit(t, s, ops(mint(lease("a", 150)), mint(child("a/c", "a", 1, 50))))
	taken := contend(t, s, 64, 10, "a", "a/c")
	if taken["a"]+taken["a/c"] != 150 || taken["a/c"] > 50 {
		t.Errorf("taken: %v of 150 and 50", taken)
	}
	wantUses(t, s, "a", 150, leases.Exhausted)
}

// contend lets many goroutines claim the leases over and over, and returns how
// many claims of each were acknowledged.
func contend(t *testing.T, s kernel.Store, goroutines, each int, ids ...string) map[string]int64 {
	var mu sync.Mutex
	taken := map[string]int64{}
	var wg sync.WaitGroup
	var bad atomic.Int64
	for g := range goroutines {
		wg.Go(func() {
			for n := range each {
				id := ids[(g+n)%len(ids)]
				_, err := s.Commit(t.Context(), evented(ops(claim(id, at(0)))))
				switch {
				case err == nil:
					mu.Lock()
					taken[id]++
					mu.Unlock()
				case !errors.Is(err, kernel.ErrConflict):
					bad.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := bad.Load(); n > 0 {
		t.Errorf("%d claims ended in other errors than a conflict", n)
	}
	return taken
}

// MintContended puts a lease with that many uses in the store.
func MintContended(t testing.TB, s kernel.Store, id string, uses int64) {
	t.Helper()
	if _, err := s.Commit(t.Context(), evented(ops(mint(lease(id, uses))))); err != nil {
		t.Fatal(err)
	}
}

// MintContendedChild is MintContended for a child of a lease at the top.
func MintContendedChild(t testing.TB, s kernel.Store, id, parent string, uses int64) {
	t.Helper()
	if _, err := s.Commit(t.Context(), evented(ops(mint(child(id, parent, 1, uses))))); err != nil {
		t.Fatal(err)
	}
}

// Claim takes one use of a lease of MintContended.
func Claim(id string) leases.Op { return claim(id, at(0)) }

// Mint makes a lease.
func Mint(id string, uses int64) leases.Op { return mint(lease(id, uses)) }
