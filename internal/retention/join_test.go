package retention_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/retention"
	"github.com/belay-hooks/belay/phases"
)

// everything are invocations of all kinds: blocked, asked about, rewritten, with
// metadata that is written and carried along, with secrets, unblockable.
var everything = []struct {
	inv phases.Invocation
	o   belay.InvokeOptions
}{
	{inv: phases.Invocation{Phase: phases.PrePlan, Runtime: "custom", Session: "s", Run: "r", User: "dev",
		Action: []byte(`{"kind":"message","text":"prove that this is  hard: 1e3 \u00e9"}`)}},
	{inv: phases.Invocation{Phase: phases.PreSend, Runtime: "custom", Session: "s", Run: "r",
		Action: []byte(
			`{"provider":"p","model":"m","messages":[{"role":"user","content":"hi"}],"params":{"think_level":"low"}}`)}},
	{inv: invocation("rm -rf /")},
	{inv: invocation("ls"), o: belay.InvokeOptions{Unblockable: true}},
	{inv: invocation("rm -rf /"), o: belay.InvokeOptions{Unblockable: true}},
	{inv: phases.Invocation{Phase: phases.PreTool, Runtime: "other", Session: "t", Agent: "coder",
		CWD: "/home/dev/project", Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Action:   []byte(`{"tool":"exec","args":{"command":"git push","token":"ghp_0123456789abcdefghijABCDEFGHIJ012345"}}`),
		Scopes:   phases.Scopes{FSRead: []string{"/home/dev/**"}},
		Metadata: map[string]jsontext.Value{"k": jsontext.Value(`{"a": 1}`)}}},
	{inv: invocation("ls"), o: belay.InvokeOptions{Delegated: true}}, // its session is latched by now
	{inv: phases.Invocation{Phase: phases.PostTool, Runtime: "custom",
		Action: []byte(
			`{"tool":"exec","args":{"command":"ls"},"result":"AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}`)}},
	{inv: phases.Invocation{Phase: phases.Audit, Runtime: "custom", Action: []byte(`{"kind":"x","data":{"a":1}}`)}},
	{inv: phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: "native",
		Action: []byte(`{"tool":"exec","args":{"command":"git push origin main"}}`)},
		o: belay.InvokeOptions{Delegated: true}},
	{inv: phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: "asks",
		Action: []byte(`{"tool":"exec","args":{"command":"git push origin main"}}`)}},
}

const thinking = `  - name: thinking
    module: builtin:raise-thinking
    capabilities: ["rewrite:/params", "input_read"]
    budget: {deadline_ms: 5000}
  - name: push
    module: builtin:ask-push
    capabilities: [block, request_approval, shell_parse]
    budget: {deadline_ms: 5000}
`

type joined struct {
	*operator
	b      *belay.Belay
	runs   []*recording.Run
	chains []*recording.Chain
	events []phases.Event
}

// decideEverything has it all decided and kept.
func decideEverything(t *testing.T) *joined {
	t.Helper()
	o := newOperator(t)
	o.configure("recipients: [TO]")
	b := o.open()
	for _, c := range everything {
		if v, err := b.InvokeWith(context.Background(), c.inv, c.o); err != nil {
			t.Fatalf("%s: %s, %v", c.inv.Phase, v.Reason, err)
		}
	}
	o.close(b)
	j := &joined{operator: o, b: o.open()}
	for _, f := range o.files() {
		runs, chains, err := o.read(f)
		if err != nil {
			t.Fatal(err)
		}
		j.runs, j.chains = append(j.runs, runs...), append(j.chains, chains...)
	}
	var err error
	if j.events, err = j.b.Events(context.Background(),
		wire.Query{Type: phases.EventVerdict, Limit: 100}); err != nil {
		t.Fatal(err)
	}
	if len(j.runs) != len(everything) || len(j.events) != len(everything) {
		t.Fatalf("%d runs and %d events", len(j.runs), len(j.events))
	}
	return j
}

func (j *joined) joiner(events ...phases.Event) *retention.Joiner {
	j.t.Helper()
	d, err := retention.OpenDigests(j.state)
	if err != nil {
		j.t.Fatal(err)
	}
	out := retention.NewJoiner(d, func(ctx context.Context, id string) ([]phases.Event, error) {
		return j.b.Events(ctx, wire.Query{Invocation: id, Type: phases.EventHook, Limit: 1000})
	})
	for i := range events {
		out.Want(&events[i])
	}
	return out
}

// Whatever was decided, the original that was kept of it is proven by its event, and
// by no other one.
func TestEveryOriginalIsProven(t *testing.T) {
	j := decideEverything(t)
	decisions := map[string]bool{}
	all := j.joiner(j.events...)
	for i, run := range j.runs {
		seq, err := all.Take(context.Background(), run, j.chains[i])
		if err != nil || seq == 0 {
			t.Errorf("%s: %d, %v", run.Invocation, seq, err)
		}
		if seq, err := all.Take(context.Background(), run, j.chains[i]); seq != 0 || err != nil {
			t.Errorf("a copy counts once more: %d, %v", seq, err)
		}
		decisions[string(run.Final.Decision)+string(run.Final.Enforced)] = true
	}
	if n := all.Missing(); len(n) != 0 {
		t.Errorf("missing: %v", n)
	}
	for _, d := range []string{"allowdirect", "allownone", "blockdirect", "blocklatched", "askdirect", "askdelegated"} {
		if !decisions[d] {
			t.Errorf("nothing came to %s: %v", d, decisions)
		}
	}
	// An invocation that is not wanted, and one that was not retained.
	some := j.joiner(j.events[2:]...)
	if seq, err := some.Take(context.Background(), j.runs[0], j.chains[0]); seq != 0 || err != nil {
		t.Errorf("%d, %v", seq, err)
	}
	for i, run := range j.runs[3:] {
		if _, err := some.Take(context.Background(), run, j.chains[i+3]); err != nil {
			t.Error(err)
		}
	}
	if got := some.Missing(); len(got) != 1 || got[0] != j.events[2].Seq {
		t.Errorf("missing: %v", got)
	}
}

// Whatever is changed in an original, it is not the event's any more.
func TestForgeries(t *testing.T) {
	j := decideEverything(t)
	byPhase := func(p phases.Phase, not string) int {
		return slices.IndexFunc(j.runs, func(r *recording.Run) bool {
			return bytes.Contains(r.Invocation, []byte(`"`+string(p)+`"`)) && len(r.Turns) > 0 &&
				!bytes.Contains(r.Invocation, []byte(not))
		})
	}
	edit := func(old, new string) func(*recording.Run, *recording.Chain) {
		return func(r *recording.Run, _ *recording.Chain) {
			if !bytes.Contains(r.Invocation, []byte(old)) {
				t.Fatalf("no %s in %s", old, r.Invocation)
			}
			r.Invocation = bytes.Replace(r.Invocation, []byte(old), []byte(new), 1)
		}
	}
	block, plan := 2, byPhase(phases.PrePlan, "\x00")
	send := byPhase(phases.PreSend, "\x00")
	for name, c := range map[string]struct {
		run  int
		edit func(*recording.Run, *recording.Chain)
		want string
	}{
		"the command":   {block, edit("rm -rf /", "rm -rf ~"), "the input"},
		"a blank":       {plan, edit("is  hard", "is hard"), "the input"},
		"the directory": {block, edit("/home/dev/project", "/home/dev/projects"), "the input"},
		"the time": {block, func(r *recording.Run, _ *recording.Chain) {
			inv, err := phases.DecodeInvocation(r.Invocation)
			if err != nil {
				t.Fatal(err)
			}
			inv.Time = inv.Time.Add(1)
			if r.Invocation, err = phases.EncodeInvocation(inv); err != nil {
				t.Fatal(err)
			}
		}, "the input"},
		"the session": {block, edit(`"session":"s"`, `"session":"x"`), "runtime, session"},
		"the run":     {block, edit(`"run":"r"`, `"run":"x"`), "runtime, session"},
		"what was carried": {send, func(r *recording.Run, _ *recording.Chain) {
			r.Carried.Metadata = map[string]recording.Entry{"class": {Value: `"easy"`, Hook: "stages", Tier: phases.Trusted}}
		}, "the input"},
		"the seed": {block, func(r *recording.Run, _ *recording.Chain) { r.Seed = strings.Repeat("0", 64) },
			"the seed"},
		"the revision": {block, func(_ *recording.Run, c *recording.Chain) { c.Revision += "x" }, "another configuration"},
		"no chain":     {block, nil, "another configuration"},
		"the decision": {block, func(r *recording.Run, _ *recording.Chain) { r.Final.Decision = phases.Allow },
			"another decision"},
		"by whom": {block, func(r *recording.Run, _ *recording.Chain) { r.Final.DecidedBy = "x" }, "another decision"},
		"how enforced": {block, func(r *recording.Run, _ *recording.Chain) { r.Final.Enforced = phases.EnforcedLatched },
			"another decision"},
		"no turn": {block, func(r *recording.Run, _ *recording.Chain) { r.Turns = nil }, "0 turns"},
		"another hook": {block, func(r *recording.Run, _ *recording.Chain) { r.Turns[0].Binding = "stages" },
			"of another hook"},
		"another module": {block, func(_ *recording.Run, c *recording.Chain) {
			c.Bindings[0].Digest = "sha256:" + strings.Repeat("0", 64)
		}, "of another hook"},
		"the fuel": {block, func(r *recording.Run, _ *recording.Chain) { r.Turns[0].Outcome.Fuel++ },
			"came out otherwise"},
		"the memory": {block, func(r *recording.Run, _ *recording.Chain) { r.Turns[0].Outcome.MemoryPeak++ },
			"came out otherwise"},
		"the calls": {block, func(r *recording.Run, _ *recording.Chain) { r.Turns[0].Outcome.Hostcalls++ },
			"came out otherwise"},
		"what it said": {block, func(r *recording.Run, _ *recording.Chain) { r.Turns[0].Report.Decision = phases.HookNone },
			"came out otherwise"},
		"what it asked for": {block, func(r *recording.Run, _ *recording.Chain) {
			r.Turns[0].Outcome.Effects = []phases.Effect{{Kind: phases.EffectBlock, Text: "x"}}
		}, "asked for something else"},
		"that it asked for nothing": {block, func(r *recording.Run, _ *recording.Chain) { r.Turns[0].Outcome.Effects = nil },
			"asked for something else"},
		"the final action": {send, func(r *recording.Run, _ *recording.Chain) {
			r.Chained.Action = jsontext.Value(`{}`)
		}, "what came out"},
		"the scopes": {block, func(r *recording.Run, _ *recording.Chain) {
			r.Chained.Scopes.Tools = []string{"x"}
		}, "what came out"},
		"what was written": {plan, func(r *recording.Run, _ *recording.Chain) {
			r.Chained.Metadata = phases.Metadata{"class": {Value: []byte(`"easy"`), Hook: "stages", Tier: phases.Trusted}}
		}, "what came out"},
		"that something was written": {plan, func(r *recording.Run, _ *recording.Chain) { r.Chained.Metadata = nil },
			"what came out"},
		"a context": {block, func(r *recording.Run, _ *recording.Chain) {
			r.Chained.Contexts = []string{"x"}
		}, "what came out"},
	} {
		t.Run(name, func(t *testing.T) {
			run, chain := *j.runs[c.run], *j.chains[c.run]
			run.Turns = slices.Clone(run.Turns)
			chain.Bindings = slices.Clone(chain.Bindings)
			given := &chain
			if c.edit != nil {
				c.edit(&run, given)
			} else {
				given = nil
			}
			join := j.joiner(j.events...)
			seq, err := join.Take(context.Background(), &run, given)
			var other *retention.MismatchError
			if seq != 0 || !errors.As(err, &other) || !strings.Contains(other.What, c.want) {
				t.Errorf("%d, %v; want %q", seq, err, c.want)
			}
			if len(join.Missing()) != len(everything) {
				t.Error("the event has an original now")
			}
			// The true one still counts.
			if seq, err := join.Take(context.Background(), j.runs[c.run], j.chains[c.run]); seq == 0 || err != nil {
				t.Errorf("%d, %v", seq, err)
			}
		})
	}
}

// Without the keys nothing can be proven; with others nothing is.
func TestKeys(t *testing.T) {
	j := decideEverything(t)
	if _, err := retention.OpenDigests(t.TempDir()); !errors.Is(err, belay.ErrState) {
		t.Errorf("got %v", err)
	}
	other := newOperator(t)
	other.configure()
	other.close(other.open())
	d, err := retention.OpenDigests(other.state)
	if err != nil {
		t.Fatal(err)
	}
	join := retention.NewJoiner(d, func(context.Context, string) ([]phases.Event, error) { return nil, nil })
	join.Want(&j.events[0])
	if seq, err := join.Take(context.Background(), j.runs[0], j.chains[0]); seq != 0 || err == nil {
		t.Errorf("%d, %v", seq, err)
	}
	if err := os.Chmod(filepath.Join(other.state, "keys", "event-input.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := retention.OpenDigests(other.state); !errors.Is(err, belay.ErrState) {
		t.Errorf("a key that others can read: %v", err)
	}
}
