package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
)

// fleet is kernels on one database, and what their callers were told.
type fleet struct {
	stores []*postgres.Store
	told   []map[string]int64 // by kernel: the number of each event, 0 when it was refused
	mu     sync.Mutex

	claims   atomic.Int64 // that were granted
	consumed [approvalCount]atomic.Int64
	counted  atomic.Int64
	held     atomic.Int64 // answers of a store that was away
}

const (
	leaseUses     = 60
	approvalCount = 8
)

func holder() leases.Holder {
	return leases.Holder{Runtime: "r", Session: "s", Agent: "a", Credential: "c"}
}

// prepare mints one lease and has approvals decided, by the first kernel.
func (f *fleet) prepare(t *testing.T) {
	t.Helper()
	b := batch("prepare")
	b.Leases = []leases.Op{{Kind: leases.OpMint, At: storetest.Wall(storetest.T0), Quota: 5, Lease: leases.Lease{ID: "l",
		Holder: leases.Holder{Runtime: "r", Session: "s", Agent: "a"}, NotBefore: storetest.T0,
		ExpiresAt: storetest.T0.Add(time.Hour), MaxTTLS: 3600, MaxUses: leaseUses, State: leases.Active,
		Created: storetest.T0,
		Token:   []byte("token")}}}
	for n := range approvalCount {
		it := approvals.Item{ID: fmt.Sprint("q", n), Kind: approvals.KindAsk, Key: fmt.Sprint("key", n),
			State: approvals.Pending, By: approvals.Requester{Credential: "c"}, Created: storetest.T0,
			Expires: storetest.T0.Add(time.Hour)}
		d := &approvals.Decision{Verdict: approvals.Approve, By: "dev", At: storetest.T0, Until: storetest.T0.Add(time.Hour)}
		b.Approvals = append(b.Approvals, approvals.Op{Create: &it, Quota: approvalCount},
			approvals.Op{Change: &approvals.Change{ID: it.ID, From: approvals.Pending, To: approvals.Approved,
				Decision: d, At: storetest.Wall(storetest.T0)}})
	}
	f.told[0]["prepare"] = commit(t, f.stores[0], b).First
}

// caller does one thing after the other, as one of a kernel's callers, and notes what it was told.
func (f *fleet) caller(t *testing.T, k, c, operations int, random *rand.Rand) {
	s := f.stores[k]
	for n, done := 0, 0; done < operations; n++ {
		b := batch(fmt.Sprintf("%d-%d-%d", k, c, n))
		item := random.IntN(approvalCount)
		op := random.IntN(4)
		switch op {
		case 0:
			b.Leases = []leases.Op{{Kind: leases.OpClaim, ID: "l", By: holder(), At: storetest.Wall(storetest.T0)}}
		case 1:
			b.Approvals = []approvals.Op{{Change: &approvals.Change{ID: fmt.Sprint("q", item), From: approvals.Approved,
				To: approvals.Consumed, At: storetest.Wall(storetest.T0)}}}
		case 2:
			v, err := s.HookState(t.Context(), "n", "counter")
			if err != nil {
				f.away()
				continue
			}
			count, _ := strconv.Atoi(string(v.Value))
			b.StateReads = []kernel.StateRead{{Namespace: "n", Key: "counter", Version: v.Version}}
			b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: "counter", Value: []byte(strconv.Itoa(count + 1))}}
		}
		r, err := s.Commit(t.Context(), b)
		f.mu.Lock()
		f.told[k][b.Events[0].ID] = r.First
		f.mu.Unlock()
		done++
		switch {
		case err == nil && op == 0:
			f.claims.Add(1)
		case err == nil && op == 1:
			f.consumed[item].Add(1)
		case err == nil && op == 2:
			f.counted.Add(1)
		case err == nil || errors.Is(err, kernel.ErrConflict):
		case errors.Is(err, kernel.ErrUnavailable) && !errors.Is(err, kernel.ErrTampered):
			done--
			f.away()
		default:
			t.Error(err)
		}
	}
}

func (f *fleet) away() {
	f.held.Add(1)
	time.Sleep(50 * time.Millisecond)
}

// Many kernels with many callers share one database, while connections are cut and the server crashes once.
// No lease is used more often than it may be, no approval twice, no count is lost, and each log holds what
// its callers were told. BELAY_FLEET_KERNELS, _CALLERS and _OPERATIONS make it larger and longer.
func TestManyKernels(t *testing.T) {
	kernels, callers := setting("BELAY_FLEET_KERNELS", 4), setting("BELAY_FLEET_CALLERS", 4)
	operations := setting("BELAY_FLEET_OPERATIONS", 25*kernels*callers) / (kernels * callers)
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "k0")
	o.DSN = p.DSN(t)
	f := &fleet{}
	for k := range kernels {
		o.Kernel = fmt.Sprint("k", k)
		f.stores, f.told = append(f.stores, pgtest.Open(t, o)), append(f.told, map[string]int64{})
	}
	f.prepare(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var work, trouble sync.WaitGroup
	for k := range kernels {
		for c := range callers {
			work.Go(func() { f.caller(t, k, c, operations, rand.New(rand.NewPCG(seed, uint64(k*callers+c)))) })
		}
	}
	done := make(chan struct{})
	trouble.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-time.After(time.Duration(400+40*n) * time.Millisecond): // a busy machine has to get anywhere at all
			}
			if n == 1 && os.Getenv("BELAY_TEST_POSTGRES_CONTROL") != "" {
				pgtest.Restart(t)
			} else {
				p.Cut()
			}
		}
	})
	work.Wait()
	close(done)
	trouble.Wait()
	f.check(t)
}

// setting returns a number of the environment, or the usual one.
func setting(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return usual
}

func (f *fleet) check(t *testing.T) {
	t.Helper()
	s := f.stores[0]
	l, err := s.Lease(t.Context(), "l")
	for errors.Is(err, kernel.ErrUnavailable) && !errors.Is(err, kernel.ErrTampered) {
		time.Sleep(10 * time.Millisecond) // the server may just be coming back
		l, err = s.Lease(t.Context(), "l")
	}
	if err != nil || l.Uses != f.claims.Load() || l.Uses > leaseUses {
		t.Errorf("the lease has %d uses of %d, and %d claims were granted; %v", l.Uses, leaseUses, f.claims.Load(), err)
	}
	for n := range f.consumed {
		it, err := s.Approval(t.Context(), fmt.Sprint("q", n))
		uses := f.consumed[n].Load()
		if err != nil || uses > 1 || (uses == 1) != (it.State == approvals.Consumed) {
			t.Errorf("approval %d was used %d times and is %s; %v", n, uses, it.State, err)
		}
	}
	v, err := s.HookState(t.Context(), "n", "counter")
	if count, _ := strconv.ParseInt(string(v.Value), 10, 64); err != nil || count != f.counted.Load() {
		t.Errorf("the counter is %d after %d increments; %v", count, f.counted.Load(), err)
	}
	for k, s := range f.stores {
		compare(t, s, f.told[k])
	}
	t.Logf("%d claims, %d increments; %d times the store was away", f.claims.Load(), f.counted.Load(), f.held.Load())
}
