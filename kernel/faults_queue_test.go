package kernel_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// drafted returns a decision as a reviewer hands it in.
func (h *host) drafted(t *testing.T, id string, v approvals.Verdict, key byte) approvals.Decision {
	t.Helper()
	it, err := h.Approval(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d, err := approvals.Draft(&it, v, "dev", "because", h.clock.Now(), time.Minute)
	if err == nil {
		err = approvals.Sign(&it, &d, reviewerKey(key))
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (h *host) approved(t *testing.T) string {
	t.Helper()
	id := h.pending(t, invocation(phases.PreTool))
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	return id
}

func (h *host) proposed(t *testing.T, key string, supersedes ...string) string {
	t.Helper()
	it, err := h.RequestApproval(t.Context(), proposal(key), supersedes...)
	if err != nil {
		t.Fatal(err)
	}
	return it.ID
}

// Whichever call to the store fails while a person decides, and when others are faster: the queue
// is as it was, or the verb has done all of its work.
func TestQueueWithAStoreThatFails(t *testing.T) {
	quota := func(n int) change { return func(c *kernel.Config, _ *kernel.Options) { c.Approvals.Quota = n } }
	decide := func(v approvals.Verdict, key byte) func(*testing.T, *host) func() error {
		return func(t *testing.T, h *host) func() error {
			id := h.pending(t, invocation(phases.PreTool))
			d := h.drafted(t, id, v, key)
			return func() error { _, err := h.DecideApproval(t.Context(), id, d); return err }
		}
	}
	for name, c := range map[string]verb{
		"approve":                {prepare: decide(approvals.Approve, 1)},
		"deny":                   {prepare: decide(approvals.Deny, 1)},
		"approve by another key": {prepare: decide(approvals.Approve, 2), want: approvals.ErrSignature},
		"finish": {prepare: func(t *testing.T, h *host) func() error {
			id := h.approved(t)
			return func() error { return h.FinishApproval(t.Context(), id, "done") }
		}},
		"accept a proposal": {prepare: func(t *testing.T, h *host) func() error {
			id := h.proposed(t, "a")
			d := approvals.Decision{Verdict: approvals.Approve, By: "config", At: h.clock.Now(),
				Until: h.clock.Now().Add(time.Minute)}
			return func() error { _, err := h.AcceptApproval(t.Context(), id, d); return err }
		}},
		"finish an accepted proposal": {prepare: func(t *testing.T, h *host) func() error {
			id := h.proposed(t, "a")
			d := approvals.Decision{Verdict: approvals.Approve, By: "config", At: h.clock.Now(),
				Until: h.clock.Now().Add(time.Minute)}
			if _, err := h.AcceptApproval(t.Context(), id, d); err != nil {
				t.Fatal(err)
			}
			return func() error { return h.FinishAccepted(t.Context(), id, "done") }
		}},
		"propose": {prepare: func(t *testing.T, h *host) func() error {
			return func() error { _, err := h.RequestApproval(t.Context(), proposal("a")); return err }
		}},
		"propose what has run out": {prepare: func(t *testing.T, h *host) func() error {
			h.proposed(t, "a")
			h.clock.add(queue.DefaultTimeout)
			return func() error { _, err := h.RequestApproval(t.Context(), proposal("a")); return err }
		}},
		"propose something better": {prepare: func(t *testing.T, h *host) func() error {
			old := h.proposed(t, "a")
			return func() error {
				_, err := h.RequestApproval(t.Context(), proposal("b"), old, "gone")
				return err
			}
		}},
		"propose into a full queue": {changes: []change{quota(1)}, prepare: func(t *testing.T, h *host) func() error {
			for n := range approvals.CredentialFactor {
				it := proposal(fmt.Sprint(n))
				it.By.Session, it.By.Agent = "crowd", fmt.Sprint(n)
				if _, err := h.RequestApproval(t.Context(), it); err != nil {
					t.Fatal(err)
				}
			}
			return func() error { _, err := h.RequestApproval(t.Context(), proposal("a")); return err }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.hooks, c.changes = asking(), append(c.changes, reviewed)
			c.check(t)
		})
	}
}

// What only looks answers that the store is unavailable, and never half of what there is.
func TestLooksAtTheQueueWithAStoreThatFails(t *testing.T) {
	for name, look := range map[string]func(*testing.T, *host, string) error{
		"one": func(t *testing.T, h *host, id string) error { _, err := h.Approval(t.Context(), id); return err },
		"one that is approved": func(t *testing.T, h *host, id string) error {
			it, err := h.CheckApproval(t.Context(), id)
			if err == nil && (it == nil || it.ID != id) {
				t.Errorf("%+v", it)
			}
			return err
		},
		"whether it is sound": func(t *testing.T, h *host, id string) error {
			it, err := h.store.(*faulty).Store.Approval(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			sound, err := h.SoundApproval(t.Context(), it)
			if sound != (err == nil) {
				t.Errorf("sound %v, %v", sound, err)
			}
			return err
		},
		"unsound ones": func(t *testing.T, h *host, _ string) error {
			list, err := h.UnsoundApprovals(t.Context())
			if len(list) > 0 {
				t.Errorf("called unsound because they could not be read: %v", list)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := verb{hooks: asking(), changes: []change{reviewed}, prepare: func(t *testing.T, h *host) func() error {
				id := h.approved(t)
				return func() error { return look(t, h, id) }
			}}
			c.failsAtEachCall(t)
		})
	}
	t.Run("all", func(t *testing.T) {
		// What has run out is written down first; the list does not depend on that.
		c := verb{hooks: asking(), changes: []change{reviewed}, spared: func(m string) bool { return m == "Approvals" },
			prepare: func(t *testing.T, h *host) func() error {
				h.approved(t)
				return func() error {
					list, err := h.Approvals(t.Context(), approvals.Query{})
					if err == nil && len(list) != 1 {
						t.Errorf("%d items, want 1", len(list))
					}
					return err
				}
			}}
		c.failsAtEachCall(t)
	})
}

// An item that has run out is no less over because that cannot be written down.
func TestExpiredWithAStoreThatFails(t *testing.T) {
	h, f := newFaultyHost(t, asking(), reviewed)
	id := h.pending(t, invocation(phases.PreTool))
	d := h.drafted(t, id, approvals.Approve, 1)
	h.clock.add(queue.DefaultTimeout)
	for n := 1; n <= 20; n++ {
		f.arm(n, 0, false)
		it, err := h.DecideApproval(t.Context(), id, d)
		if f.disarm(); !errors.Is(err, approvals.ErrExpired) && !errors.Is(err, kernel.ErrUnavailable) {
			t.Fatalf("call %d failed: %v", n, err)
		}
		if errors.Is(err, approvals.ErrExpired) && it.State != approvals.Expired {
			t.Fatalf("call %d failed: it stands as %s", n, it.State)
		}
	}
	if err := h.SweepApprovals(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := h.approvalEvents(t); got != "requested expired" {
		t.Errorf("logged: %s", got)
	}
}
