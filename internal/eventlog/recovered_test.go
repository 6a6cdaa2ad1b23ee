package eventlog_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// otherLeaf is a store that shows another leaf, or none, where one event is asked for.
type otherLeaf struct {
	kernel.Store
	after  int64
	leaves []kernel.LogLeaf
}

func (s *otherLeaf) LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	if after == s.after && limit == 1 {
		return s.leaves, nil
	}
	return s.Store.LogLeaves(ctx, after, limit)
}

// What a report says of the recoveries in a log: each whose statement fits the events before it.
func TestRecoveriesInAReport(t *testing.T) {
	k := newKey(t, 1)
	for _, c := range []struct {
		name string
		size int64 // that the statement is about; 3 events stand before it
		root byte  // that is changed in it
		mark string
		more string // in the output of the event
		log  func(s kernel.Store) kernel.Log
		want []eventlog.Recovered
	}{
		{"events were lost", 3, 0, "6:AAAA", "", nil, []eventlog.Recovered{{Event: 4, First: 4, Last: 6}}},
		{"one event was lost", 3, 0, "4:AAAA", "", nil, []eventlog.Recovered{{Event: 4, First: 4, Last: 4}}},
		{"others, of the same number", 3, 0, "3:AAAA", "", nil, []eventlog.Recovered{{Event: 4}}},
		{"nothing was lost", 3, 0, "3:ROOT", "", nil, []eventlog.Recovered{{Event: 4, Kept: true}}},
		{"rows were repaired", 3, 0, "3:ROOT", `,"rows":{"tables":["latches"]}`, nil,
			[]eventlog.Recovered{{Event: 4, Kept: true, Tables: []string{"latches"}}}},
		{"it is not known", 3, 0, "none", "", nil, []eventlog.Recovered{{Event: 4}}},
		{"about other events", 2, 0, "6:AAAA", "", nil, nil},
		{"about events that are not these", 3, 1, "6:AAAA", "", nil, nil},
		{"its event is not there", 3, 0, "6:AAAA", "", func(s kernel.Store) kernel.Log { return &otherLeaf{s, 3, nil} }, nil},
		{"its event is another", 3, 0, "6:AAAA", "", func(s kernel.Store) kernel.Log {
			leaves, err := s.LogLeaves(t.Context(), 3, 1)
			if err != nil || len(leaves) != 1 {
				t.Fatal(err)
			}
			leaves[0].Seq = 5
			return &otherLeaf{s, 3, leaves}
		}, nil},
	} {
		s := memory.New()
		verdicts(t, s, 3)
		root, err := eventlog.Root(t.Context(), s, c.size)
		if err != nil {
			t.Fatal(err)
		}
		r := eventlog.Recovery{Checkpoint: eventlog.Checkpoint{Size: c.size, Root: root, Time: t0}, By: "dev", Why: "disk"}
		r.Mark = strings.Replace(c.mark, "ROOT", r.Root.String(), 1)
		r.Root[0] ^= c.root
		statement, err := eventlog.SignRecovery(k, r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(string(statement))
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s,
			kernel.Batch{Events: []phases.Event{{ID: "r", Type: phases.EventRecovery, Time: t0,
				Output: []byte(`{"statement":` + string(text) + c.more + "}")}}})
		verdicts(t, s, 1)
		var log kernel.Log = s
		if c.log != nil {
			log = c.log(s)
		}
		got, err := eventlog.Verify(t.Context(), log, eventlog.Evidence{Verifier: k.Verifier()})
		if err != nil || got.Wrong != nil {
			t.Errorf("%s: %+v, %v", c.name, got.Wrong, err)
		}
		if diff := cmp.Diff(c.want, got.Recovered); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// The root of a log that cannot be read is an error and no root.
func TestNoRootOfALogThatCannotBeRead(t *testing.T) {
	s := memory.New()
	verdicts(t, s, 3)
	if _, err := eventlog.Root(t.Context(), &faulty{Log: s, fails: 1}, 3); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	if root, err := eventlog.Root(t.Context(), s, 3); err != nil || root == [32]byte{} {
		t.Errorf("%x, %v", root, err)
	}
}

// announcing makes the event of a compaction with a statement that was made elsewhere.
func announcing(t *testing.T, from kernel.Store, k *eventlog.Key, through int64) phases.Event {
	t.Helper()
	statement, err := eventlog.Announce(t.Context(), from, k, through, "dev", "space", t0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(kernel.Compaction{Through: through, Statement: string(statement)})
	if err != nil {
		t.Fatal(err)
	}
	return phases.Event{ID: "announcing", Type: phases.EventCompaction, Time: t0, Output: out}
}

// What stands after compactions: the newest that gives up more counts, and a statement about other events is a doubt.
func TestStandingOfCompactions(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	verdicts(t, s, 4)
	again := announcing(t, s, k, 2)
	if err := announce(t, s, k, 2, "first"); err != nil { // event 5
		t.Fatal(err)
	}
	for _, c := range []struct {
		why  string
		do   func()
		want kernel.Compacted
	}{
		{"one", func() {}, kernel.Compacted{Through: 2, Event: 5}},
		{"the same once more", func() { commit(t, s, kernel.Batch{Events: []phases.Event{again}}) },
			kernel.Compacted{Through: 2, Event: 5}},
		{"more", func() {
			if err := announce(t, s, k, 3, "more"); err != nil {
				t.Fatal(err)
			}
		}, kernel.Compacted{Through: 3, Event: 7}},
	} {
		c.do()
		got, err := eventlog.ReadStanding(t.Context(), s, k.Verifier())
		if err != nil || got.Compacted != c.want || len(got.Doubts) > 0 {
			t.Errorf("%s: %+v %q, %v", c.why, got.Compacted, got.Doubts, err)
		}
	}
	other := memory.New()
	verdicts(t, other, 1)
	commit(t, other, latching("l", "claude", "s", "why", t0))
	verdicts(t, other, 2)
	s = memory.New()
	verdicts(t, s, 4)
	commit(t, s, kernel.Batch{Events: []phases.Event{announcing(t, other, k, 3)}})
	got, err := eventlog.ReadStanding(t.Context(), s, k.Verifier())
	if err != nil || !slices.Contains(got.Doubts, "events 1 to 3 are not those that were compacted") {
		t.Errorf("the statement of another log: %q, %v", got.Doubts, err)
	}
}

// tampered is a store whose rows are not those that the log records.
type tampered struct {
	kernel.Store
	rows kernel.Restrictions
}

func (s *tampered) Restrictions(context.Context) (kernel.Restrictions, error) { return s.rows, nil }

// Rows that were changed are named as far as the log can be read: where it cannot, no latch is said to be made up.
func TestTamperedRowsOfALogThatCannotBeRead(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	verdicts(t, s, 2)
	commit(t, s, latching("l", "claude", "s1", "why", t0.Add(time.Minute)))
	rows, err := s.Latches(t.Context())
	if err != nil || len(rows) != 1 {
		t.Fatal(err)
	}
	changed := &tampered{s,
		kernel.Restrictions{Seq: 3, Recorded: recordedIn(t, s), Latches: rows,
			Tampered: &kernel.Tampered{Seq: 3, Tables: []string{"latches"}}}}
	eachFailure(t, changed, func(t *testing.T, f *faulty) {
		r, err := eventlog.Verify(t.Context(), f, eventlog.Evidence{Verifier: k.Verifier()})
		if err == nil && (r.Wrong == nil || strings.Contains(r.Wrong.Text, "latch of")) {
			t.Errorf("call %d fails: %+v", f.fails, r.Wrong)
		}
	})
}
