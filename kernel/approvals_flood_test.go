package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// An agent that asks a hundred thousand different questions fills its own quota, not the queue:
// others are served, and the queue does not grow.
func TestQueueFlood(t *testing.T) {
	n := 2000
	if s := os.Getenv("BELAY_PROPOSALS"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(t, nil, reviewed)
	ctx := context.Background()
	request := func(session, credential string, i int) error {
		it := proposalOf(fmt.Sprintf("%s/%d", session, i), strings.Repeat("x", 10_000))
		it.By = approvals.Requester{Credential: credential, Session: session}
		_, err := h.RequestApproval(ctx, it)
		return err
	}
	heap := func() int64 { // without the log of events, which stays, and with a store in memory is there as well
		t.Helper()
		log, seen := int64(0), int64(0)
		for {
			leaves, err := h.store.(kernel.Log).LogLeaves(ctx, seen, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(leaves) == 0 {
				break
			}
			for _, l := range leaves {
				log += int64(len(l.Body)) + 256 // two hashes of the tree, its number, its id
			}
			seen += int64(len(leaves))
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc) - log
	}
	before := heap()
	full := 0
	for i := range n {
		switch err := request("flood", "uid 1", i); {
		case errors.Is(err, approvals.ErrQuota):
			full++
		case err != nil:
			t.Fatal(err)
		}
	}
	if full != n-queue.DefaultQuota {
		t.Errorf("%d were refused, want %d", full, n-queue.DefaultQuota)
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("it keeps %d bytes", grown)
	}
	for i := range n / 100 { // the same again is no new item
		if err := request("flood", "uid 1", i%queue.DefaultQuota); err != nil {
			t.Fatal(err)
		}
	}
	if err := request("quiet", "uid 1", 1); err != nil {
		t.Errorf("another agent: %v", err)
	}
	// One that passes for many agents, in one session and in many: others of the same
	// credential can always file something, and nothing of it piles up.
	before = heap()
	rare := max(1, n/20)
	for i := range n {
		session := "masks"
		if i%2 == 0 {
			session = fmt.Sprint("mask", i)
		}
		it := proposalOf(fmt.Sprint("mask ", i), strings.Repeat("x", 10_000))
		it.By = approvals.Requester{Credential: "uid 1", Session: session, Agent: fmt.Sprint("mask", i)}
		_, err := h.RequestApproval(ctx, it)
		if err != nil {
			t.Fatalf("name %d: %v", i, err)
		}
		if i%rare == 0 {
			if err := request(fmt.Sprint("honest", i), "uid 1", 1); err != nil {
				t.Fatalf("an agent with nothing in the queue, after %d names: %v", i, err)
			}
		}
	}
	if grown := heap() - before; grown > 24<<20 {
		t.Errorf("it keeps %d bytes", grown)
	}
	t.Logf("%d bytes besides the log", heap()-before)
	if err := request("quiet", "uid 2", 1); err != nil {
		t.Errorf("another credential: %v", err)
	}
	list, err := h.Approvals(ctx, approvals.Query{State: approvals.Pending, Limit: approvals.MaxLimit})
	if err != nil || len(list) > queue.DefaultQuota*approvals.CredentialFactor+1 {
		t.Errorf("%d in the queue, %v", len(list), err)
	}
	if counts, err := h.ApprovalCounts(ctx); err != nil || counts[approvals.KindProposal] != len(list) ||
		len(counts) != 1 {
		t.Errorf("%v counted, %d listed, %v", counts, len(list), err)
	}
	list, err = h.Approvals(ctx, approvals.Query{State: approvals.Superseded, Limit: approvals.MaxLimit})
	if err != nil || len(list) > approvals.KeepSuperseded {
		t.Errorf("%d superseded items are kept, %v", len(list), err)
	}
}

// A requester is not blocked because others of the same credential ask too much: the oldest of
// them gives way, and that is logged; what has given way can be asked again.
func TestAsksGiveWay(t *testing.T) {
	h := newHost(t, asking(), reviewed, func(c *kernel.Config, _ *kernel.Options) { c.Approvals.Quota = 1 })
	ask := func(session, agent, command string) phases.Verdict {
		t.Helper()
		inv := invocation(phases.PreTool)
		inv.Session, inv.Agent = session, agent
		inv.Action = jsontext.Value(`{"tool":"exec","args":{"command":"` + command + `"}}`)
		return h.invoke(t, inv)
	}
	first := ask("flood", "a0", "ls").Approval
	for n := range approvals.CredentialFactor + 5 {
		if v := ask("flood", fmt.Sprint("a", n), "ls"); v.Decision != phases.Ask {
			t.Fatalf("agent %d: %s %q", n, v.Decision, v.Reason)
		}
	}
	quiet := ask("quiet", "b", "make")
	if quiet.Decision != phases.Ask || quiet.Approval == nil {
		t.Fatalf("%+v", quiet)
	}
	if v := ask("quiet", "b", "make install"); v.Decision != phases.Block {
		t.Errorf("beyond its own quota: %s", v.Decision)
	}
	for n := range approvals.CredentialFactor * 2 { // the others push each other out, and not it
		ask("flood", fmt.Sprint("c", n), "ls")
	}
	if it, err := h.Approval(t.Context(), quiet.Approval.ID); err != nil || it.State != approvals.Pending {
		t.Errorf("%+v, %v", it, err)
	}
	if it, err := h.Approval(t.Context(), first.ID); err != nil || it.State != approvals.Superseded {
		t.Errorf("%+v, %v", it, err)
	}
	if v := ask("flood", "a0", "ls"); v.Decision != phases.Ask || v.Approval.ID == first.ID {
		t.Errorf("asked again: %+v", v)
	}
	if err := h.decide(t, quiet.Approval.ID, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	if v := ask("quiet", "b", "make"); v.Decision != phases.Allow {
		t.Errorf("approved: %+v", v)
	}
	events, err := h.store.Events(t.Context(),
		wire.Query{Type: phases.EventApproval, Decision: string(approvals.Superseded), Limit: 1})
	if err != nil || len(events) != 1 || len(events[0].Notes) != 1 || !strings.Contains(events[0].Notes[0], "gave way") {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestAskQuotaBlocks(t *testing.T) {
	h := newHost(t, asking(), reviewed, func(c *kernel.Config, _ *kernel.Options) { c.Approvals.Quota = 2 })
	for i := range 4 {
		inv := invocation(phases.PreTool)
		inv.Action = jsontext.Value(fmt.Sprintf(`{"tool":"exec","args":{"command":"ls %d"}}`, i))
		v := h.invoke(t, inv)
		if i < 2 && v.Decision != phases.Ask || i >= 2 &&
			(v.Decision != phases.Block || !strings.Contains(v.Reason, "too many questions") || v.Approval != nil) {
			t.Errorf("question %d: %s %q", i, v.Decision, v.Reason)
		}
	}
	inv := invocation(phases.PreTool)
	inv.Session = "s-2"
	h.pending(t, inv)
}
