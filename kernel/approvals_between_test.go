package kernel_test

import (
	"context"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// between runs something once, between a look at an item and the look at its events.
type between struct {
	kernel.Store
	run func()
}

func (s *between) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	if run := s.run; run != nil && q.ID != "" {
		s.run = nil
		run()
	}
	return s.Store.Events(ctx, q)
}

// TestItemsThatChangeWhileTheyAreRead: an item that is decided or used while its events are read
// is no forgery. The kernel reads it anew, logs nothing as unsound, and decides by the item as
// it is now.
func TestItemsThatChangeWhileTheyAreRead(t *testing.T) {
	var s *between
	slow := func(_ *kernel.Config, o *kernel.Options) { s = &between{Store: o.Store}; o.Store = s }
	inv := invocation(phases.PreTool)
	for name, c := range map[string]struct {
		meanwhile func(*host, string)
		then      func(*testing.T, *host, string)
	}{
		"decided, and listed": {
			func(h *host, id string) { _ = h.decide(t, id, approvals.Approve, reviewerKey(1)) },
			func(t *testing.T, h *host, id string) {
				list, err := h.Approvals(t.Context(), approvals.Query{})
				if err != nil || len(list) != 1 || list[0].State != approvals.Approved {
					t.Errorf("%+v, %v", list, err)
				}
			},
		},
		"decided, and asked again": {
			func(h *host, id string) { _ = h.decide(t, id, approvals.Approve, reviewerKey(1)) },
			func(t *testing.T, h *host, _ string) {
				if v := h.invoke(t, inv); v.Decision != phases.Allow {
					t.Errorf("%s %s", v.Decision, v.Reason)
				}
			},
		},
		"used, and asked again": {
			func(h *host, id string) {
				_ = h.decide(t, id, approvals.Approve, reviewerKey(1))
				h.invoke(t, inv)
			},
			func(t *testing.T, h *host, id string) {
				if v := h.invoke(t, inv); v.Decision != phases.Ask || v.Approval == nil || v.Approval.ID == id {
					t.Errorf("%s %s", v.Decision, v.Reason)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, asking(), reviewed, slow)
			id := h.pending(t, inv)
			s.run = func() { c.meanwhile(h, id) }
			c.then(t, h, id)
			if ids, err := h.UnsoundApprovals(t.Context()); err != nil || len(ids) != 0 {
				t.Errorf("unsound: %v, %v", ids, err)
			}
			if got := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "unsound"}); len(got) != 0 {
				t.Errorf("logged as unsound: %+v", got)
			}
		})
	}
}
