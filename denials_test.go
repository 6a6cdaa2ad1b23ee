package belay_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// table is the table of denials that kernels share.
type table struct {
	mu   sync.Mutex
	rows []postgres.Denial
	next chan struct{}
	fail error
}

// kernelOf is the store of one kernel that shares the table.
type kernelOf struct {
	*memory.Store
	table *table
	name  string
}

func (kernelOf) Durable() bool { return true } // as far as this test goes

func (k kernelOf) Denied() <-chan struct{} {
	k.table.mu.Lock()
	defer k.table.mu.Unlock()
	return k.table.next
}

func (k kernelOf) Denials(context.Context) ([]postgres.Denial, error) {
	k.table.mu.Lock()
	defer k.table.mu.Unlock()
	return append([]postgres.Denial{}, k.table.rows...), k.table.fail
}

func (k kernelOf) Deny(_ context.Context, d postgres.Denial) error {
	k.table.mu.Lock()
	defer k.table.mu.Unlock()
	if k.table.fail != nil {
		return k.table.fail
	}
	d.ID, d.By = int64(len(k.table.rows)+1), k.name
	k.table.rows = append(k.table.rows, d)
	close(k.table.next)
	k.table.next = make(chan struct{})
	return nil
}

// fixtureDigest is that of guard.wasm.
const fixtureDigest = "sha256:6e33aa72a6be274e0c22a03bca171026c5d27c5acbe4a991d4044fd522ab8094"

// denyIn notes in a state directory that a person denies the module of trustState for all kernels.
func denyIn(t *testing.T, dir string) {
	t.Helper()
	n := trust.NewDenial(tiers.Deny{Digests: []string{fixtureDigest}}, "it sends files away", "dev", time.Now())
	if err := trust.EditDenials(dir, func(d *trust.Denials) error { d.Add(n); return nil }); err != nil {
		t.Fatal(err)
	}
}

// blocks waits until a host does not run the denied module any more.
func blocks(t *testing.T, b *belay.Belay, within time.Duration) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		v, err := b.Invoke(t.Context(), exec("ls"))
		if v.Kind == phases.KindLoad && v.Decision == phases.Block {
			t.Logf("after %v", time.Since(start))
			return
		}
		if time.Since(start) > within {
			t.Fatalf("it still runs after %v: %+v, %v", within, v, err)
		}
	}
}

func runs(t *testing.T, b *belay.Belay) {
	t.Helper()
	if v, err := b.Invoke(t.Context(), exec("ls")); err != nil || v.Kind != phases.KindPolicy {
		t.Fatalf("%+v, %v", v, err)
	}
}

// A denial on one kernel holds on all. Others keep it: after a start without the table, and when its row is gone.
func TestDenialsReachAllKernels(t *testing.T) {
	shared := &table{next: make(chan struct{})}
	dirs := map[string]string{"a": trustState(t, install.Request{}), "b": trustState(t, install.Request{})}
	start := func(name string) *belay.Belay {
		t.Helper()
		return open(t, dirs[name], belay.Options{Store: kernelOf{memory.New(), shared, name}})
	}
	a, b := start("a"), start("b")
	runs(t, a)
	runs(t, b)
	denyIn(t, dirs["a"])
	blocks(t, a, 10*time.Second)
	blocks(t, b, 10*time.Second)
	es, err := a.Events(t.Context(), wire.Query{Type: phases.EventNotice, Decision: kernel.DecisionDeniedForAll, Limit: 9})
	if err != nil || len(es) != 1 || !strings.Contains(es[0].Reason, "it sends files away") ||
		!strings.Contains(string(es[0].Output), phases.ByteDigest(shared.rows[0].Body)) || shared.rows[0].Seq != es[0].Seq {
		t.Errorf("%+v, %v", es, err)
	}

	shared.mu.Lock()
	shared.rows, shared.fail = nil, kernel.ErrUnavailable
	shared.mu.Unlock()
	b.Close()
	b = start("b")
	blocks(t, b, 0)
	shared.mu.Lock()
	shared.fail = nil
	shared.mu.Unlock()
	time.Sleep(1200 * time.Millisecond) // it looks, and finds none
	blocks(t, b, 0)

	// A row that cannot be read may deny anything.
	dirs["c"] = trustState(t, install.Request{})
	c := start("c")
	runs(t, c)
	if err := (kernelOf{table: shared, name: "x"}).Deny(t.Context(), postgres.Denial{Body: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	blocks(t, c, 10*time.Second)
	if s, err := c.Status(t.Context()); err != nil || !strings.Contains(s.TrustProblem, "of kernel x") {
		t.Errorf("%q, %v", s.TrustProblem, err)
	}
}

// In PostgreSQL a denial reaches the other kernel within two seconds, with notices and without.
func TestDenialsInPostgreSQL(t *testing.T) {
	for name, cut := range map[string]bool{"notices": false, "looking": true} {
		t.Run(name, func(t *testing.T) {
			o := pgtest.Options(t, "a")
			dirs := map[string]string{}
			start := func(kernel string) *belay.Belay {
				t.Helper()
				dirs[kernel] = trustState(t, install.Request{})
				o.Kernel = kernel
				return open(t, dirs[kernel], belay.Options{Store: pgtest.Open(t, o)})
			}
			a, b := start("a"), start("b")
			if cut {
				pgtest.Exec(t, o.Schema, "DROP TRIGGER tell ON denials", "DROP TRIGGER tell ON changes")
			}
			runs(t, a)
			runs(t, b)
			denyIn(t, dirs["a"])
			if err := a.ShareDenials(t.Context()); err != nil {
				t.Fatal(err)
			}
			blocks(t, b, 2*time.Second)
			src, err := os.ReadFile(filepath.Join(dirs["b"], trust.DenialsFile))
			if err != nil || !strings.Contains(string(src), `"kernel": "a"`) {
				t.Errorf("%s, %v", src, err)
			}
		})
	}
}
