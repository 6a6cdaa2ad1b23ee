package kernel_test

import (
	"context"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// tapes stores the recordings that it is given.
type tapes struct {
	list   []*kernel.Recording
	wants  func(*phases.Invocation) bool
	blowUp string
}

func (r *tapes) Wants(inv *phases.Invocation) bool {
	if r.blowUp == "wants" {
		panic("broken")
	}
	return r.wants == nil || r.wants(inv)
}

func (r *tapes) Recorded(rec *kernel.Recording) {
	if r.blowUp == "recorded" {
		panic("broken")
	}
	r.list = append(r.list, rec)
}

func recordedBy(r *tapes) change {
	return func(_ *kernel.Config, o *kernel.Options) { o.Recorder = r }
}

func TestRecorderGetsOriginalsInOrder(t *testing.T) {
	r := &tapes{}
	h := newHost(t, []hook{
		{name: "writer", mutates: preTool, caps: []string{"rewrite:/args", "annotate"},
			imports: []string{"rewrite", "annotate"},
			run:     effects(rewrite("/args/command", `"ls SECRET"`), annotate("note", `"SECRET"`))},
		{name: "counter", run: counting()},
		{name: "watcher", mode: phases.Observe},
		{name: "scribe", phases: []phases.Phase{phases.Audit}},
	}, recordedBy(r), func(c *kernel.Config, o *kernel.Options) { o.Home = "/home/dev" })
	inv := invocation(phases.PreTool)
	seed := [32]byte{1, 2, 3}
	v := h.invoke(t, inv, kernel.InvokeOptions{Seed: &seed})
	if len(r.list) != 1 {
		t.Fatalf("%d recordings", len(r.list))
	}
	rec := r.list[0]
	if rec.Invocation.ID != v.ID || rec.Invocation.Time.IsZero() || rec.Seed != seed || rec.Options.HoldsScopes ||
		rec.Options.Seed != nil {
		t.Errorf("%+v", rec.Invocation)
	}
	var said []string
	for _, turn := range rec.Turns {
		said = append(said, turn.Binding+"/"+string(turn.Pass)+"/"+string(turn.Report.Decision))
		if turn.Trace == nil || turn.Seed == ([32]byte{}) {
			t.Errorf("%s: not traced", turn.Binding)
		}
	}
	if got, want := strings.Join(said, " "),
		"writer/mutate/transform counter/validate/none watcher/observe/none scribe/audit/none"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// Stored and released values are redacted, recorded ones are not.
	if got := string(rec.Chained.Metadata["note"].Value); got != `"SECRET"` {
		t.Errorf("recorded metadata %s", got)
	}
	if got := string(v.Metadata["note"].Value); got != `"[redacted]"` {
		t.Errorf("released metadata %s", got)
	}
	if got, _ := phases.GetString(rec.Chained.Action, "/args/command"); got != "ls SECRET" || rec.Chained.Event != nil {
		t.Errorf("recorded action %s", got)
	}
	if a := rec.Turns[1].Trace.Answers; len(a) != 1 || a[0].Port != "state" || string(a[0].Request) != "n" ||
		a[0].Version != 0 {
		t.Errorf("state reads: %+v", a)
	}
	if c := rec.Chain; c.Revision != "rev-1" || c.Home != "/home/dev" || len(c.Bindings) != 4 ||
		c.Bindings[0].Name != "writer" || c.Bindings[0].Fuel != kernel.DefaultFuel {
		t.Errorf("chain: %+v", c)
	}
	h.invoke(t, inv)
	if r.list[1].Chain != rec.Chain || string(r.list[1].Run.Metadata["note"].Value) != `"[redacted]"` ||
		r.list[1].Run.Version == 0 {
		t.Errorf("the run's metadata as it was read: %+v", r.list[1].Run)
	}
	if a := r.list[1].Turns[1].Trace.Answers; len(a) != 1 || string(a[0].Reply) != "1" {
		t.Errorf("state reads: %+v", a)
	}
}

func TestRecorderIsAskedAndCannotHarm(t *testing.T) {
	r := &tapes{wants: func(inv *phases.Invocation) bool { return inv.Session == "wanted" }}
	h := newHost(t, []hook{{name: "first"}}, recordedBy(r))
	h.invoke(t, invocation(phases.PreTool))
	inv := invocation(phases.PreTool)
	inv.Session = "wanted"
	h.invoke(t, inv)
	if len(r.list) != 1 || r.list[0].Invocation.Session != "wanted" {
		t.Errorf("%d recordings", len(r.list))
	}
	for _, where := range []string{"wants", "recorded"} {
		r := &tapes{blowUp: where}
		h := newHost(t, []hook{{name: "first"}}, recordedBy(r))
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
			t.Errorf("%s: %s", where, v.Decision)
		}
	}
}

// An invocation that ran again, because a row that it had read was changed, is recorded as it
// counted.
func TestRecorderGetsTheLastAttempt(t *testing.T) {
	r := &tapes{}
	var h *host
	first := true
	h = newHost(t, []hook{{name: "counter", run: func(turn kernel.Turn) (kernel.Outcome, error) {
		out, err := counting()(turn)
		if first {
			first = false
			_, cerr := h.store.Commit(context.Background(),
				kernel.Batch{Events: meanwhile(),
					StateWrites: []kernel.StateWrite{{Namespace: "counter", Key: "n", Value: []byte("41")}}})
			if cerr != nil {
				t.Error(cerr)
			}
		}
		return out, err
	}}}, recordedBy(r))
	h.invoke(t, invocation(phases.PreTool))
	if len(r.list) != 1 || len(r.list[0].Turns) != 1 {
		t.Fatalf("%+v", r.list)
	}
	if a := r.list[0].Turns[0].Trace.Answers; string(a[0].Reply) != "41" {
		t.Errorf("%+v", a)
	}
}

func TestRecorderGetsTheLatch(t *testing.T) {
	r := &tapes{}
	h := newHost(t,
		[]hook{{name: "guard", phases: []phases.Phase{phases.StateTransition}, caps: []string{"block"},
			run: effects(block("no"))}}, recordedBy(r))
	h.invoke(t, invocation(phases.StateTransition), kernel.InvokeOptions{Unblockable: true})
	h.invoke(t, invocation(phases.PreTool))
	if len(r.list) != 2 || r.list[0].Latch != nil || r.list[1].Latch == nil || r.list[1].Latch.Reason != "no" ||
		r.list[1].Chained.Decision != phases.Block {
		t.Errorf("%+v", r.list)
	}
	if r.list[0].Verdict.Enforced != phases.EnforcedLatched || r.list[0].Chained.Enforced == phases.EnforcedLatched {
		t.Errorf("%s %s", r.list[0].Verdict.Enforced, r.list[0].Chained.Enforced)
	}
}
