package kernel_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// Whichever call to the store fails while a lease is made, taken back or checked, and when
// others are faster: the leases are as they were, or the verb has done all of its work.
func TestLeasesWithAStoreThatFails(t *testing.T) {
	want := leases.Request{ID: "s-1/a", Capability: "tool:write", Scope: &leases.Scope{}, TTLS: 60, MaxUses: 3}
	check := func(token, claim bool) func(*testing.T, *host) func() error {
		return func(t *testing.T, h *host) func() error {
			l := h.lend(t, want)
			inv := write("/srv/a")
			q := kernel.LeaseCheck{Holder: ours, Capability: "tool:write", Action: &inv, Claim: claim}
			if token {
				q.Token = l.Token
			}
			return func() error {
				v, err := h.CheckLease(t.Context(), q)
				if err == nil && v.ID != l.ID {
					t.Errorf("%+v", v)
				}
				return err
			}
		}
	}
	for name, c := range map[string]verb{
		"mint": {prepare: func(t *testing.T, h *host) func() error {
			return func() error { _, err := h.MintLease(t.Context(), want, ours, "dev"); return err }
		}},
		"mint below another": {prepare: func(t *testing.T, h *host) func() error {
			h.lend(t, want)
			child := want
			child.ID, child.Parent, child.MaxUses, child.TTLS = "s-1/a/b", "s-1/a", 1, 30
			return func() error { _, err := h.MintLease(t.Context(), child, ours, "dev"); return err }
		}},
		"mint what was approved": {changes: []change{reviewed}, prepare: func(t *testing.T, h *host) func() error {
			_, err := h.MintLease(t.Context(), want, ours, "dev")
			var wait *kernel.LeasePending
			if !errors.As(err, &wait) {
				t.Fatal(err)
			}
			if err := h.decide(t, wait.Approval.ID, approvals.Approve, reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
			return func() error { _, err := h.MintApproved(t.Context(), wait.Approval.ID); return err }
		}},
		"revoke": {prepare: func(t *testing.T, h *host) func() error {
			h.lend(t, want)
			return func() error { return h.RevokeLease(t.Context(), "s-1/a", false, "dev") }
		}, spared: func(m string) bool { return m == "Lease" }}, // it reads the holder for the record only
		"revoke all below": {prepare: func(t *testing.T, h *host) func() error {
			h.lend(t, want)
			return func() error { return h.RevokeLease(t.Context(), "s-1", true, "dev") }
		}, spared: func(m string) bool { return m == "Lease" }},
		"claim":            {prepare: check(false, true)},
		"claim by a token": {prepare: check(true, true)},
	} {
		t.Run(name, func(t *testing.T) { c.check(t) })
	}
	for name, c := range map[string]verb{
		"ask a reviewer": {changes: []change{reviewed}, prepare: func(t *testing.T, h *host) func() error {
			return func() error {
				_, err := h.MintLease(t.Context(), want, ours, "dev")
				var wait *kernel.LeasePending
				if errors.As(err, &wait) {
					return nil
				}
				return err
			}
		}},
		"check":            {prepare: check(false, false)},
		"check by a token": {prepare: check(true, false)},
		"one": {prepare: func(t *testing.T, h *host) func() error {
			h.lend(t, want)
			return func() error { _, err := h.Lease(t.Context(), "s-1/a"); return err }
		}},
		"all": {prepare: func(t *testing.T, h *host) func() error {
			h.lend(t, want)
			return func() error {
				list, err := h.Leases(t.Context(), leases.Query{})
				if err == nil && len(list) != 1 {
					t.Errorf("%+v", list)
				}
				return err
			}
		}},
	} {
		t.Run(name, func(t *testing.T) { c.failsAtEachCall(t) })
	}
}

// Whichever call to the store fails while a person's verb is carried out: nothing has come of
// it, and its order can still be used; or it is done, and its order is used up.
func TestOrdersWithAStoreThatFails(t *testing.T) {
	for name, c := range map[string]verb{
		"latch clear": {hooks: latching(), prepare: func(t *testing.T, h *host) func() error {
			l := h.latchOne(t)
			return func() error { return h.ClearLatch(t.Context(), l.Key(), "dev", nil) }
		}},
		"latch clear by order": {hooks: latching(), changes: []change{reviewed, inStore},
			prepare: func(t *testing.T, h *host) func() error {
				l := h.latchOne(t)
				o := h.signed(t, queue.VerbLatchClear, l.Order(), reviewerKey(1))
				return func() error { return h.ClearLatch(t.Context(), l.Key(), "dev", o) }
			}},
		"latch clear by another's order": {hooks: latching(), changes: []change{reviewed, inStore},
			prepare: func(t *testing.T, h *host) func() error {
				l := h.latchOne(t)
				o := h.signed(t, queue.VerbLatchClear, l.Order(), reviewerKey(2))
				return func() error { return h.ClearLatch(t.Context(), l.Key(), "dev", o) }
			}, want: approvals.ErrSignature},
		"config accept by order": {changes: []change{reviewed, inStore}, prepare: func(t *testing.T, h *host) func() error {
			o := h.signed(t, queue.VerbConfigAccept, kernel.ConfigOrder{Revision: "rev-1"}, reviewerKey(1))
			return func() error { return h.AcceptConfig(t.Context(), "rev-1", "dev", o) }
		}},
		"record by order": {changes: []change{reviewed, inStore}, prepare: func(t *testing.T, h *host) func() error {
			r := kernel.RecordOrder{Seconds: 60, Count: 1, Destination: "d"}
			o := h.signed(t, queue.VerbRecord, r, reviewerKey(1))
			return func() error { return h.BeginRecording(t.Context(), r, o, "recording") }
		}},
		"compact by order": {changes: []change{reviewed, inStore}, prepare: func(t *testing.T, h *host) func() error {
			h.clock.add(kernel.MinCompactionAge + time.Hour)
			o := h.signed(t, queue.VerbCompact, kernel.CompactOrder{Through: 1}, reviewerKey(1))
			return func() error {
				_, err := h.Compact(t.Context(), kernel.Compaction{Through: 1, Statement: "s"},
					kernel.CompactBy{By: "dev", Why: "old", Order: o})
				return err
			}
		}, spared: func(m string) bool { return m == "Approvals" }}, // the queue is swept behind it
		"notice": {prepare: func(t *testing.T, h *host) func() error {
			return func() error { return h.Notice(t.Context(), "something") }
		}},
		"reload": {prepare: func(t *testing.T, h *host) func() error {
			cfg := configOf(nil)
			cfg.Revision = "rev-2"
			return func() error {
				was := h.Revision()
				err := h.Reload(t.Context(), cfg)
				if err != nil && h.Revision() != was {
					t.Errorf("Reload answers %v, and %s is in use", err, h.Revision())
				}
				return err
			}
		}},
	} {
		t.Run(name, func(t *testing.T) { c.check(t) })
	}
}
