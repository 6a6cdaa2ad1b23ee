package kernel_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

const testStore = "store-1"

func inStore(_ *kernel.Config, o *kernel.Options) { o.StoreID = testStore }

// signed returns an order as a reviewer signs it.
func (h *host) signed(t *testing.T, v approvals.Verb, args any, key ed25519.PrivateKey) *approvals.Order {
	t.Helper()
	o, err := queue.NewOrder(v, testStore, args, wall(h.clock.Now()), time.Hour)
	if err == nil {
		err = queue.SignOrder(&o, "dev", key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &o
}

// latchOne latches the session s-1 and returns its latch.
func (h *host) latchOne(t *testing.T) kernel.Latch {
	t.Helper()
	h.invoke(t, invocation(phases.PreTool), kernel.InvokeOptions{Unblockable: true})
	list, err := h.Latches(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list[0]
}

func latching() []hook { return []hook{{name: "no", run: effects(block("no"))}} }

// Where a reviewer is registered the kernel itself clears no latch without an order
// that the reviewer signed for this latch, and takes each order once.
func TestClearLatchTakesAnOrder(t *testing.T) {
	h := newHost(t, latching(), reviewed, inStore)
	l := h.latchOne(t)
	other := l.Order()
	other.Invocation = "another"
	for name, row := range map[string]struct {
		order *approvals.Order
		want  error
	}{
		"none":              {nil, approvals.ErrSignature},
		"an agent's key":    {h.signed(t, queue.VerbLatchClear, l.Order(), reviewerKey(2)), approvals.ErrSignature},
		"an earlier latch":  {h.signed(t, queue.VerbLatchClear, other, reviewerKey(1)), approvals.ErrContent},
		"for another verb":  {h.signed(t, queue.VerbRecord, l.Order(), reviewerKey(1)), approvals.ErrContent},
		"and one too short": {&approvals.Order{}, approvals.ErrInvalid},
	} {
		err := h.ClearLatch(t.Context(), l.Key(), "uid 1", row.order)
		var refused *queue.OrderError
		if !errors.Is(err, row.want) || !errors.As(err, &refused) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
	if list, err := h.Latches(t.Context()); err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	attempts := h.events(t, wire.Query{Type: phases.EventNotice, Decision: "refused"})
	if len(attempts) != 5 || !strings.Contains(attempts[0].Reason, "latch clear") {
		t.Errorf("the attempts are not logged: %+v", attempts)
	}

	o := h.signed(t, queue.VerbLatchClear, l.Order(), reviewerKey(1))
	if err := h.ClearLatch(t.Context(), l.Key(), "uid 1", o); err != nil {
		t.Fatal(err)
	}
	used := h.events(t, wire.Query{Type: phases.EventNotice, Decision: "ordered"})
	if len(used) != 1 || used[0].DecidedBy != "dev" || used[0].Signer != o.Key ||
		!strings.Contains(string(used[0].Output), o.ID) {
		t.Errorf("%+v", used)
	}
	if cleared := h.events(t, wire.Query{Type: phases.EventLatch, Decision: "cleared"}); len(cleared) != 1 ||
		cleared[0].User != "dev" {
		t.Errorf("%+v", cleared)
	}
}

// The same order does not count twice, also when it is handed in by many at once.
func TestOrderIsUsedOnce(t *testing.T) {
	h := newHost(t, nil, reviewed, inStore)
	args := map[string]int64{"through": 1}
	o := h.signed(t, queue.VerbCompact, args, reviewerKey(1))
	var mu sync.Mutex
	var wg sync.WaitGroup
	done := 0
	for range 8 {
		wg.Go(func() {
			events, err := h.UseOrder(t.Context(), queue.VerbCompact, args, o)
			if err == nil {
				_, err = h.store.Commit(t.Context(), kernel.Batch{Now: h.clock.Now(), Events: events})
			}
			if err == nil {
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if done != 1 {
		t.Errorf("the order was used %d times", done)
	}
	if _, err := h.UseOrder(t.Context(), queue.VerbCompact, args, o); !errors.Is(err, approvals.ErrDecided) {
		t.Errorf("used again: %v", err)
	}
}

// Without a reviewer the verbs work as before; what looks like an order is refused.
func TestOrderWithoutReviewer(t *testing.T) {
	h := newHost(t, latching(), inStore)
	l := h.latchOne(t)
	o := h.signed(t, queue.VerbLatchClear, l.Order(), reviewerKey(1))
	if err := h.ClearLatch(t.Context(), l.Key(), "uid 1", o); !errors.Is(err, approvals.ErrSignature) {
		t.Errorf("%v", err)
	}
	if err := h.ClearLatch(t.Context(), l.Key(), "uid 1", nil); err != nil {
		t.Error(err)
	}
}

// A kernel that does not know which state directory it serves takes no order.
func TestOrderWithoutStore(t *testing.T) {
	h := newHost(t, nil, reviewed)
	o := h.signed(t, queue.VerbCompact, struct{}{}, reviewerKey(1))
	if _, err := h.UseOrder(t.Context(), queue.VerbCompact, struct{}{}, o); !errors.Is(err,
		approvals.ErrContent) {
		t.Errorf("%v", err)
	}
}

// The kernel itself gives up no event that something may still rest on, for a person or for a policy.
func TestKernelKeepsYoungEvents(t *testing.T) {
	h := newHost(t, nil)
	h.allowed(t, invocation(phases.PreTool))
	for _, by := range []kernel.CompactBy{{By: "dev"}, {Retention: true}} {
		if _, err := h.Compact(t.Context(), kernel.Compaction{Through: 1, Statement: "x"}, by); !errors.Is(err,
			kernel.ErrTooYoung) {
			t.Errorf("%+v: %v", by, err)
		}
	}
	h.clock.add(kernel.MinCompactionAge - time.Second)
	if _, err := h.Compact(t.Context(), kernel.Compaction{Through: 1, Statement: "x"},
		kernel.CompactBy{Retention: true}); !errors.Is(err, kernel.ErrTooYoung) {
		t.Errorf("a second too early: %v", err)
	}
	h.clock.add(2 * time.Second)
	if _, err := h.Compact(t.Context(), kernel.Compaction{Through: 1, Statement: "x"},
		kernel.CompactBy{Retention: true}); err != nil {
		t.Errorf("old enough: %v", err)
	}
}
