package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// repaired is what a repair of a table makes of rows that were found.
func repaired(t *testing.T, advice marked.Advice, table func(*repairer) func(context.Context) error,
	rows ...row) *repairer {
	t.Helper()
	e := (&restrict.Set{}).Edit()
	var h restrict.Hasher
	for _, r := range rows {
		e.Put(r.place().table, r.place().key, r.content(&h))
	}
	w := newWorld(1, e.Set(), single{})
	for _, r := range rows {
		var err error
		switch r := r.(type) {
		case *latchRow:
			err = w.addLatch(r)
		case *approvalRow:
			err = w.addApproval(r)
		case *leaseRow:
			err = w.addFoundLease(r)
		case *stateRow:
			err = w.addValue(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r := &repairer{world: w, step: w.blank(), advice: advice, now: time.Now(), out: &marked.Repair{}}
	r.step.queue, r.step.leases = approvalsOf(w), w.leases.Clone()
	if err := table(r)(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func approvalsOf(w *world) map[string]approvals.Item {
	out := map[string]approvals.Item{}
	for id, it := range w.queue {
		out[id] = it
	}
	return out
}

func TestRepairedLatches(t *testing.T) {
	held := kernel.Latch{Runtime: "r", Session: "s", Since: time.Unix(1, 0).UTC()}
	stray, err := newLatchRow(kernel.Latch{Runtime: "r", Session: "stray", Since: time.Unix(2, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	r := repaired(t, marked.Advice{Latches: []kernel.Latch{held}},
		func(r *repairer) func(context.Context) error { return r.latches }, stray)
	again, _ := newLatchRow(held)
	if got, _ := r.step.rows[again.place()].(*latchRow); got == nil || string(got.body) != string(again.body) {
		t.Errorf("the latch of the log is %+v", got)
	}
	if got, there := r.step.rows[stray.place()]; got != nil || !there {
		t.Errorf("the latch that no event made is %+v", got)
	}
}

func TestRepairedApprovals(t *testing.T) {
	var rows []row
	for id, state := range map[string]approvals.State{"sound": approvals.Approved, "odd": approvals.Consumed} {
		r, err := newApprovalRow(&approvals.Item{ID: id, Kind: approvals.KindAsk, Key: id, State: state,
			Expires: time.Unix(9, 0)})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	sound := func(it *approvals.Item) (bool, error) { return it.ID == "sound", nil }
	r := repaired(t, marked.Advice{Sound: sound},
		func(r *repairer) func(context.Context) error { return r.approvals }, rows...)
	if it := r.step.queue["sound"]; it.State != approvals.Superseded || len(r.events) != 1 {
		t.Errorf("%+v, %d events", it, len(r.events))
	}
	if _, left := r.step.queue["odd"]; left || len(r.step.keys) != 1 {
		t.Error("an item stays that is not what the log says of it")
	}
}

func TestRepairedLeases(t *testing.T) {
	made := func(id string) *leaseRow {
		r, err := newLeaseRow(&leases.Lease{ID: id, State: leases.Active, MaxUses: 3, Token: []byte(id)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	active, odd := made("active"), made("odd")
	odd.max = 99 // its body says 3
	r := repaired(t, marked.Advice{}, func(r *repairer) func(context.Context) error { return r.leases }, active, odd)
	if got, _ := r.step.rows[active.place()].(*leaseRow); got == nil || got.state != string(leases.Revoked) ||
		string(got.body) != string(active.body) {
		t.Errorf("the lease is %+v", got)
	}
	if got, there := r.step.rows[odd.place()]; got != nil || !there {
		t.Errorf("a lease that says two things is %+v", got)
	}
}

func TestRepairedValues(t *testing.T) {
	v := &stateRow{[]byte("n"), []byte("k"), 7, []byte("v")}
	r := repaired(t, marked.Advice{}, func(r *repairer) func(context.Context) error { return r.state }, v)
	got, _ := r.step.rows[v.place()].(*stateRow)
	if got == nil || got.version != r.highest() || r.step.single.version != r.highest() || string(got.value) != "v" {
		t.Errorf("%+v, the last version is %d", got, r.step.single.version)
	}
	if !strings.Contains(strings.Join(r.out.Accepted, "\n"), "a budget may begin anew") {
		t.Errorf("%q", r.out.Accepted)
	}
}

// What a row says of a compaction has to be what the log gives up, and what the digest records.
func TestCompactionsThatDiffer(t *testing.T) {
	gave := marked.Compaction{Compacted: kernel.Compacted{Through: 3, Event: 5}}
	apart := gave
	apart.Apart = true
	for _, c := range []struct {
		want               marked.Compaction
		through, announced int64
		differs            bool
	}{
		{gave, 3, 5, false}, {gave, 4, 5, true}, {gave, 3, 6, true}, {gave, 0, 0, true}, {apart, 0, 0, false},
		{apart, 1, 2, true}, {marked.Compaction{}, 0, 0, false}, {marked.Compaction{}, 2, 3, true},
	} {
		if got := miscompacted(c.want, c.through, c.announced); got != c.differs {
			t.Errorf("%+v, stored as %d and %d: %v", c.want, c.through, c.announced, got)
		}
	}
	var h restrict.Hasher
	e := (&restrict.Set{}).Edit()
	p := compactionPlace(1)
	e.Put(p.table, p.key, intContent(&h, 3, 5))
	set := e.Set()
	for own, want := range map[single]bool{
		{through: 3, announced: 5}: true, {through: 4, announced: 5}: false, {}: false} {
		if err := compactedAs(set, 1, &own); (err == nil) != want || err != nil && !errors.Is(err, kernel.ErrTampered) {
			t.Errorf("%+v: %v", own, err)
		}
	}
	if err := compactedAs(nil, 1, &single{through: 3}); !errors.Is(err, kernel.ErrTampered) {
		t.Errorf("nothing was compacted: %v", err)
	}
}

// A kernel that meets edited rows is blocked, and gives its name to those who recover. One whose log is forwarded keeps
// it: the log goes on.
func TestEditedRowsBlock(t *testing.T) {
	for _, forwarding := range []bool{false, true} {
		w := &writer{store: &Store{o: Options{Forwarding: forwarding}}, set: &restrict.Set{}}
		found := &kernel.Tampered{Tables: []string{"latches"}}
		for range 2 {
			err := w.noticing(t.Context(), func(context.Context) error { return found })
			if !errors.Is(err, kernel.ErrTampered) || (w.lost == nil) != forwarding {
				t.Errorf("forwarding %v: %v, %v", forwarding, err, w.lost)
			}
		}
	}
}
