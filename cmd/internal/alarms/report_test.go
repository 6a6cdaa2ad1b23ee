package alarms

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// logOf is a log of some events, which counts what is asked of it.
type logOf struct {
	events  []phases.Event
	queries []wire.Query
	fail    error
}

func (l *logOf) Events(_ context.Context, q wire.Query) ([]phases.Event, error) {
	l.queries = append(l.queries, q)
	if l.fail != nil {
		return nil, l.fail
	}
	low, high := max(q.After, 0), int64(len(l.events)) // event n has the number n+1
	if q.Before > 0 {
		high = min(high, q.Before-1)
	}
	var out []phases.Event
	if q.Newest {
		for i := high - 1; i >= low && len(out) < q.EffectiveLimit(); i-- {
			if q.Match(&l.events[i]) {
				out = append([]phases.Event{l.events[i]}, out...)
			}
		}
		return out, nil
	}
	for i := low; i < high && len(out) < q.EffectiveLimit(); i++ {
		if q.Match(&l.events[i]) {
			out = append(out, l.events[i])
		}
	}
	return out, nil
}

func (l *logOf) add(events ...phases.Event) {
	for _, e := range events {
		e.Seq = int64(len(l.events) + 1)
		l.events = append(l.events, e)
	}
}

var now = time.Date(2026, 3, 5, 12, 0, 0, 0, time.Local)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func turnBy(at time.Time, invocation, hook, decision, reason string, mode phases.Mode) phases.Event {
	return phases.Event{Type: phases.EventHook, Time: at, Invocation: invocation, Phase: phases.PreTool, Tool: "exec",
		Binding: hook, Decision: decision, Reason: reason, Kind: phases.KindPolicy, Mode: mode}
}

func verdict(at time.Time, invocation, by, decision, reason string) phases.Event {
	return phases.Event{Type: phases.EventVerdict, Time: at, Invocation: invocation, Phase: phases.PreTool, Tool: "exec",
		DecidedBy: by, Decision: decision, Reason: reason, Kind: phases.KindPolicy, Runtime: "claude-code", Session: "s"}
}

func approval(at time.Time, invocation, decision string) phases.Event {
	return phases.Event{Type: phases.EventApproval, Time: at, Invocation: invocation, Decision: decision}
}

func delegated(e phases.Event, call string) phases.Event {
	e.Enforced, e.Input = phases.EnforcedDelegated, []byte(fmt.Sprintf(`{"action":{"call_id":%q}}`, call))
	return e
}

func result(at time.Time, call string) phases.Event {
	e := verdict(at, "result-"+call, "", "allow", "")
	e.Phase, e.Input = phases.PostTool, []byte(fmt.Sprintf(`{"action":{"call_id":%q}}`, call))
	return e
}

func read(t *testing.T, l *logOf, o Options) *Report {
	t.Helper()
	o.Now = now
	r, err := Read(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rowsOf(r *Report) map[string]Counts {
	out := map[string]Counts{}
	for _, row := range r.Rows {
		out[row.Hook+"|"+row.Rule+"|"+row.Tool] = row.Counts
	}
	return out
}

// aDay is what people had in two days.
func aDay() *logOf {
	l := new(logOf)
	old := ago(72 * time.Hour)
	l.add(turnBy(old, "old", "rules", "block", "no (rule pushes)", phases.Enforce),
		verdict(old, "old", "rules", "block", "no"))
	d1, d2 := ago(30*time.Hour), ago(2*time.Hour)
	// Put into the queue, approved; the agent asks again meanwhile, and once more with the approval.
	l.add(turnBy(d1, "a", "rules", "ask", "no (rule pushes); no (rule late)", phases.Enforce),
		verdict(d1, "a", "rules", "ask", "no (rule pushes); no (rule late)"), approval(d1, "a", "requested"),
		turnBy(d1, "a2", "rules", "ask", "no (rule pushes)", phases.Enforce),
		verdict(d1, "a2", "rules", "ask", "no (rule pushes)"),
		approval(d1, "a", "approved"),
		turnBy(d1, "a3", "rules", "ask", "no (rule pushes)", phases.Enforce), verdict(d1, "a3", "", "allow", ""))
	// Put into the queue, denied; the same call again is the person's answer, no alarm.
	l.add(turnBy(d2, "b", "rules", "ask", "no (rule pushes)", phases.Enforce),
		verdict(d2, "b", "rules", "ask", "no (rule pushes)"), approval(d2, "b", "requested"), approval(d2, "b", "denied"),
		verdict(d2, "b2", "reviewer", "block", "denied by dev"))
	// Put to the person by the runtime: one ran, one did not.
	l.add(turnBy(d2, "c", "guard", "ask", "would read /a", phases.Enforce),
		delegated(verdict(d2, "c", "guard", "ask", "would read /a"), "c1"),
		turnBy(d2, "d", "guard", "ask", "would read /b", phases.Enforce),
		delegated(verdict(d2, "d", "guard", "ask", "would read /b"), "c2"), result(d2, "c1"))
	// Blocked; an ask of another hook in the same call was never put.
	l.add(turnBy(d2, "e", "rules", "ask", "no (rule pushes)", phases.Enforce),
		turnBy(d2, "e", "guard", "block", "would read /c", phases.Enforce),
		verdict(d2, "e", "guard", "block", "would read /c"))
	// Observed, by a hook that was called twice.
	l.add(turnBy(d2, "f", "new", "block", "no (rule x)", phases.Observe),
		turnBy(d2, "f", "new", "block", "no (rule x)", phases.Observe),
		turnBy(d2, "g", "new", "ask", "no (rule x)", phases.Observe), verdict(d2, "g", "", "allow", ""))
	failed := verdict(d2, "h", "guard", "block", "the fuel is spent")
	failed.Kind = phases.KindFuel
	l.add(failed)
	return l
}

func TestReportCountsWhatPeopleHad(t *testing.T) {
	r := read(t, aDay(), Options{By: ByRule, Since: ago(48 * time.Hour)})
	want := map[string]Counts{
		"rules|pushes|":        {Asks: 2, Approved: 1},
		"rules|late|":          {Asks: 1, Approved: 1},
		"guard|would read …|":  {Asks: 2, Approved: 1, Blocks: 1},
		"guard|failure: fuel|": {Blocks: 1},
		"new|x|":               {ObservedAsks: 1, ObservedBlocks: 1},
	}
	if got := rowsOf(r); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if want := (Counts{Asks: 4, Approved: 2, Blocks: 2, ObservedAsks: 1, ObservedBlocks: 1}); r.Total != want ||
		!r.Complete {
		t.Errorf("in all %+v, complete %v, want %+v", r.Total, r.Complete, want)
	}
	if r.Rows[0].Rule != "would read …" || r.Rows[0].PerDay != 1.5 {
		t.Errorf("the noisiest is %+v", r.Rows[0])
	}
	if len(r.Days) != 2 || r.Days[0].Day != "2026-03-05" || r.Days[0].Asks != 3 || r.Days[1].Asks != 1 {
		t.Errorf("days: %+v", r.Days)
	}
}

func TestReportByHookAndTool(t *testing.T) {
	want := map[string]Counts{"rules||": {Asks: 2, Approved: 1}, "guard||": {Asks: 2, Approved: 1, Blocks: 2},
		"new||": {ObservedAsks: 1, ObservedBlocks: 1}}
	if got := rowsOf(read(t, aDay(), Options{By: ByHook, Since: ago(48 * time.Hour)})); !reflect.DeepEqual(got, want) {
		t.Errorf("by hook: %v, want %v", got, want)
	}
	want = map[string]Counts{"||exec": {Asks: 4, Approved: 2, Blocks: 2, ObservedAsks: 1, ObservedBlocks: 1}}
	if got := rowsOf(read(t, aDay(), Options{By: ByTool, Since: ago(48 * time.Hour)})); !reflect.DeepEqual(got, want) {
		t.Errorf("by tool: %v, want %v", got, want)
	}
}

// A log of any length takes a bounded number of queries, none of which goes through the whole log, and
// the report says that it stopped.
func TestReportStops(t *testing.T) {
	l := new(logOf)
	for i := range 3*window + 10 {
		l.add(verdict(ago(time.Hour), fmt.Sprint(i), "", "allow", ""))
	}
	l.events[5].Decision, l.events[5].DecidedBy = "block", "early"
	l.events[3*window].Decision, l.events[3*window].DecidedBy = "block", "late"
	r := read(t, l, Options{By: ByHook, Since: ago(48 * time.Hour), Events: window})
	if r.Complete || r.Events != window || r.Total.Blocks != 1 || r.Rows[0].Hook != "late" {
		t.Errorf("%+v", r)
	}
	for _, q := range l.queries {
		if q.Limit != 1 && q.After < 2*window {
			t.Errorf("a query goes back to %d: %+v", q.After, q)
		}
	}
	if len(l.queries) > 10 {
		t.Errorf("%d queries", len(l.queries))
	}
	if r := read(t, l, Options{By: ByHook, Since: ago(48 * time.Hour)}); !r.Complete || r.Total.Blocks != 2 {
		t.Errorf("without the bound: %+v", r)
	}
	if r := read(t, l, Options{By: ByHook, Since: ago(48 * time.Hour), Gone: 100}); r.Complete || r.Total.Blocks != 1 {
		t.Errorf("compacted: %+v", r)
	}
	l.queries = nil
	if r := read(t, l, Options{By: ByHook, Since: ago(time.Minute)}); !r.Complete || len(l.queries) > 10 {
		t.Errorf("of a minute: %d queries, %+v", len(l.queries), r)
	}
}

// Reasons that differ without end fill no table, and no question is lost by it.
func TestReportBoundsItsRows(t *testing.T) {
	l := new(logOf)
	name := func(n int) string { return string([]rune{'a' + rune(n%26), 'a' + rune(n/26%26), 'a' + rune(n/676)}) }
	for i := range maxRows + 50 {
		l.add(verdict(ago(time.Hour), fmt.Sprint(i), "guard", "block", name(i)))
	}
	r := read(t, l, Options{By: ByRule, Since: ago(48 * time.Hour)})
	if len(r.Rows) != maxRows+1 || r.Rows[0].Rule != Others || r.Rows[0].Blocks != 50 || r.Total.Blocks != maxRows+50 {
		t.Errorf("%d rows, first %+v, in all %+v", len(r.Rows), r.Rows[0], r.Total)
	}
}

func TestReportOfNothing(t *testing.T) {
	r := read(t, new(logOf), Options{By: ByRule, Since: ago(time.Hour)})
	if !r.Complete || len(r.Rows) != 0 || r.Rows == nil || r.Days == nil {
		t.Errorf("%+v", r)
	}
	broken := errors.New("broken")
	if _, err := Read(t.Context(), &logOf{fail: broken}, Options{}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// A reason may cite what a caller wrote. Where hooks name their rules, only those count.
func TestCallersNameNoRules(t *testing.T) {
	const cited = "no pushes: git push (rule x); y (rule pushes)"
	told := func(e phases.Event, logs ...string) phases.Event {
		e.Logs = logs
		return e
	}
	l := new(logOf)
	at := ago(time.Hour)
	l.add(told(turnBy(at, "a", "rules", "block", cited, phases.Enforce), "info: rules: pushes"),
		verdict(at, "a", "rules", "block", cited),
		told(turnBy(at, "b", "rules", "ask", cited, phases.Enforce), "info: rules: pushes, late", "debug: rules: z"),
		verdict(at, "b", "rules", "ask", cited), approval(at, "b", "requested"),
		told(turnBy(at, "c", "rules", "block", cited, phases.Observe), "info: rules: pushes"),
		// Of an older engine, which does not name them.
		turnBy(at, "d", "old", "block", "no (rule few)", phases.Enforce), verdict(at, "d", "old", "block", "no (rule few)"))
	// A failure counts for no rule, also where the hook named rules before it failed.
	failed := verdict(at, "e", "rules", "block", "the fuel is spent")
	failed.Kind = phases.KindFuel
	l.add(told(turnBy(at, "e", "rules", "block", "no", phases.Enforce), "info: rules: pushes"), failed)
	want := map[string]Counts{
		"rules|pushes|":        {Asks: 1, Blocks: 1, ObservedBlocks: 1},
		"rules|late|":          {Asks: 1},
		"old|few|":             {Blocks: 1},
		"rules|failure: fuel|": {Blocks: 1},
	}
	if got := rowsOf(read(t, l, Options{By: ByRule, Since: ago(2 * time.Hour)})); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
