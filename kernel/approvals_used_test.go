package kernel_test

import (
	"context"
	"crypto/ed25519"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// forgetful is a store that says of every item that was used that it waits to be used, and
// lets what happens to it pass. The log under it is whole.
type forgetful struct {
	kernel.Store
	on      atomic.Bool
	hide    atomic.Int64 // of the next so many questions for the event of a use the answer is: there is none
	doubles atomic.Bool  // it takes a second event of the same use
}

func unused(it *approvals.Item) *approvals.Item {
	if it != nil && it.State == approvals.Consumed {
		again := it.Clone()
		again.State, again.Closed = approvals.Approved, time.Time{}
		return &again
	}
	return it
}

func (f *forgetful) ApprovalByKey(ctx context.Context, k approvals.Kind, key string) (*approvals.Item, error) {
	it, err := f.Store.ApprovalByKey(ctx, k, key)
	if f.on.Load() {
		it = unused(it)
	}
	return it, err
}

func (f *forgetful) Approval(ctx context.Context, id string) (*approvals.Item, error) {
	it, err := f.Store.Approval(ctx, id)
	if f.on.Load() {
		it = unused(it)
	}
	return it, err
}

func (f *forgetful) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	list, err := f.Store.Events(ctx, q)
	if f.on.Load() && q.ID != "" && len(list) == 1 && list[0].Decision == string(approvals.Consumed) &&
		f.hide.Add(-1) >= 0 {
		return nil, err
	}
	return list, err
}

func (f *forgetful) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if f.on.Load() {
		b.Approvals = slices.DeleteFunc(slices.Clone(b.Approvals), func(op approvals.Op) bool {
			return op.Change != nil && op.Change.To == approvals.Consumed
		})
	}
	if f.doubles.Load() {
		b.Events = slices.Clone(b.Events)
		for i := range b.Events {
			if b.Events[i].Decision == string(approvals.Consumed) {
				b.Events[i].ID += "-again"
			}
		}
	}
	return f.Store.Commit(ctx, b)
}

// An approval is used once, also when a store says otherwise: the log has the use; it is looked at
// again when the approval is used; and the event of a use has an id that is there once.
func TestUsedOnceWhateverTheStoreSays(t *testing.T) {
	for name, c := range map[string]struct {
		hidden  int64
		doubles bool
	}{
		"the log has the use": {0, true}, "it is seen at the second look": {1, true}, "it is never seen": {1000, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &forgetful{Store: memory.New()}
			h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Store = f })
			id := h.pending(t, invocation(phases.PreTool))
			if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
			if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
				t.Fatalf("%s %q", v.Decision, v.Reason)
			}
			f.on.Store(true)
			f.hide.Store(c.hidden)
			f.doubles.Store(c.doubles)
			v, _ := h.Invoke(t.Context(), invocation(phases.PreTool))
			if v.Decision != phases.Block || v.Kind != phases.KindStore {
				t.Errorf("%s %s %q", v.Decision, v.Kind, v.Reason)
			}
			if used := h.events(t,
				wire.Query{Type: phases.EventApproval, Decision: string(approvals.Consumed)}); len(used) != 1 {
				t.Errorf("%d uses logged", len(used))
			}
		})
	}
}

// What a reviewer has signed counts as long as the reviewer is one, also when the log says otherwise.
func TestApprovalOfAReviewerWhoIsGone(t *testing.T) {
	for name, reviewers := range map[string][]approvals.Reviewer{
		"another key": {{Name: "dev", Key: reviewerKey(2).Public().(ed25519.PublicKey)}}, "nobody": nil,
		"another name": {{Name: "else", Key: reviewerKey(1).Public().(ed25519.PublicKey)}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, asking(), reviewed)
			id := h.pending(t, invocation(phases.PreTool))
			if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
			cfg := configOf(h.loader.hooks)
			cfg.Reviewers = reviewers
			if err := h.Reload(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			h.fails(t, invocation(phases.PreTool), phases.KindStore)
		})
	}
}

// stranger is a store that answers with another item than was asked for.
type stranger struct {
	kernel.Store
	other atomic.Pointer[approvals.Item]
}

func (s *stranger) ApprovalByKey(ctx context.Context, k approvals.Kind, key string) (*approvals.Item, error) {
	if it := s.other.Load(); it != nil {
		return it, nil
	}
	return s.Store.ApprovalByKey(ctx, k, key)
}

// A question never becomes another one that is stored, though the log vouches for that.
func TestAnotherItemAnswersNothing(t *testing.T) {
	s := &stranger{Store: memory.New()}
	h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Store = s })
	other := invocation(phases.PreTool)
	other.Action = []byte(`{"tool":"exec","args":{"command":"git push origin docs-typo"}}`)
	id := h.pending(t, other)
	it, err := h.Approval(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	s.other.Store(&it)
	if v, _ := h.Invoke(t.Context(), invocation(phases.PreTool)); v.Approval != nil && v.Approval.ID == id {
		t.Errorf("%s: it waits for what another question is about", v.Decision)
	}
}
