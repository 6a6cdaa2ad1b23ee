package postgres

import (
	"errors"
	"testing"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// These tests need no server.

// A log that is forwarded is shorter than before: it is not sent again as if nothing was lost.
func TestAForwardedLogThatIsShorter(t *testing.T) {
	was, err := newEdge(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := was.clone()
	was.add([]byte("event"))
	w := &writer{store: &Store{o: Options{Forwarding: true}}, edge: was}
	if err := w.behind(t.Context(), now); !errors.Is(err, kernel.ErrRollback) {
		t.Errorf("shorter: %v", err)
	}
	if err := w.behind(t.Context(), was.clone()); err != nil {
		t.Errorf("as it was: %v", err)
	}
}

// What a batch uses up of what kernels share is noted; a reviewer's statement is noted with the kernel's own log.
func TestATurnNotesWhatIsUsed(t *testing.T) {
	world := newWorld(1, nil, single{})
	world.leases.Put(leases.Lease{ID: "l", Uses: 1, MaxUses: 3})
	d := &decided{world: world, request: &request{batch: kernel.Batch{Now: storetest.T0,
		Leases: []leases.Op{{Kind: leases.OpClaim, ID: "l"}}}}}
	w, at := &writer{}, &attempt{}
	if err := w.spends(at, d); err != nil || len(at.uses) != 0 {
		t.Errorf("without a mark: %+v, %v", at.uses, err)
	}
	w.guarded.mark = &highwater.State{}
	if err := w.spends(at, d); err != nil || len(at.uses) != 1 || at.uses[0].ID != highwater.Lease+"l" {
		t.Errorf("%+v, %v", at.uses, err)
	}
}

// What is due is committed as it was planned, or not at all.
func TestWhatIsDueIsTheSame(t *testing.T) {
	planned := []phases.Event{{ID: "a", Type: phases.EventLease, Reason: "lease l"}}
	for name, c := range map[string]struct {
		now  []phases.Event
		same bool
	}{
		"another id":    {[]phases.Event{{ID: "b", Type: phases.EventLease, Reason: "lease l"}}, true},
		"another lease": {[]phases.Event{{ID: "a", Type: phases.EventLease, Reason: "lease m"}}, false},
		"none":          {nil, false},
	} {
		if sameEvents(planned, c.now) != c.same {
			t.Errorf("%s: %v", name, !c.same)
		}
	}
}

// Only what the mark says that this kernel has sent comes back from the database.
func TestWhatWasSentIsInTheMark(t *testing.T) {
	e, err := newEdge(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.add([]byte("event"))
	w := &writer{edge: e}
	turn := &Turn{writer: w}
	if turn.SentAll() {
		t.Error("without a mark")
	}
	w.guarded.mark, w.guarded.head = &highwater.State{}, w.head()
	if !turn.SentAll() {
		t.Error("what the mark says was not sent")
	}
	w.guarded.head.Root[0]++
	if turn.SentAll() {
		t.Error("other events were sent")
	}
	w.guarded.head.Size = 0
	if turn.SentAll() {
		t.Error("fewer events were sent")
	}
}
