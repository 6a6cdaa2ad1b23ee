package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// quota is what the tests allow one agent.
const quota = 3

// question returns an item; the same n is the same question in other words.
func question(id string, n int) approvals.Item {
	return approvals.Item{
		ID: id, Kind: approvals.KindAsk, Key: fmt.Sprintf("key-%d", n), State: approvals.Pending,
		By:      approvals.Requester{Credential: "uid 1000", Runtime: "r", Session: "s", Agent: "a"},
		Created: T0, Expires: T0.Add(10 * time.Minute),
	}
}

func create(it approvals.Item) kernel.Batch {
	return kernel.Batch{Approvals: []approvals.Op{{Create: &it, Quota: quota}}}
}

func step(id string, from, to approvals.State, at time.Time) kernel.Batch {
	ch := &approvals.Change{ID: id, From: from, To: to, At: Wall(at)}
	if to == approvals.Approved || to == approvals.Denied {
		ch.Decision = &approvals.Decision{Verdict: approvals.Verdict(to), By: "dev", At: at, Until: at.Add(10 * time.Minute),
			Content: "sha256:0", Signature: []byte{1, 2}}
	}
	return kernel.Batch{Approvals: []approvals.Op{{Change: ch}}}
}

func stored(t *testing.T, s kernel.Store, id string) approvals.Item {
	t.Helper()
	it, err := s.Approval(t.Context(), id)
	if err != nil || it == nil {
		t.Fatalf("approval %s: %v, %v", id, it, err)
	}
	return *it
}

func listed(t *testing.T, s kernel.Store, q approvals.Query) string {
	t.Helper()
	list, err := s.Approvals(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, it := range list {
		if !q.Match(&it) {
			t.Errorf("%s is listed and does not match %+v", it.ID, q)
		}
		ids = append(ids, it.ID)
	}
	return strings.Join(ids, " ")
}

func approvalsRoundTrip(t *testing.T, store kernel.Store) {
	item := question("1", 1)
	item.Phase, item.Tool, item.Invocation, item.Reason = phases.PreTool, "exec", "i", "it pushes"
	item.Action, item.Before = jsontext.Value(`{"tool":"exec","n":[1,2.50]}`), jsontext.Value(`{}`)
	item.Hooks = []approvals.Asking{{Hook: "ask-push", Digest: "sha256:1", Reason: "a push"}}
	item.Scopes, item.Details, item.Notes = &phases.Scopes{}, jsontext.Value(`{"x":null}`), []string{"n"}
	want := item.Clone()
	commit(t, store, create(item))
	item.Action[2], item.Hooks[0].Hook = 'X', "X" // the caller's copies
	if diff := cmp.Diff(want, stored(t, store, "1")); diff != "" {
		t.Errorf("stored item differs (-want +got):\n%s", diff)
	}
	before, err1 := want.Content()
	after, err2 := stored(t, store, "1").Content()
	if err1 != nil || err2 != nil || before != after {
		t.Errorf("the content has another digest: %s %s, %v %v", before, after, err1, err2)
	}
	got := stored(t, store, "1")
	got.Action[2] = 'Y'
	if string(stored(t, store, "1").Action) != string(want.Action) {
		t.Error("a reader has changed what is stored")
	}
	commit(t, store, create(question("2", 2)))
	other := question("3", 3)
	other.By.Session, other.Kind = "s2", approvals.KindProposal
	commit(t, store, create(other))
	for want, q := range map[string]approvals.Query{
		"3 2 1":  {},
		"3 2":    {Limit: 2},
		"2 1":    {Before: "3"},
		"3":      {Kind: approvals.KindProposal},
		" ":      {State: approvals.Denied},
		"2 1 ":   {By: &item.By},
		"3 2 1 ": {Owner: "uid 1000", NotDueAt: Wall(T0), State: approvals.Pending},
	} {
		if got := listed(t, store, q); got != strings.TrimSpace(want) {
			t.Errorf("%+v lists %q, want %q", q, got, want)
		}
	}
	if it, err := store.ApprovalByKey(t.Context(), approvals.KindAsk, "key-2"); err != nil || it == nil || it.ID != "2" {
		t.Errorf("by key: %v, %v", it, err)
	}
	for _, k := range []approvals.Kind{approvals.KindProposal, "x"} {
		if it, err := store.ApprovalByKey(t.Context(), k, "key-2"); err != nil || it != nil {
			t.Errorf("by another kind's key: %v, %v", it, err)
		}
	}
	if it, err := store.Approval(t.Context(), "missing"); err != nil || it != nil {
		t.Errorf("unknown id: %v, %v", it, err)
	}
}

// legalSteps returns the steps that an item can take at all.
func legalSteps() map[approvals.State]map[approvals.State]bool {
	return map[approvals.State]map[approvals.State]bool{
		approvals.Pending: {approvals.Approved: true, approvals.Denied: true, approvals.Expired: true,
			approvals.Superseded: true},
		approvals.Approved: {approvals.Consumed: true, approvals.Expired: true, approvals.Superseded: true},
	}
}

// Every pair of states is tried: an illegal step leaves no trace.
func approvalSteps(t *testing.T, store kernel.Store) {
	legal := legalSteps()
	n := 0
	late := T0.Add(time.Hour)
	for _, from := range queue.States() {
		for _, to := range queue.States() {
			n++
			id := fmt.Sprintf("%03d", n)
			it := question(id, n)
			it.By.Session = id
			commit(t, store, create(it))
			at := T0
			switch from {
			case approvals.Pending:
			case approvals.Consumed:
				commit(t, store, step(id, approvals.Pending, approvals.Approved, T0))
				commit(t, store, step(id, approvals.Approved, from, T0))
			case approvals.Expired:
				commit(t, store, step(id, approvals.Pending, from, late))
			default:
				commit(t, store, step(id, approvals.Pending, from, T0))
			}
			if to == approvals.Expired {
				at = late
			}
			batch := step(id, from, to, at)
			if !legal[from][to] {
				wantConflict(t, store, batch)
				if got := stored(t, store, id).State; got != from {
					t.Errorf("%s → %s was refused and left %s", from, to, got)
				}
				continue
			}
			wantConflict(t, store, step("missing", from, to, at))
			commit(t, store, batch)
			if got := stored(t, store, id).State; got != to {
				t.Errorf("%s → %s left %s", from, to, got)
			}
			wantConflict(t, store, batch) // never twice
		}
	}
	d := stored(t, store, "002").Decision
	if d == nil || d.By != "dev" || len(d.Signature) != 2 {
		t.Errorf("decision %+v", d)
	}
}

func approvalsRunOut(t *testing.T, store kernel.Store) {
	end := T0.Add(10 * time.Minute)
	commit(t, store, create(question("1", 1)))
	wantConflict(t, store, step("1", approvals.Pending, approvals.Expired, end.Add(-1)))
	for _, to := range []approvals.State{approvals.Approved, approvals.Denied} {
		wantConflict(t, store, step("1", approvals.Pending, to, end))
	}
	if got := listed(t, store, approvals.Query{DueAt: Wall(end)}); got != "1" {
		t.Errorf("due: %q", got)
	}
	if got := listed(t, store, approvals.Query{DueAt: Wall(end.Add(-1))}) +
		listed(t, store, approvals.Query{NotDueAt: Wall(end)}); got != "" {
		t.Errorf("due too early: %q", got)
	}
	// The same question can be asked again, in the same transaction that notes the end of the first.
	it := question("2", 1)
	it.Created, it.Expires = end, end.Add(10*time.Minute)
	b := step("1", approvals.Pending, approvals.Expired, end)
	b.Approvals = append(b.Approvals, approvals.Op{Create: &it, Quota: quota})
	commit(t, store, b)
	if got := stored(t, store, "1"); got.State != approvals.Expired || !got.Closed.Equal(end) {
		t.Errorf("%+v", got)
	}
	// An unused approval expires as well.
	commit(t, store, step("2", approvals.Pending, approvals.Approved, end))
	over := end.Add(10 * time.Minute)
	wantConflict(t, store, step("2", approvals.Approved, approvals.Consumed, over))
	if got := listed(t, store, approvals.Query{DueAt: Wall(over)}); got != "2" {
		t.Errorf("due: %q", got)
	}
	commit(t, store, step("2", approvals.Approved, approvals.Consumed, over.Add(-1)))
}

func approvalQuota(t *testing.T, store kernel.Store) {
	for n := range quota {
		commit(t, store, create(question(fmt.Sprint("a", n), n)))
	}
	wantConflict(t, store, create(question("a9", 9)))
	same := question("b", 0)
	same.By.Session = "s2"
	wantConflict(t, store, create(same)) // the same question of another caller
	same.Key = "another"
	commit(t, store, create(same)) // others are served
	proposal := question("c", 10)
	proposal.Kind = approvals.KindProposal
	commit(t, store, create(proposal)) // kinds do not crowd each other out
	u, err := store.ApprovalUsage(t.Context(), approvals.KindAsk, question("", 0).By, Wall(T0))
	if err != nil || u != (approvals.Usage{Agent: quota, Credential: quota + 1}) {
		t.Errorf("usage %+v, %v", u, err)
	}
	// What has run out does not count, also before that is written down.
	u, err = store.ApprovalUsage(t.Context(), approvals.KindAsk, question("", 0).By, Wall(T0.Add(10*time.Minute)))
	if err != nil || u != (approvals.Usage{}) {
		t.Errorf("usage %+v, %v", u, err)
	}
	commit(t, store, step("a0", approvals.Pending, approvals.Denied, T0))
	commit(t, store, create(question("a9", 9)))
	commit(t, store, step("a1", approvals.Pending, approvals.Approved, T0))
	wantConflict(t, store, create(question("d", 1))) // approved and not used yet: the question is answered
	// One credential that passes for many agents has a quota of its own.
	for n := range quota * approvals.CredentialFactor {
		it := question(fmt.Sprintf("f%03d", n), 100+n)
		it.By = approvals.Requester{Credential: "flood", Session: fmt.Sprint(n)}
		commit(t, store, create(it))
	}
	holders, err := store.ApprovalHolders(t.Context(), approvals.KindAsk, "flood", Wall(T0))
	if err != nil || len(holders) != quota*approvals.CredentialFactor {
		t.Errorf("%d holders, %v", len(holders), err)
	}
	it := question("g", 99)
	it.By = approvals.Requester{Credential: "flood", Session: "new"}
	wantConflict(t, store, create(it))
}

// Who holds what, and what there is.
func approvalHolders(t *testing.T, store kernel.Store) {
	end := T0.Add(10 * time.Minute)
	for n, agent := range []string{"b", "a", "a"} {
		it := question(fmt.Sprint("h", n), n)
		it.By.Agent = agent
		commit(t, store, create(it))
	}
	late := question("late", 10)
	late.By.Session, late.Expires = "s2", end.Add(time.Minute)
	commit(t, store, create(late))
	lease := question("lease", 11)
	lease.Kind = approvals.KindLease
	commit(t, store, create(lease))
	other := question("other", 12)
	other.By.Credential = "uid 2"
	commit(t, store, create(other))
	done := question("0", 13)
	done.By.Agent = "b"
	commit(t, store, create(done))
	commit(t, store, step("0", approvals.Pending, approvals.Denied, T0))
	for _, c := range []struct {
		at     time.Time
		want   []approvals.Holder
		counts map[approvals.Kind]int
	}{
		{T0, []approvals.Holder{{By: late.By, Pending: 1, Oldest: "late"}, {By: who("a"), Pending: 2, Oldest: "h1"},
			{By: who("b"), Pending: 1, Oldest: "h0"}}, map[approvals.Kind]int{approvals.KindAsk: 5, approvals.KindLease: 1}},
		{end, []approvals.Holder{{By: late.By, Pending: 1, Oldest: "late"}}, map[approvals.Kind]int{approvals.KindAsk: 1}},
		{end.Add(time.Hour), nil, map[approvals.Kind]int{}},
	} {
		got, err := store.ApprovalHolders(t.Context(), approvals.KindAsk, late.By.Credential, Wall(c.at))
		slices.SortFunc(got, func(a, b approvals.Holder) int { return strings.Compare(b.Oldest, a.Oldest) })
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("holders at %v: %v (-want +got):\n%s", c.at, err, diff)
		}
		counts, err := store.ApprovalCounts(t.Context(), Wall(c.at))
		if diff := cmp.Diff(c.counts, counts); err != nil || diff != "" {
			t.Errorf("counts at %v: %v (-want +got):\n%s", c.at, err, diff)
		}
	}
}

// An item waits until the instant that it was given, in whatever time zone that is written. The text of a time has no
// seconds in its zone: a store that keeps text alone has another instant, and may take the item for one that has run
// out.
func approvalsInOddZones(t *testing.T, store kernel.Store) {
	end := T0.Add(10 * time.Minute)
	for n := range quota {
		it := question(fmt.Sprint("z", n), n)
		it.Expires = end.In(time.FixedZone("mean time", -30))
		commit(t, store, create(it))
	}
	for at, want := range map[time.Time]int{end.Add(-10 * time.Second): quota, end: 0} {
		by := question("", 0).By
		u, err := store.ApprovalUsage(t.Context(), approvals.KindAsk, by, Wall(at))
		if err != nil || u != (approvals.Usage{Agent: want, Credential: want}) {
			t.Errorf("usage at %v: %+v, %v; want %d", at, u, err, want)
		}
		holders, err := store.ApprovalHolders(t.Context(), approvals.KindAsk, by.Credential, Wall(at))
		if held := slices.IndexFunc(holders, func(h approvals.Holder) bool {
			return h.By == by && h.Pending == want
		}) == 0; err != nil || held != (want > 0) {
			t.Errorf("holders at %v: %+v, %v", at, holders, err)
		}
		counts, err := store.ApprovalCounts(t.Context(), Wall(at))
		if err != nil || counts[approvals.KindAsk] != want {
			t.Errorf("counts at %v: %v, %v; want %d", at, counts, err, want)
		}
	}
	late := create(question("more", 9))
	late.Approvals[0].At = Wall(end.Add(-10 * time.Second))
	wantConflict(t, store, late)
	late.Approvals[0].At = Wall(end)
	commit(t, store, late)
}

func who(agent string) approvals.Requester {
	by := question("", 0).By
	by.Agent = agent
	return by
}

// What gives way does not pile up.
func approvalsSuperseded(t *testing.T, store kernel.Store) {
	commit(t, store, create(question("a", 1)))
	commit(t, store, step("a", approvals.Pending, approvals.Superseded, T0))
	other := question("b", 2)
	other.Kind = approvals.KindProposal
	commit(t, store, create(other))
	commit(t, store, step("b", approvals.Pending, approvals.Superseded, T0))
	const more = 5
	var b kernel.Batch
	for n := range approvals.KeepSuperseded + more {
		id := fmt.Sprintf("s%03d", n)
		b.Approvals = append(b.Approvals, create(question(id, 10+n)).Approvals...)
		b.Approvals = append(b.Approvals, step(id, approvals.Pending, approvals.Superseded, T0.Add(time.Second)).Approvals...)
	}
	commit(t, store, b)
	list, err := store.Approvals(t.Context(), approvals.Query{Kind: approvals.KindAsk, Limit: approvals.MaxLimit})
	if err != nil || len(list) != approvals.KeepSuperseded || list[0].ID != "s204" || list[len(list)-1].ID != "s005" {
		t.Errorf("%d are kept, %v", len(list), err)
	}
	if got := listed(t, store, approvals.Query{Kind: approvals.KindProposal}); got != "b" {
		t.Errorf("of another kind: %q", got)
	}
}

// Of many who decide or use at the same time, one succeeds.
func approvalsOnce(t *testing.T, s kernel.Store) {
	commit(t, s, create(question("1", 1)))
	for _, b := range []func() kernel.Batch{
		func() kernel.Batch { return step("1", approvals.Pending, approvals.Approved, T0) },
		func() kernel.Batch { return step("1", approvals.Approved, approvals.Consumed, T0) },
	} {
		var wg sync.WaitGroup
		var won, lost atomic.Int64
		for range 16 {
			wg.Go(func() {
				batch := b()
				batch.Now = T0
				switch _, err := s.Commit(t.Context(), evented(batch)); {
				case err == nil:
					won.Add(1)
				case errors.Is(err, kernel.ErrConflict):
					lost.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || lost.Load() != 15 {
			t.Errorf("%d succeeded, %d lost", won.Load(), lost.Load())
		}
	}
}

func approvalConflicts(t *testing.T, store kernel.Store) {
	commit(t, store, create(question("1", 1)))
	b := create(question("2", 2))
	b.Events = []phases.Event{event("e")}
	b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: "k", Value: []byte("v")}}
	b.Approvals = append(b.Approvals, step("1", approvals.Approved, approvals.Consumed, T0).Approvals...)
	wantConflict(t, store, b)
	v, err := store.HookState(t.Context(), "n", "k")
	if err != nil || v.Version != 0 || len(all(t, store)) != 1 || listed(t, store, approvals.Query{}) != "1" {
		t.Errorf("a conflict left traces: %v %v %q, %v", v, all(t, store), listed(t, store, approvals.Query{}), err)
	}
	b = create(question("3", 3))
	b.StateReads = []kernel.StateRead{{Namespace: "n", Key: "k", Version: 7}}
	wantConflict(t, store, b)
	if got := listed(t, store, approvals.Query{}); got != "1" {
		t.Errorf("listed: %q", got)
	}
}

func approvalsForgotten(t *testing.T, s kernel.Store) {
	commit(t, s, create(question("1", 1)))
	commit(t, s, create(question("2", 2)))
	commit(t, s, step("1", approvals.Pending, approvals.Denied, T0))
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{approvals.KeepClosed, "2 1"}, {approvals.KeepClosed + 1, "2"}} {
		prune(t, s, T0.Add(c.after))
		if got := listed(t, s, approvals.Query{}); got != c.want {
			t.Errorf("after %v: %q, want %q", c.after, got, c.want)
		}
	}
}

// An item or a decision that was stamped in this boot lasts its time by the clock of the boot,
// even if the wall clock has been set meanwhile.
func approvalsRunOutByBoot(t *testing.T, store kernel.Store) {
	const year = 365 * 24 * time.Hour
	moment := func(passed, set time.Duration) leases.Instant {
		return leases.Instant{Wall: T0.Add(passed + set), Boot: thisBoot, Since: time.Hour + passed}
	}
	last, over := 10*time.Minute-1, 10*time.Minute
	item := question("1", 1)
	item.Clock = moment(0, 0).Stamp()
	commit(t, store, create(item))
	check := func(at leases.Instant, pending bool) {
		t.Helper()
		n, due, not := 0, "1", ""
		if pending {
			n, due, not = 1, "", "1"
		}
		u, err := store.ApprovalUsage(t.Context(), item.Kind, item.By, at)
		counts, cerr := store.ApprovalCounts(t.Context(), at)
		holders, herr := store.ApprovalHolders(t.Context(), item.Kind, item.By.Credential, at)
		if err != nil || cerr != nil || herr != nil || u != (approvals.Usage{Agent: n, Credential: n}) ||
			counts[item.Kind] != n || len(holders) != n {
			t.Errorf("%+v, %v, %+v; %v, %v, %v; want %d", u, counts, holders, err, cerr, herr, n)
		}
		if got := listed(t, store, approvals.Query{DueAt: at}); got != due {
			t.Errorf("due: %q, want %q", got, due)
		}
		if got := listed(t, store, approvals.Query{NotDueAt: at, Limit: 1}); got != not {
			t.Errorf("not due: %q, want %q", got, not)
		}
	}
	again := func(at leases.Instant) kernel.Batch {
		b := create(question("2", 1))
		b.Approvals[0].At = at
		return b
	}
	to := func(from, to approvals.State, at leases.Instant) kernel.Batch {
		b := step("1", from, to, at.Wall)
		b.Approvals[0].Change.At = at
		if d := b.Approvals[0].Change.Decision; d != nil {
			d.Clock = at.Stamp()
		}
		return b
	}
	for _, set := range []time.Duration{-year, 0, year} {
		check(moment(last, set), true)
		check(moment(over, set), false)
		wantConflict(t, store, again(moment(last, set)))
		wantConflict(t, store, to(approvals.Pending, approvals.Expired, moment(last, set)))
		wantConflict(t, store, to(approvals.Pending, approvals.Approved, moment(over, set)))
	}
	commit(t, store, to(approvals.Pending, approvals.Approved, moment(last, year)))
	if got := stored(t, store, "1"); got.Clock != item.Clock || got.Decision.Clock != moment(last, year).Stamp() {
		t.Errorf("stored stamps: %+v and %+v", got.Clock, got.Decision.Clock)
	}
	for _, set := range []time.Duration{-year, 0, year} {
		if got := listed(t, store, approvals.Query{DueAt: moment(2*last, set)}); got != "" {
			t.Errorf("an approval is due early: %q", got)
		}
		wantConflict(t, store, again(moment(2*last, set)))
		wantConflict(t, store, to(approvals.Approved, approvals.Consumed, moment(last+over, set)))
	}
	commit(t, store, to(approvals.Approved, approvals.Consumed, moment(last+last, -year)))
}

// A batch says by which time things are old: the wall clock may be ahead of that.
func oldByCalmTime(t *testing.T, store kernel.Store) {
	key := phases.RunKey{Runtime: "r", Session: "s", Run: "1"}
	const year = 365 * 24 * time.Hour
	value := phases.Metadata{"k": {Value: []byte("1")}}
	commit(t, store, kernel.Batch{Now: T0.Add(year), Calm: T0, Run: &kernel.RunWrite{Key: key, Metadata: value}})
	commit(t, store, create(question("1", 1)))
	commit(t, store, step("1", approvals.Pending, approvals.Denied, T0))
	commit(t, store, ops(mint(lease("a", 1))))
	touch := T0.Add(kernel.MetadataTTL)
	rec := commit(t, store, kernel.Batch{Now: T0.Add(2 * year), Calm: touch, TouchRun: &key, Prune: true})
	over := touch.Add(kernel.MetadataTTL)
	r, err := store.RunState(t.Context(), key, over)
	gone, gerr := store.RunState(t.Context(), key, over.Add(1))
	if err != nil || gerr != nil || rec.Pruned != 0 || len(r.Metadata) != 1 || len(gone.Metadata) != 0 {
		t.Errorf("pruned %d, carried %v, then %v; %v, %v", rec.Pruned, r.Metadata, gone.Metadata, err, gerr)
	}
	if l, err := store.Lease(t.Context(), "a"); err != nil || l == nil {
		t.Errorf("the lease is gone: %v", err)
	}
	if it, err := store.Approval(t.Context(), "1"); err != nil || it == nil {
		t.Errorf("the denial is gone: %v", err)
	}
	if rec := commit(t, store, kernel.Batch{Now: T0, Calm: over.Add(1), Prune: true}); rec.Pruned != 1 {
		t.Errorf("pruned %d, want the run", rec.Pruned)
	}
}
