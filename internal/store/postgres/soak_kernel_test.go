package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
)

// soakWorld is what all kernels share, and how they use it. An event's id says what its batch does, so that the logs
// say what has happened: KERNEL.PROCESS-CALLER-NUMBER-WHAT.WHICH.
type soakWorld struct {
	operations, items int
	uses              int64 // of each lease: fewer than will be wanted
	done              int
}

const (
	soakLeases   = 32
	soakCounters = 32
	soakWindow   = 48 // items of the queue that are about to be asked, decided and used
)

func newSoakWorld(operations int) *soakWorld {
	return &soakWorld{operations: operations, items: operations/100 + soakWindow,
		uses: int64(operations)/20/soakLeases/2 + 1}
}

func (w *soakWorld) prepare(t *testing.T, o postgres.Options) {
	s, err := postgres.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b := batch("prepare")
	for n := range soakLeases {
		h := holder()
		h.Session = fmt.Sprint("s", n)
		b.Leases = append(b.Leases, leases.Op{Kind: leases.OpMint, At: storetest.Wall(storetest.T0), Quota: soakLeases,
			Lease: leases.Lease{ID: fmt.Sprint("l", n), Holder: h, NotBefore: storetest.T0,
				ExpiresAt: storetest.T0.Add(time.Hour), MaxTTLS: 3600, MaxUses: w.uses, State: leases.Active,
				Created: storetest.T0, Token: fmt.Append(nil, "token", n)}})
	}
	commit(t, s, b)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// batch returns what a caller does: mostly an event alone; else it uses a lease, asks, decides or uses an answer, or
// counts. progress is how far all is.
func (w *soakWorld) batch(s kernel.Store, t *testing.T, name string, progress float64, r *rand.Rand) (b kernel.Batch,
	err error) {
	what, which := "plain", 0
	at := storetest.Wall(storetest.T0)
	switch n := r.IntN(100); {
	case n < 5:
		what, which = "claim", r.IntN(soakLeases)
		h := holder()
		h.Session = fmt.Sprint("s", which)
		b.Leases = []leases.Op{{Kind: leases.OpClaim, ID: fmt.Sprint("l", which), By: h, At: at}}
	case n < 14:
		which = min(w.items-1, int(progress*float64(w.items-soakWindow))+r.IntN(soakWindow))
		id := fmt.Sprint("q", which)
		change := approvals.Change{ID: id, At: at}
		switch {
		case n < 8:
			what = "ask"
			it := approvals.Item{ID: id, Kind: approvals.KindAsk, Key: fmt.Sprint("key", which), State: approvals.Pending,
				By: approvals.Requester{Credential: fmt.Sprint("c", which)}, Created: storetest.T0,
				Expires: storetest.T0.Add(time.Hour)}
			b.Approvals = []approvals.Op{{Create: &it, Quota: 1}}
		case n < 11:
			what = "decide"
			change.From, change.To = approvals.Pending, approvals.Approved
			change.Decision = &approvals.Decision{Verdict: approvals.Approve, By: "dev", At: storetest.T0,
				Until: storetest.T0.Add(time.Hour)}
			b.Approvals = []approvals.Op{{Change: &change}}
		default:
			what = "use"
			change.From, change.To = approvals.Approved, approvals.Consumed
			b.Approvals = []approvals.Op{{Change: &change}}
		}
	case n < 19:
		what, which = "count", r.IntN(soakCounters)
		key := fmt.Sprint("counter", which)
		v, err := s.HookState(t.Context(), "n", key)
		if err != nil {
			return b, err
		}
		count, _ := strconv.Atoi(string(v.Value))
		b.StateReads = []kernel.StateRead{{Namespace: "n", Key: key, Version: v.Version}}
		b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: key, Value: []byte(strconv.Itoa(count + 1))}}
	}
	made := batch(fmt.Sprintf("%s-%s.%d", name, what, which))
	b.Now, b.Events = made.Now, made.Events
	return b, nil
}

// soakKernel is the process of one kernel. It writes each answer that a caller has into a journal; what is written
// there outlives the process.
type soakKernel struct {
	world   *soakWorld
	store   *postgres.Store
	name    string
	stop    string
	quota   int64
	done    atomic.Int64
	journal *os.File
}

// TestSoakKernel is the process of a kernel in TestSoak.
func TestSoakKernel(t *testing.T) {
	dir := os.Getenv("BELAY_SOAK_DIR")
	if dir == "" {
		t.Skip("it is a part of `make soak-postgres`")
	}
	name := "k" + os.Getenv("BELAY_SOAK_KERNEL")
	k := &soakKernel{world: newSoakWorld(setting("BELAY_SOAK_OPERATIONS", 1)), stop: filepath.Join(dir, "stop"),
		name: name + "." + os.Getenv("BELAY_SOAK_PROCESS"), quota: int64(setting("BELAY_SOAK_QUOTA", 1))}
	path := filepath.Join(dir, name+".journal")
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	k.done.Store(int64(strings.Count(string(before), "=")))
	if k.journal, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		t.Fatal(err)
	}
	o := postgres.Options{DSN: os.Getenv("BELAY_SOAK_DSN"), Schema: os.Getenv("BELAY_SOAK_SCHEMA"), Kernel: name,
		TLS: postgres.Off, AnyRole: true, Readers: 2, Hold: 6 * time.Second}
	for {
		if k.store, err = postgres.Open(t.Context(), o); err == nil {
			break
		}
		if !errors.Is(err, kernel.ErrUnavailable) || errors.Is(err, kernel.ErrTampered) ||
			errors.Is(err, kernel.ErrRollback) {
			t.Fatal(err)
		}
		t.Log(err)
		time.Sleep(300 * time.Millisecond)
	}
	var work sync.WaitGroup
	for c := range soakCallers() {
		work.Go(func() { k.caller(t, c) })
	}
	work.Wait()
	if err := k.store.Close(); err != nil {
		t.Error(err)
	}
}

// caller does one thing after the other until the kernel has done its part.
func (k *soakKernel) caller(t *testing.T, c int) {
	r := rand.New(rand.NewPCG(rand.Uint64(), uint64(c)))
	for n := 0; k.done.Load() < k.quota; {
		if _, err := os.Stat(k.stop); err == nil {
			return
		}
		b, err := k.world.batch(k.store, t, fmt.Sprintf("%s-%d-%d", k.name, c, n), float64(k.done.Load())/float64(k.quota), r)
		var seq int64
		if err == nil {
			n++
			var receipt kernel.Receipt
			receipt, err = k.store.Commit(t.Context(), b)
			seq = receipt.First
		}
		switch {
		case err == nil, errors.Is(err, kernel.ErrConflict):
			k.done.Add(1)
			k.note(t, "=", &b, seq)
		case errors.Is(err, kernel.ErrUnavailable) && !errors.Is(err, kernel.ErrTampered) && !errors.Is(err,
			kernel.ErrRollback):
			if len(b.Events) > 0 {
				k.note(t, "?", &b, 0)
			}
			time.Sleep(50 * time.Millisecond)
		default:
			t.Error(err)
			return
		}
	}
}

func (k *soakKernel) note(t *testing.T, how string, b *kernel.Batch, seq int64) {
	if _, err := fmt.Fprintf(k.journal, "%s%s %d\n", how, b.Events[0].ID, seq); err != nil {
		t.Error(err)
	}
}
