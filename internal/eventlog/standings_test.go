package eventlog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// ends is the end of a latch by an event that names it; "" names none.
func ends(id, runtime, session, latch string) kernel.Batch {
	e := phases.Event{ID: id, Type: phases.EventLatch, Time: t0, Runtime: runtime, Session: session, Decision: "cleared"}
	if latch != "" {
		e.Output = []byte(`{"latch":"` + latch + `"}`)
	}
	return kernel.Batch{Events: []phases.Event{e}}
}

// named is a latch whose event says what a latch of today says.
func named(id, runtime, session string, end phases.LatchEnd, at time.Time) kernel.Batch {
	b := latching(id, runtime, session, "named "+id, at)
	b.Events[0].Output = []byte(`{"cause":"store","ends":"` + string(end) + `"}`)
	return b
}

// Latches of all logs stand together, until an event of their own log or one that names them ends them.
func TestStandingsOfManyLogs(t *testing.T) {
	const cause, person = phases.EndsWithCause, phases.EndsByPerson
	for name, c := range map[string]struct {
		a, b []kernel.Batch
		want string // the ids of the latches that stand
	}{
		"one each": {[]kernel.Batch{named("a1", "r", "s", person, t0)},
			[]kernel.Batch{named("b1", "r", "t", person, t0)}, "a1 b1"},
		"ended in its own log": {[]kernel.Batch{named("a1", "r", "s", person, t0), ends("a2", "r", "s", "")}, nil, ""},
		"ended by another kernel": {[]kernel.Batch{named("a1", "r", "s", person, t0)},
			[]kernel.Batch{ends("b1", "r", "s", "a1")}, ""},
		"another kernel ends one that it does not name": {[]kernel.Batch{named("a1", "r", "s", person, t0)},
			[]kernel.Batch{ends("b1", "r", "s", "")}, "a1"},
		"another kernel ends an earlier one": {
			[]kernel.Batch{named("a1", "r", "s", person, t0), ends("a2", "r", "s", "a1"),
				named("a3", "r", "s", person, t0.Add(time.Hour))}, []kernel.Batch{ends("b1", "r", "s", "a1")}, "a3"},
		"the one that ends harder stands": {[]kernel.Batch{named("a1", "r", "s", cause, t0.Add(time.Hour))},
			[]kernel.Batch{named("b1", "r", "s", person, t0)}, "b1"},
		"also where it came first": {[]kernel.Batch{named("a1", "r", "s", cause, t0)},
			[]kernel.Batch{named("b1", "r", "s", person, t0.Add(time.Hour))}, "b1"},
	} {
		t.Run(name, func(t *testing.T) {
			var logs []eventlog.LogOf
			for i, list := range [][]kernel.Batch{c.a, c.b} {
				s := memory.New()
				for _, b := range list {
					commit(t, s, b)
				}
				logs = append(logs, eventlog.LogOf{Name: string(rune('a' + i)), Verifier: newKey(t, 1).Verifier(), Log: s})
			}
			for range 2 {
				got, err := eventlog.ReadStandings(t.Context(), logs)
				var ids []string
				for _, l := range got.Latches {
					ids = append(ids, l.ID)
				}
				if err != nil || strings.Join(ids, " ") != c.want || len(got.Doubts) > 0 {
					t.Errorf("%q, %q, %v", ids, got.Doubts, err)
				}
				logs[0], logs[1] = logs[1], logs[0] // the order of the logs says nothing
			}
		})
	}
}

// What the logs say beside that is put together, with the name of the kernel where one is in doubt.
func TestStandingsNameTheirKernel(t *testing.T) {
	k := newKey(t, 1)
	a, b := standingLog(t, k), memory.New()
	commit(t, b, latching("1", "claude", "apart", "first", t0))
	commit(t, b, kernel.Batch{Events: []phases.Event{{ID: "2", Type: phases.EventApproval, Time: t0.Add(-time.Hour),
		Decision: "denied", Output: []byte(`{"approval":"item-0"}`)}}})
	damagedLog := copyLog(t, b)
	damaged(damagedLog, 0)
	logs := []eventlog.LogOf{{Name: "a", Verifier: k.Verifier(), Log: a}, {Name: "b", Verifier: k.Verifier(), Log: b,
		Apart: true}}
	got, err := eventlog.ReadStandings(t.Context(), logs)
	one, _ := eventlog.ReadStanding(t.Context(), a, k.Verifier())
	want := eventlog.Standing{Latches: one.Latches, Newest: t0.Add(time.Hour),
		Denied:      []eventlog.Denial{{Approval: "item-0", At: t0.Add(-time.Hour)}, {Approval: "item-1", At: t0}},
		Compactions: map[string]kernel.Compacted{"a": {Through: 3, Event: 5}, "b": {}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	logs[1].Log = damagedLog
	if got, err := eventlog.ReadStandings(t.Context(), logs); err != nil || len(got.Doubts) == 0 ||
		got.Doubts[0] != "kernel b: event 1 is not the one that was recorded" {
		t.Errorf("%q, %v", got.Doubts, err)
	}
	logs[1].Log = &faulty{Log: b, fails: 1}
	if _, err := eventlog.ReadStandings(t.Context(), logs); !errors.Is(err, eventlog.ErrLog) ||
		!strings.Contains(err.Error(), "kernel b") {
		t.Error(err)
	}
}
