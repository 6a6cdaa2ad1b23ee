package activity_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // zones that this machine may not have

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/activity"
	"github.com/belay-hooks/belay/phases"
)

// logOf answers queries as a store does, and retains them.
type logOf struct {
	events  []phases.Event
	queries []wire.Query
}

func (l *logOf) Events(_ context.Context, q wire.Query) ([]phases.Event, error) {
	l.queries = append(l.queries, q)
	var out []phases.Event
	for _, e := range l.events {
		if q.Match(&e) {
			out = append(out, e)
		}
	}
	if n := len(out) - q.EffectiveLimit(); n > 0 && q.Newest {
		return out[n:], nil
	} else if n > 0 {
		return out[:q.EffectiveLimit()], nil
	}
	return out, nil
}

func (l *logOf) add(events ...phases.Event) {
	for _, e := range events {
		e.Seq = int64(len(l.events) + 1)
		l.events = append(l.events, e)
	}
}

var (
	until = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	since = until.Add(-24 * time.Hour)
)

func at(hours int) time.Time { return since.Add(time.Duration(hours)*time.Hour + time.Minute) }

func verdict(t time.Time, decision string, us, fuel int64) phases.Event {
	return phases.Event{Type: phases.EventVerdict, Time: t, Phase: phases.PreTool, Decision: decision,
		Kind:    phases.KindPolicy,
		Runtime: "claude-code", Session: "s", DurationUS: us, Fuel: fuel}
}

func turn(t time.Time, hook string, us, fuel int64) phases.Event {
	return phases.Event{Type: phases.EventHook, Time: t, Binding: hook, DurationUS: us, Fuel: fuel}
}

func approval(t time.Time, id, decision string) phases.Event {
	return phases.Event{Type: phases.EventApproval, Time: t, Decision: decision,
		Output: []byte(fmt.Sprintf(`{"approval":%q,"kind":"ask"}`, id))}
}

func call(e phases.Event, id string) phases.Event {
	e.Input = []byte(fmt.Sprintf(`{"action":{"call_id":%q}}`, id))
	return e
}

func read(t *testing.T, l *logOf, o activity.Options) *activity.Report {
	t.Helper()
	if o.Since.IsZero() {
		o.Since, o.Until, o.Location = since, until, time.UTC
	}
	r, err := activity.Read(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReport(t *testing.T) {
	l := new(logOf)
	l.add(verdict(at(-5), "block", 1, 1), turn(at(-5), "old", 1, 1)) // before the report
	l.add(turn(at(0), "a", 100, 10), turn(at(0), "b", 300, 20), verdict(at(0), "allow", 400, 30))
	changed := verdict(at(0), "allow", 50, 5)
	changed.Changed = []string{"/args/command"}
	l.add(turn(at(0), "a", 50, 5), changed)
	failed := verdict(at(2), "block", 0, 0)
	failed.Kind = phases.KindFuel
	l.add(failed, verdict(at(2), "block", 10, 1), phases.Event{Type: phases.EventFailure, Time: at(2), Decision: "block"})
	// Two questions of a runtime: the result of one comes, twice.
	prompt := func(id string) phases.Event {
		e := call(verdict(at(3), "ask", 10, 1), id)
		e.Enforced = phases.EnforcedDelegated
		return e
	}
	result := call(verdict(at(3), "allow", 10, 1), "c1")
	result.Phase = phases.PostTool
	l.add(prompt("c1"), prompt("c2"), result, result)
	// Questions in the queue; the answer to one that was asked before does not count.
	l.add(approval(at(4), "w", "requested"), approval(at(4), "x", "requested"), approval(at(4), "y", "requested"),
		approval(at(4), "z", "requested"), approval(at(4).Add(time.Minute), "x", "approved"),
		approval(at(5), "x", "consumed"),
		approval(at(4).Add(3*time.Minute), "y", "denied"), approval(at(9), "z", "expired"),
		approval(at(9), "old", "approved"),
		phases.Event{Type: phases.EventApproval, Time: at(9), Decision: "requested",
			Output: []byte(`{"approval":"p","kind":"proposal"}`)})
	l.add(verdict(at(30), "block", 1, 1)) // after it

	r := read(t, l, activity.Options{})
	if r.Decisions != (activity.Decisions{Allow: 3, Changed: 1, Ask: 2, Block: 3}) || r.Failures != 2 || !r.Complete ||
		r.Step != activity.Hour || r.Zone != "UTC" || r.From != since {
		t.Errorf("%+v", r)
	}
	want := activity.Answers{Queued: 4, Approved: 1, Denied: 1, Expired: 1, Waiting: 1, Prompted: 2, Ran: 1, NoResult: 1,
		AnswerMS: activity.Spread{N: 2, Total: 240_000, P50: 60_000, P90: 180_000, P99: 180_000, Max: 180_000}}
	if r.Answers != want {
		t.Errorf("%+v", r.Answers)
	}
	hooks := []activity.Hook{
		{Hook: "a", Latency: activity.Spread{N: 2, Total: 150, P50: 50, P90: 100, P99: 100, Max: 100},
			Fuel: activity.Spread{N: 2, Total: 15, P50: 5, P90: 10, P99: 10, Max: 10}},
		{Hook: "b", Latency: activity.Spread{N: 1, Total: 300, P50: 300, P90: 300, P99: 300, Max: 300},
			Fuel: activity.Spread{N: 1, Total: 20, P50: 20, P90: 20, P99: 20, Max: 20}},
	}
	if !reflect.DeepEqual(r.Hooks, hooks) || r.Latency.N != 8 || r.Latency.Max != 400 || r.Fuel.Total != 40 {
		t.Errorf("%+v\n%+v", r.Hooks, r.Latency)
	}
	if len(r.OverTime) != 24 || r.OverTime[0].All() != 2 || r.OverTime[2].Block != 3 || r.OverTime[3].Ask != 2 {
		t.Errorf("%+v", r.OverTime)
	}
}

// Every query but those for the ends of the log names the time, so that a store finds the events by its index and
// no report reads a whole log.
func TestReportAsksForItsTimeAlone(t *testing.T) {
	l := new(logOf)
	for n := range 4500 {
		l.add(verdict(since.Add(time.Duration(n)*time.Second), "allow", 1, 1))
	}
	r := read(t, l, activity.Options{Gone: 100})
	if r.Decisions.Allow != 4400 || r.Complete || !r.From.Equal(since.Add(100*time.Second)) || r.Events != 4400 {
		t.Errorf("%+v", r)
	}
	pages := 0
	for _, q := range l.queries {
		if q.Limit == 1 {
			continue
		}
		if pages++; !q.Since.Equal(since) || !q.Until.Equal(until) || q.After < 100 || q.Before != 4501 {
			t.Errorf("%+v", q)
		}
	}
	if pages != 3 {
		t.Errorf("%d pages", pages)
	}
	if r := read(t, new(logOf), activity.Options{}); !r.Complete || r.Decisions.All() != 0 || r.Hooks == nil {
		t.Errorf("%+v", r)
	}
}

// Spans are those of the calendar: a day may have 23 hours, and an hour begins where the zone has it.
func TestSpans(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	kolkata, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loc          *time.Location
		since, until string
		step, zone   string
		want         []string
	}{
		{berlin, "2026-03-27T10:00:00Z", "2026-03-30T10:00:00Z", activity.Day, "CEST, UTC+02:00",
			[]string{"2026-03-27T11:00:00+01:00", "2026-03-28T00:00:00+01:00", "2026-03-29T00:00:00+01:00",
				"2026-03-30T00:00:00+02:00"}},
		{kolkata, "2026-03-27T10:10:00Z", "2026-03-27T12:00:00Z", activity.Hour, "IST, UTC+05:30",
			[]string{"2026-03-27T15:40:00+05:30", "2026-03-27T16:00:00+05:30", "2026-03-27T17:00:00+05:30"}},
		{time.UTC, "2026-01-01T00:00:00Z", "2026-04-20T00:00:00Z", activity.Week, "UTC", nil},
	} {
		parse := func(s string) time.Time {
			at, err := time.Parse(time.RFC3339, s)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		r := read(t, new(logOf), activity.Options{Since: parse(c.since), Until: parse(c.until), Location: c.loc})
		var got []string
		for _, s := range r.OverTime {
			got = append(got, s.From.In(c.loc).Format(time.RFC3339))
		}
		if r.Step != c.step || r.Zone != c.zone || c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%s in %s: %q", r.Step, r.Zone, got)
		}
		if c.step == activity.Week && (len(got) != 16 || got[1] != "2026-01-05T00:00:00Z") {
			t.Errorf("%q", got)
		}
	}
}

func TestSpread(t *testing.T) {
	var list []int64
	for n := range int64(200) {
		list = append(list, 200-n)
	}
	if s := activity.SpreadOf(list); s != (activity.Spread{N: 200, Total: 20100, P50: 100, P90: 180, P99: 198, Max: 200}) {
		t.Errorf("%+v", s)
	}
	if s := activity.SpreadOf(nil); s != (activity.Spread{}) {
		t.Errorf("%+v", s)
	}
}
