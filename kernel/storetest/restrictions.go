package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// change is a batch that changes something that restricts.
type change struct {
	name  string
	batch kernel.Batch
}

// changes returns batches, in order, that change every kind of row there is.
func changes() []change {
	k := wire.Session{Runtime: "r", Session: "s"}
	run := phases.RunKey{Runtime: "r", Session: "s", Run: "1"}
	bag := phases.Metadata{"k": {Value: jsontext.Value(`1`)}}
	return []change{
		{"a latch", kernel.Batch{Latch: &kernel.Latch{Runtime: k.Runtime, Session: k.Session, Reason: "why", Since: T0}}},
		{"a latch is cleared", kernel.Batch{ClearLatch: &k}},
		{"metadata", kernel.Batch{Run: &kernel.RunWrite{Key: run, Metadata: bag}}},
		{"a retry", kernel.Batch{Run: &kernel.RunWrite{Key: run, Version: 1, Metadata: bag,
			Retries: map[string]int{"h": 1}}}},
		{"what is carried of calls", kernel.Batch{Calls: []kernel.RunWrite{
			{Key: phases.RunKey{Runtime: "r", Session: "s", Run: "\x1fcall\x1f1"}, Metadata: bag},
			{Key: phases.RunKey{Runtime: "r", Session: "s", Run: "\x1fcall\x1f2"}, Metadata: bag}}}},
		{"a use of a run", kernel.Batch{Now: T0.Add(time.Hour), TouchRun: &run}},
		{"a value", kernel.Batch{StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("1")}}}},
		{"another value", kernel.Batch{StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("2")}}}},
		{"a value goes", kernel.Batch{StateWrites: []kernel.StateWrite{{Namespace: "n", Key: "k", Delete: true}}}},
		{"a question", create(question("1", 1))},
		{"a denial", step("1", approvals.Pending, approvals.Denied, T0)},
		{"a lease", ops(mint(lease("a", 3)))},
		{"a use of a lease", ops(claim("a", at(0)))},
		{"a revocation", ops(revoke("a"))},
		{"a time", kernel.Batch{Now: T0.Add(2 * time.Hour), Events: []phases.Event{event("time")}}},
		{"a compaction", kernel.Batch{Compact: 1}},
		{"what has had its time goes", kernel.Batch{Now: T0.Add(leases.Retention + 48*time.Hour), Prune: true}},
	}
}

// restrictionsRecorded: the last event of every batch carries the digest of the rows as
// they are after it.
func restrictionsRecorded(t *testing.T, store kernel.Store) {
	seen := map[string]string{}
	for _, change := range changes() {
		b := evented(change.batch)
		b.Events = append([]phases.Event{event("first of " + change.name)}, b.Events...)
		b.Events[0].Restrictions, b.Events[0].Shared = "sha256:0", "sha256:0" // what comes in does not count
		commit(t, store, b)
		restrictions, err := store.Restrictions(t.Context())
		if err != nil || restrictions.Tampered != nil || restrictions.Found != restrictions.Recorded ||
			restrictions.Since != 1 {
			t.Fatalf("after %s: %+v, %v", change.name, restrictions, err)
		}
		es, err := store.Events(t.Context(), wire.Query{Newest: true, Limit: 2})
		if err != nil || len(es) != 2 || es[0].Restrictions != "" || es[1].Restrictions != restrictions.Recorded ||
			es[1].Seq != restrictions.Seq {
			t.Fatalf("after %s: the events are %+v, %v, want %s in the second", change.name, es, err, restrictions.Recorded)
		}
		if lends := len(b.Leases) > 0 || len(b.Approvals) > 0; es[0].Shared != "" ||
			es[1].Shared != restrictions.Shared && (lends || es[1].Shared != "") {
			t.Fatalf("after %s: the events are %+v, want %q in the second for what is shared", change.name, es,
				restrictions.Shared)
		}
		if d, ok := restrict.RootOf(restrictions.Tables); !ok || d.String() != restrictions.Found {
			t.Errorf("after %s: the digests of the tables are not those of %s", change.name, restrictions.Found)
		}
		digests := restrictions.Recorded + restrictions.Shared
		if other := seen[digests]; other != "" && change.name != "a latch is cleared" {
			t.Errorf("%s does not show: the digest is that of %s", change.name, other)
		}
		seen[digests] = change.name
	}
	before, _ := store.Restrictions(t.Context())
	now := T0.Add(leases.Retention + 48*time.Hour)
	commit(t, store, kernel.Batch{Now: now, Events: []phases.Event{event("nothing")}})
	if after, _ := store.Restrictions(t.Context()); after.Recorded != before.Recorded {
		t.Error("a batch that changes nothing has changed the digest")
	}
}

// changeNeedsEvent: without an event no digest could cover the change.
func changeNeedsEvent(t *testing.T, store kernel.Store) {
	for _, c := range changes() {
		b := c.batch
		if b.Events != nil {
			continue // an event is all that there is
		}
		b.Now = T0
		if _, err := store.Commit(t.Context(), b); !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("%s without an event: %v, want ErrUnavailable", c.name, err)
		}
	}
	commit(t, store, kernel.Batch{Now: T0.Add(time.Hour)}) // only looks whether the store works
	if at, err := store.LeaseClock(t.Context()); err != nil || at.After(T0) {
		t.Errorf("a time that no event records counts: %v, %v", at, err)
	}
	r, err := store.Restrictions(t.Context())
	if err != nil || r.Seq != 0 || r.Tampered != nil || len(r.Latches) != 0 {
		t.Errorf("after refused batches: %+v, %v", r, err)
	}
}
