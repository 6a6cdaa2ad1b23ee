package kernel_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// times are what one turn was told of the time.
type times struct {
	session        time.Time
	time, reported string // of the input document
	pass           phases.Pass
}

func timesOf(t kernel.Turn) times {
	out := times{session: t.Session.Time, pass: t.Session.Pass}
	out.time, _ = phases.GetString(t.Session.Input, "/time")
	out.reported, _ = phases.GetString(t.Session.Input, "/reported_time")
	return out
}

// watch is a hook that keeps what each of its turns is told.
func watch(name string, got *[]times, in ...phases.Phase) hook {
	return hook{name: name, phases: in, run: func(t kernel.Turn) (kernel.Outcome, error) {
		*got = append(*got, timesOf(t))
		return kernel.Outcome{Fuel: 1}, nil
	}}
}

const (
	hostTime  = "2026-03-01T12:00:00Z" // of newHost's clock
	claimTime = "2020-06-07T08:09:10Z"
	otherTime = "2031-01-02T03:04:05Z"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// A caller that moved the time would lift a rule about working hours and reset a
// daily budget: in every phase and pass its time is a claim that hooks can read, and
// the record and the recorder say both.
func TestClockIsTheHosts(t *testing.T) {
	for _, phase := range phases.Phases() {
		var got []times
		r := &tapes{}
		h := newHost(t,
			[]hook{watch("rule", &got, phase, phases.Audit),
				{name: "seer", mode: phases.Observe, phases: []phases.Phase{phase}}}, recordedBy(r))
		inv := invocation(phase)
		inv.Time = at(claimTime)
		v := h.invoke(t, inv)
		if len(got) == 0 {
			t.Fatalf("%s: no turn", phase)
		}
		for _, turn := range got {
			if !turn.session.Equal(at(hostTime)) {
				t.Errorf("%s, %s: time_now says %s, want the host's %s", phase, turn.pass, turn.session, hostTime)
			}
			if turn.pass == phases.PassAudit && phase != phases.Audit {
				continue // its input is the record
			}
			if turn.time != hostTime || turn.reported != claimTime {
				t.Errorf("%s, %s: the input says /time %q and /reported_time %q", phase, turn.pass, turn.time, turn.reported)
			}
		}
		e := h.events(t, wire.Query{ID: v.Event.ID})[0]
		recorded, _ := phases.GetString(e.Input, "/time")
		claimed, _ := phases.GetString(e.Input, "/reported_time")
		if recorded != hostTime || claimed != claimTime || !e.Time.Equal(at(hostTime)) {
			t.Errorf("%s: the event of %s says time %q, reported_time %q", phase, e.Time, recorded, claimed)
		}
		if rec := r.list[0].Invocation; !rec.Time.Equal(at(hostTime)) || !rec.ReportedTime.Equal(at(claimTime)) {
			t.Errorf("%s: recorded as of %s, reported %s", phase, rec.Time, rec.ReportedTime)
		}
	}
}

// Without a claim there is none: the document has no second time.
func TestNoReportedTime(t *testing.T) {
	var got []times
	h := newHost(t, []hook{watch("rule", &got, phases.PreTool)})
	v := h.invoke(t, invocation(phases.PreTool))
	e := h.events(t, wire.Query{ID: v.Event.ID})[0]
	if _, ok := phases.Get(e.Input, "/reported_time"); ok || got[0].reported != "" || got[0].time != hostTime {
		t.Errorf("%+v, event %s", got, e.Input)
	}
}

// A clock for hooks is what hooks read, also in calls that they make, and nothing
// else goes by it.
func TestHookClock(t *testing.T) {
	var got []times
	x := &tools{}
	asker := hook{name: "asker", priority: 50, caps: []string{"request_tool_call", "request_approval"},
		imports: []string{"request_tool_call", "request_approval"},
		runCtx: func(ctx context.Context, turn kernel.Turn) (kernel.Outcome, error) {
			got = append(got, timesOf(turn))
			if tool, _ := phases.GetString(turn.Session.Input, "/tool"); tool != "exec" {
				return kernel.Outcome{Fuel: 5}, nil
			}
			_, err := askFor(ctx, turn, "request_tool_call", `{"tool":"probe","args":{}}`, 1000)
			return kernel.Outcome{Fuel: 5, Effects: []phases.Effect{ask("why")}}, err
		}}
	r := &tapes{}
	h := newHost(t, []hook{asker}, withTools(x), recordedBy(r))
	clock := at(otherTime)
	inv := invocation(phases.PreTool)
	inv.Time = at(claimTime)
	v := h.invoke(t, inv, kernel.InvokeOptions{HookClock: &clock})
	if len(got) != 2 || len(x.calls) != 1 {
		t.Fatalf("%d turns, %d calls, want 2 and 1", len(got), len(x.calls))
	}
	for _, turn := range got {
		if turn.time != otherTime || !turn.session.Equal(clock) {
			t.Errorf("%+v, want %s", turn, otherTime)
		}
	}
	for _, e := range h.events(t, wire.Query{}) {
		if !e.Time.Equal(at(hostTime)) {
			t.Errorf("event %s is of %s, want the host's time", e.Type, e.Time)
		}
	}
	if v.Approval == nil || v.Approval.Expires.Sub(at(hostTime)) > 100*time.Hour {
		t.Errorf("approval %+v: its end does not go by the host's clock", v.Approval)
	}
	for _, rec := range r.list {
		if rec.Options.HookClock != nil || !rec.Invocation.Time.Equal(clock) {
			t.Errorf("recorded: %+v, time %s", rec.Options, rec.Invocation.Time)
		}
	}

	for _, bad := range []time.Time{{}, at("1969-12-31T23:59:59Z"), at("2201-01-01T00:00:00Z")} {
		h.fails(t, invocation(phases.PreTool), phases.KindProtocol, kernel.InvokeOptions{HookClock: &bad})
	}
}

// KeepTime is for invocations that are run again: their time is the clock then.
func TestKeepTime(t *testing.T) {
	var got []times
	h := newHost(t, []hook{watch("rule", &got, phases.PreTool)})
	inv, o := invocation(phases.PreTool), kernel.InvokeOptions{}
	inv.Time, inv.ReportedTime = at(otherTime), at(claimTime)
	o.KeepTime(&inv)
	h.invoke(t, inv, o)
	if got[0].time != otherTime || got[0].reported != claimTime {
		t.Errorf("%+v", got[0])
	}
	inv, o = invocation(phases.PreTool), kernel.InvokeOptions{}
	if o.KeepTime(&inv); o.HookClock != nil {
		t.Error("an invocation without a time sets a clock")
	}
}

// The time that a caller reports is in no key: an ask that was approved today is the same
// question, and metadata carried along a run does not expire by it.
func TestReportedTimeMovesNothing(t *testing.T) {
	h := newHost(t,
		[]hook{{name: "asks", caps: []string{"request_approval"}, imports: []string{"request_approval"},
			run: effects(ask("why"))},
			{name: "notes", caps: []string{"annotate"}, imports: []string{"annotate"}, run: effects(annotate("k", "1"))}})
	first := h.invoke(t, invocation(phases.PreTool))
	later := invocation(phases.PreTool)
	later.Time = at(otherTime)
	second := h.invoke(t, later)
	if first.Approval == nil || second.Approval == nil || first.Approval.ID != second.Approval.ID {
		t.Errorf("approvals %+v and %+v, want one", first.Approval, second.Approval)
	}
	if got := second.Metadata["k"].Value; string(got) != string(jsontext.Value("1")) {
		t.Errorf("metadata %s", got)
	}
}
