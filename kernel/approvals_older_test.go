package kernel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// older writes events of the queue as older versions did: ids of their own, no seals.
type older struct {
	kernel.Store
	on bool
}

func (o *older) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	for n := range b.Events {
		e := &b.Events[n]
		if !o.on || e.Type != phases.EventApproval || e.Decision == string(approvals.Consumed) {
			continue
		}
		var out map[string]any
		if err := json.Unmarshal(e.Output, &out); err != nil {
			return kernel.Receipt{}, err
		}
		delete(out, "seal")
		e.Output, _ = json.Marshal(out)
		id, err := uuid.NewV7AtTime(e.Time)
		if err != nil {
			return kernel.Receipt{}, err
		}
		e.ID = id.String()
	}
	return o.Store.Commit(ctx, b)
}

// Items that an older version left, undecided or approved and not used, count as they did.
// Once there is a sealed one, an item without a seal is none of an older version.
func TestItemsOfOlderVersionsCount(t *testing.T) {
	s := &older{Store: memory.New(), on: true}
	h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Store = s })
	undecided, approved := invocation(phases.PreTool), invocation(phases.PreTool)
	approved.Session = "s-2"
	waits, id := h.pending(t, undecided), h.pending(t, approved)
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	s.on = false
	if v := h.invoke(t, approved); v.Decision != phases.Allow {
		t.Errorf("approved before: %s %s", v.Decision, v.Reason)
	}
	if list, err := h.Approvals(t.Context(), approvals.Query{}); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := h.decide(t, waits, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatalf("asked before, decided now: %v", err)
	}
	if v := h.invoke(t, undecided); v.Decision != phases.Allow {
		t.Errorf("asked before: %s %s", v.Decision, v.Reason)
	}
	h.pending(t, undecided) // sealed
	s.on = true
	late := h.pending(t, approved)
	if it, err := h.Approval(t.Context(), late); err == nil {
		t.Errorf("without a seal, after one with: %+v", it)
	}
}

// An item of an older version has no seal. What stands in it is compared with the digest
// in the event that it was asked by.
func TestChangedItemsOfOlderVersions(t *testing.T) {
	b := &bent{Store: &older{Store: memory.New(), on: true}}
	h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Store = b })
	id := h.pending(t, forcedPush())
	if _, err := h.Approval(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	b.item = func(it *approvals.Item) {
		it.Action = jsontext.Value(`{"tool":"exec","args":{"command":"git push origin docs-typo"}}`)
	}
	if it, err := h.Approval(t.Context(), id); !errors.Is(err, approvals.ErrUnsound) {
		t.Errorf("it is shown: %s, %v", it.Action, err)
	}
}

// TestOlderItemsWithAStoreThatFails: items that an older version left take more questions to the
// log. Whichever of them fails, the item is neither shown nor reported as unsound.
func TestOlderItemsWithAStoreThatFails(t *testing.T) {
	old := &older{Store: memory.New(), on: true}
	f := &faulty{Store: old}
	h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Store = f })
	id := h.pending(t, forcedPush())
	old.on = false
	other := invocation(phases.PreTool)
	other.Session = "s-2"
	h.pending(t, other) // sealed, and after it
	met := map[string]bool{}
	for n := 1; ; n++ {
		f.arm(n, 0, false)
		it, err := h.Approval(t.Context(), id)
		call := f.disarm()
		if call == "" {
			if err != nil {
				t.Errorf("nothing failed: %+v, %v", it, err)
			}
			break
		}
		met[call] = true
		if !errors.Is(err, kernel.ErrUnavailable) || errors.Is(err, approvals.ErrUnsound) {
			t.Errorf("call %d (%s) failed: %+v, %v", n, call, it.Action, err)
		}
	}
	if !met["Events"] || !met["LogLeaves"] || !met["Approval"] {
		t.Errorf("calls that failed: %v", met)
	}
}
