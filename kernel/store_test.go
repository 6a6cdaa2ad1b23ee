package kernel_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Each member of a batch that changes rows takes an event; what only reads takes none.
func TestBatchesThatChangeRowsTakeAnEvent(t *testing.T) {
	for name, c := range map[string]struct {
		batch   kernel.Batch
		changes bool
	}{
		"nothing":     {kernel.Batch{Now: time.Unix(1, 0)}, false},
		"state reads": {kernel.Batch{StateReads: []kernel.StateRead{{Key: "k"}}}, false},
		"unlatched":   {kernel.Batch{Unlatched: &wire.Session{}}, false},
		"run":         {kernel.Batch{Run: &kernel.RunWrite{}}, true},
		"touched run": {kernel.Batch{TouchRun: &phases.RunKey{}}, true},
		"state":       {kernel.Batch{StateWrites: []kernel.StateWrite{{Key: "k"}}}, true},
		"latch":       {kernel.Batch{Latch: &kernel.Latch{}}, true},
		"clear latch": {kernel.Batch{ClearLatch: &wire.Session{}}, true},
		"compaction":  {kernel.Batch{Compact: 1}, true},
		"approvals":   {kernel.Batch{Approvals: []approvals.Op{{}}}, true},
		"leases":      {kernel.Batch{Leases: []leases.Op{{}}}, true},
		"prune":       {kernel.Batch{Prune: true}, true},
	} {
		if err := c.batch.Valid(); (err != nil) != c.changes || err != nil && !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		c.batch.Events = []phases.Event{{}}
		if err := c.batch.Valid(); err != nil {
			t.Errorf("%s with an event: %v", name, err)
		}
	}
}

// After Close each verb answers ErrClosed, and what only looks answers nothing.
func TestVerbsAfterClose(t *testing.T) {
	h := newHost(t, asking(), reviewed, inStore)
	id := h.approved(t)
	d := h.drafted(t, h.proposed(t, "a"), approvals.Approve, 1)
	o := h.signed(t, queue.VerbRecord, kernel.RecordOrder{Seconds: 60, Count: 1, Destination: "d"}, reviewerKey(1))
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, f := range map[string]func() error{
		"decide":        func() error { _, err := h.DecideApproval(ctx, id, d); return err },
		"finish":        func() error { return h.FinishApproval(ctx, id, "n") },
		"check":         func() error { _, err := h.CheckApproval(ctx, id); return err },
		"propose":       func() error { _, err := h.RequestApproval(ctx, proposal("b")); return err },
		"mint approved": func() error { _, err := h.MintApproved(ctx, id); return err },
		"notice":        func() error { return h.Notice(ctx, "n") },
		"reload":        func() error { return h.Reload(ctx, configOf(nil)) },
		"invoke":        func() error { _, err := h.Invoke(ctx, invocation(phases.PreTool)); return err },
		"compact": func() error {
			_, err := h.Compact(ctx, kernel.Compaction{}, kernel.CompactBy{By: "dev"})
			return err
		},
		"record": func() error {
			return h.BeginRecording(ctx, kernel.RecordOrder{Seconds: 60, Count: 1, Destination: "d"}, o, "")
		},
		"use an order":  func() error { _, err := h.UseOrder(ctx, queue.VerbRecord, nil, nil); return err },
		"accept config": func() error { return h.AcceptConfig(ctx, h.Revision(), "dev", nil) },
	} {
		if err := f(); !errors.Is(err, kernel.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if h.Hooks() != nil || h.Revision() != "" || h.Protected() {
		t.Errorf("%v %q %v", h.Hooks(), h.Revision(), h.Protected())
	}
	if err := h.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}
