package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// faulty is a store of which one call fails, or every commit from one on meets a conflict. A
// call that fails returns the value that it has read all the same: an answer beside an error
// must not be used.
type faulty struct {
	kernel.Store
	mu       sync.Mutex
	armed    bool
	n        int // calls since it was armed
	fail     int // the call that fails; 0: none
	conflict int // the commit that meets a conflict; 0: none
	always   bool
	commits  int
	met      string // the call that failed
}

var errDisk = errors.New("the disk does not answer")

func (f *faulty) arm(fail, conflict int, always bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.n, f.commits, f.met = true, 0, 0, ""
	f.fail, f.conflict, f.always = fail, conflict, always
}

// disarm makes the store whole again and returns the call that failed; "" when none did.
func (f *faulty) disarm() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	return f.met
}

// call counts a call and says whether it fails.
func (f *faulty) call(method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return nil
	}
	f.n++
	if f.n == f.fail {
		f.met = method
		return fmt.Errorf("%w: %w", kernel.ErrUnavailable, errDisk)
	}
	if method == "Commit" {
		f.commits++
		if f.conflict > 0 && (f.commits == f.conflict || f.always && f.commits > f.conflict) {
			f.met = method
			return kernel.ErrConflict
		}
	}
	return nil
}

func read[T any](f *faulty, method string, v T, err error) (T, error) {
	if ferr := f.call(method); ferr != nil {
		return v, ferr
	}
	return v, err
}

func (f *faulty) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if err := f.call("Commit"); err != nil {
		return kernel.Receipt{First: 1, Last: 1}, err
	}
	return f.Store.Commit(ctx, b)
}

func (f *faulty) RunState(ctx context.Context, k phases.RunKey, now time.Time) (kernel.RunState, error) {
	v, err := f.Store.RunState(ctx, k, now)
	return read(f, "RunState", v, err)
}

func (f *faulty) RunsOf(ctx context.Context, k wire.Session, prefix string, now time.Time) ([]kernel.NamedRun, error) {
	v, err := f.Store.RunsOf(ctx, k, prefix, now)
	return read(f, "RunsOf", v, err)
}

func (f *faulty) HookState(ctx context.Context, ns, key string) (kernel.StateValue, error) {
	v, err := f.Store.HookState(ctx, ns, key)
	return read(f, "HookState", v, err)
}

func (f *faulty) Latch(ctx context.Context, k wire.Session) (*kernel.Latch, error) {
	v, err := f.Store.Latch(ctx, k)
	return read(f, "Latch", v, err)
}

func (f *faulty) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	v, err := f.Store.Events(ctx, q)
	return read(f, "Events", v, err)
}

func (f *faulty) LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	v, err := f.Store.LogLeaves(ctx, after, limit)
	return read(f, "LogLeaves", v, err)
}

func (f *faulty) LogHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	v, err := f.Store.LogHashes(ctx, indexes)
	return read(f, "LogHashes", v, err)
}

func (f *faulty) Approval(ctx context.Context, id string) (*approvals.Item, error) {
	v, err := f.Store.Approval(ctx, id)
	return read(f, "Approval", v, err)
}

func (f *faulty) ApprovalByKey(ctx context.Context, k approvals.Kind, key string) (*approvals.Item, error) {
	v, err := f.Store.ApprovalByKey(ctx, k, key)
	return read(f, "ApprovalByKey", v, err)
}

func (f *faulty) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	v, err := f.Store.Approvals(ctx, q)
	return read(f, "Approvals", v, err)
}

func (f *faulty) ApprovalUsage(ctx context.Context, k approvals.Kind, by approvals.Requester,
	now leases.Instant) (approvals.Usage, error) {
	v, err := f.Store.ApprovalUsage(ctx, k, by, now)
	return read(f, "ApprovalUsage", v, err)
}

func (f *faulty) ApprovalHolders(ctx context.Context, k approvals.Kind, credential string,
	now leases.Instant) ([]approvals.Holder, error) {
	v, err := f.Store.ApprovalHolders(ctx, k, credential, now)
	return read(f, "ApprovalHolders", v, err)
}

func (f *faulty) Lease(ctx context.Context, id string) (*leases.Lease, error) {
	v, err := f.Store.Lease(ctx, id)
	return read(f, "Lease", v, err)
}

func (f *faulty) LeaseByToken(ctx context.Context, hash []byte) (*leases.Lease, error) {
	v, err := f.Store.LeaseByToken(ctx, hash)
	return read(f, "LeaseByToken", v, err)
}

func (f *faulty) HeldLeases(ctx context.Context, h leases.Holder, at leases.Instant) ([]leases.Lease, error) {
	v, err := f.Store.HeldLeases(ctx, h, at)
	return read(f, "HeldLeases", v, err)
}

func (f *faulty) Leases(ctx context.Context, q leases.Query) ([]leases.Lease, error) {
	v, err := f.Store.Leases(ctx, q)
	return read(f, "Leases", v, err)
}

func (f *faulty) LeaseClock(ctx context.Context) (time.Time, error) {
	v, err := f.Store.LeaseClock(ctx)
	return read(f, "LeaseClock", v, err)
}

// newFaultyHost returns a host on a store that can be made to fail. Its first commit, with
// which the queue is swept, has happened.
func newFaultyHost(t *testing.T, hooks []hook, changes ...change) (*host, *faulty) {
	t.Helper()
	f := &faulty{Store: memory.New()}
	h := newHost(t, hooks, append([]change{func(_ *kernel.Config, o *kernel.Options) { o.Store = f }}, changes...)...)
	if _, err := h.Refuse(t.Context(),
		kernel.Refusal{Invocation: phases.Invocation{Phase: phases.PreTool}}); errors.Is(err, kernel.ErrUnavailable) {
		t.Fatal(err)
	}
	return h, f
}

// restrictions are everything stored that restricts a session or lets something pass.
type restrictions struct {
	Approvals []approvals.Item
	Leases    []leases.Lease
	Latches   []kernel.Latch
	Log       int // notices and others that stand for a verb that was carried out
}

func (h *host) restrictions(t *testing.T) (out restrictions) {
	t.Helper()
	var err error
	check := func() {
		if err != nil {
			t.Fatal(err)
		}
	}
	out.Approvals, err = h.store.Approvals(t.Context(), approvals.Query{Limit: approvals.MaxLimit})
	check()
	out.Leases, err = h.store.Leases(t.Context(), leases.Query{AsStored: true})
	check()
	out.Latches, err = h.store.Latches(t.Context())
	check()
	out.Log = len(h.events(t, wire.Query{}))
	return out
}

// verb is one thing that a person or a daemon has the kernel do.
type verb struct {
	hooks   []hook
	changes []change
	prepare func(*testing.T, *host) func() error // while the store works; returns the call under test
	want    error                                // the error while the store works; nil: none
	spared  func(method string) bool             // calls without which it does its work all the same
	repeats bool                                 // it writes things down that stay true when it fails later
}

func (c *verb) open(t *testing.T) (*host, *faulty, func() error) {
	t.Helper()
	h, f := newFaultyHost(t, c.hooks, c.changes...)
	return h, f, c.prepare(t, h)
}

func (c *verb) answersWell(err error) bool {
	if c.want != nil {
		return errors.Is(err, c.want)
	}
	return err == nil
}

// failsAtEachCall has every call that the verb makes fail once: the verb answers that the
// store is unavailable, nothing has changed, and it succeeds when it is tried again.
func (c *verb) failsAtEachCall(t *testing.T) {
	t.Helper()
	for n := 1; ; n++ {
		h, f, act := c.open(t)
		before := h.restrictions(t)
		f.arm(n, 0, false)
		err := act()
		method := f.disarm()
		if method == "" {
			if !c.answersWell(err) {
				t.Errorf("while the store works: %v", err)
			}
			if n == 1 {
				t.Error("it does not ask the store at all")
			}
			return
		}
		if c.spared != nil && c.spared(method) && c.answersWell(err) {
			continue
		}
		if !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("call %d (%s) failed, and the answer is %v", n, method, err)
		}
		if diff := cmp.Diff(before, h.restrictions(t)); diff != "" && !c.repeats {
			t.Errorf("call %d (%s) failed, and something has changed: %s", n, method, diff)
		}
		if err := act(); !c.answersWell(err) {
			t.Errorf("call %d (%s) failed; when the store works again: %v", n, method, err)
		}
	}
}

// meetsConflicts has others be faster: once at each commit, and always from it on. The verb
// answers an error and has changed nothing, or it has done its work.
func (c *verb) meetsConflicts(t *testing.T) {
	t.Helper()
	for _, always := range []bool{false, true} {
		for n := 1; ; n++ {
			h, f, act := c.open(t)
			before := h.restrictions(t)
			f.arm(0, n, always)
			err := act()
			if f.disarm() == "" {
				break
			}
			diff := cmp.Diff(before, h.restrictions(t))
			switch {
			case always && err == nil:
				t.Errorf("commit %d and all after it met a conflict, and the answer is nil", n)
			case !c.answersWell(err) && diff != "" && !c.repeats:
				t.Errorf("commit %d met a conflict, the answer is %v, and something has changed: %s", n, err, diff)
			case c.answersWell(err) && diff == "":
				t.Errorf("commit %d met a conflict, the answer is %v, and nothing has changed", n, err)
			case f.commits > 20:
				t.Errorf("commit %d met a conflict: %d tries", n, f.commits)
			}
		}
	}
}

func (c *verb) check(t *testing.T) {
	t.Helper()
	c.failsAtEachCall(t)
	c.meetsConflicts(t)
}
