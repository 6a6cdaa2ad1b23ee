package dry_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/dry"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// full is a batch with something in every member that changes the store.
func full() kernel.Batch {
	run, session := phases.RunKey{Runtime: "r", Session: "s"}, wire.Session{Runtime: "r", Session: "s"}
	return kernel.Batch{
		Now: t0, Events: []phases.Event{{ID: "e1", Type: phases.EventNotice, Time: t0}},
		Run: &kernel.RunWrite{Key: run,
			Metadata: phases.Metadata{"k": {Value: []byte("1"), Hook: "h", Tier: phases.Sandboxed}}},
		StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("v")}},
		Latch:       &kernel.Latch{Runtime: session.Runtime, Session: session.Session, Reason: "held", Since: t0},
		Approvals: []approvals.Op{{Create: &approvals.Item{ID: "a1", Kind: approvals.KindAsk, Key: "k",
			State: approvals.Pending,
			By:    approvals.Requester{Credential: "c"}, Created: t0, Expires: t0.Add(time.Hour)}, Quota: 5}},
		Leases: []leases.Op{},
	}
}

// what reads everything that a batch can change.
func what(t *testing.T, s kernel.Store) map[string]any {
	t.Helper()
	out := map[string]any{}
	keep := func(name string, v any, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = v
	}
	ctx := t.Context()
	run, err := s.RunState(ctx, phases.RunKey{Runtime: "r", Session: "s"}, t0)
	keep("run", run, err)
	state, err := s.HookState(ctx, "n", "k")
	keep("state", state, err)
	latches, err := s.Latches(ctx)
	keep("latches", latches, err)
	events, err := s.Events(ctx, wire.Query{Limit: 100})
	keep("events", events, err)
	item, err := s.Approval(ctx, "a1")
	keep("approval", item, err)
	size, err := s.LogSize(ctx)
	keep("log", size, err)
	notes, err := s.Checkpoints(ctx)
	keep("checkpoints", notes, err)
	return out
}

func TestNothingIsWritten(t *testing.T) {
	under := memory.New()
	before := what(t, under)
	s := dry.Store{Store: under}
	r, err := s.Commit(t.Context(), full())
	if err != nil || r.Last == 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := s.Prune(t.Context(), t0.Add(1000*time.Hour)); err != nil {
		t.Error(err)
	}
	if err := s.AddCheckpoint(t.Context(), 0, []byte("note")); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, what(t, under)); diff != "" {
		t.Errorf("a dry run wrote:\n%s", diff)
	}
	// The batch is one that changes all of it.
	if _, err := under.Commit(t.Context(), full()); err != nil {
		t.Fatal(err)
	}
	after := what(t, under)
	for name := range before {
		if name != "checkpoints" && cmp.Equal(before[name], after[name]) {
			t.Errorf("the batch does not change %s", name)
		}
	}
}

// Each method of a store reads, or is one that a dry store has of its own: who adds one
// says here which it is.
func TestEveryMethodIsKnown(t *testing.T) {
	reads := []string{"Approval", "ApprovalByKey", "ApprovalCounts", "ApprovalHolders", "ApprovalUsage", "Approvals",
		"Checkpoints", "Close", "Events", "HeldLeases", "HookState",
		"Latch", "Latches", "Lease", "LeaseByToken", "LeaseClock", "Leases",
		"LogCompacted", "LogHashes", "LogLeaves", "LogSize", "Probe", "Restrictions", "RunState", "RunsOf", "StateUsage"}
	writes := []string{"AddCheckpoint", "Commit", "DropCheckpoints", "LogRemove", "Prune"}
	typ := reflect.TypeFor[kernel.Store]()
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		if !slices.Contains(reads, name) && !slices.Contains(writes, name) {
			t.Errorf("%s: does it write?", name)
		}
	}
}
