package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// claimers is how many goroutines of one process fight for the same leases.
const claimers = 64

// contended are the leases that they fight for: one by itself, and a child whose
// uses count on its parent as well.
var contended = []string{"single", "tree/child", "tree"}

// claimAll makes attempts claims, each with the event that records it, and returns how
// many were acknowledged. Every answer but "yes" and "no" is an error.
func claimAll(path, name string, attempts int) (int64, error) {
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var next, taken atomic.Int64
	var first atomic.Pointer[error]
	var wg sync.WaitGroup
	for range claimers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(attempts); n = next.Add(1) {
				b := batch(fmt.Sprintf("%s-%d", name, n))
				b.Events[0].Type, b.Events[0].Decision = phases.EventLease, "claimed"
				b.Leases = []leases.Op{storetest.Claim(contended[n%int64(len(contended))])}
				switch _, err := s.Commit(context.Background(), b); {
				case err == nil:
					taken.Add(1)
				case !errors.Is(err, kernel.ErrConflict):
					first.CompareAndSwap(nil, &err)
					return
				}
			}
		})
	}
	wg.Wait()
	if p := first.Load(); p != nil {
		return taken.Load(), *p
	}
	return taken.Load(), nil
}

// TestContendedClaims: 64 goroutines in each of several processes claim the same
// leases in one database, far more often than they may. BELAY_CLAIMS sets how many
// claims are tried, BELAY_CLAIM_PROCESSES by how many processes.
func TestContendedClaims(t *testing.T) {
	attempts, processes := 20_000, 2
	if n, err := strconv.Atoi(os.Getenv("BELAY_CLAIMS")); err == nil {
		attempts = n
	}
	if n, err := strconv.Atoi(os.Getenv("BELAY_CLAIM_PROCESSES")); err == nil {
		processes = n
	}
	path := filepath.Join(t.TempDir(), "belay.db")
	uses := map[string]int64{"single": int64(attempts / 8), "tree": int64(attempts / 6),
		"tree/child": int64(attempts / 15)}
	s := open(t, path, sqlite.Options{})
	storetest.MintContended(t, s, "single", uses["single"])
	storetest.MintContended(t, s, "tree", uses["tree"])
	storetest.MintContendedChild(t, s, "tree/child", "tree", uses["tree/child"])
	minted, err := s.LogSize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	each := attempts / processes
	var others []*exec.Cmd
	var outs []*bytes.Buffer
	for p := 1; p < processes; p++ {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "BELAY_TEST_CLAIMER="+path, "BELAY_TEST_NAME=p"+strconv.Itoa(p),
			"BELAY_TEST_COUNT="+strconv.Itoa(each))
		out := new(bytes.Buffer)
		c.Stdout, c.Stderr = out, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		others, outs = append(others, c), append(outs, out)
	}
	taken, err := claimAll(path, "p0", each)
	if err != nil {
		t.Error(err)
	}
	for i, c := range others {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(outs[i].String()), 10, 64)
		if err != nil || n == 0 {
			t.Errorf("process %d took %d: %v", i+1, n, err)
		}
		taken += n
	}
	took := time.Since(start)
	var stored int64
	for _, id := range contended {
		l, err := s.Lease(t.Context(), id)
		if err != nil || l.Uses > uses[id] {
			t.Fatalf("%s: %d uses of %d: %v", id, l.Uses, uses[id], err)
		}
		if id != "tree/child" { // whose uses are among its parent's
			stored += l.Uses
		}
		if l.State != leases.Exhausted {
			t.Errorf("%s: %s after %d uses of %d", id, l.State, l.Uses, uses[id])
		}
	}
	if taken != stored || stored != uses["single"]+uses["tree"] {
		t.Errorf("%d claims acknowledged, %d stored, %d lent", taken, stored, uses["single"]+uses["tree"])
	}
	if n, err := s.LogSize(t.Context()); err != nil || n != taken+minted {
		t.Errorf("%d events for %d claims: %v", n, taken, err)
	}
	t.Logf("%d claims by %d × %d goroutines in %v (%.0f/s): %d acknowledged, 0 over", attempts, processes, claimers,
		took.Round(time.Millisecond),
		float64(attempts)/took.Seconds(), taken)
}

// BenchmarkClaim is one event, and the same event with a claim in its transaction.
func BenchmarkClaim(b *testing.B) {
	for _, c := range []struct {
		name string
		ids  []string
	}{{"event", nil}, {"claim", []string{"single"}}, {"claim-of-child", []string{"tree/child"}}} {
		b.Run(c.name, func(b *testing.B) {
			s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "belay.db"), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			storetest.MintContended(b, s, "single", leases.MaxUses)
			storetest.MintContended(b, s, "tree", leases.MaxUses)
			storetest.MintContendedChild(b, s, "tree/child", "tree", leases.MaxUses)
			i := 0
			medians(b, func() error {
				i++
				batch := batch("e" + strconv.Itoa(i))
				for _, id := range c.ids {
					batch.Leases = append(batch.Leases, storetest.Claim(id))
				}
				_, err := s.Commit(context.Background(), batch)
				return err
			})
		})
	}
}
