package phases

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPropertyBlockIsFinalAndScopesNeverWiden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, inv, ceiling, turns := drawChain(t)
		for _, x := range turns {
			before, wasStopped := c.Result(), c.Stopped()
			r := c.Add(x)
			after := c.Result()
			if wasStopped {
				if d := cmp.Diff(before, after); d != "" || !c.Stopped() {
					t.Fatalf("a later hook changed a blocked verdict: %s", d)
				}
				continue
			}
			if before.Decision == Ask && after.Decision == Allow {
				t.Fatal("a later hook undid an ask")
			}
			if r.Stop != c.Stopped() || c.Stopped() != (after.Decision == Block) {
				t.Fatalf("stop %v, stopped %v, decision %s", r.Stop, c.Stopped(), after.Decision)
			}
			if !before.Scopes.Contains(after.Scopes) || !inv.Scopes.Contains(after.Scopes) || !ceiling.Contains(after.Scopes) {
				t.Fatalf("scopes widened: %+v to %+v", before.Scopes, after.Scopes)
			}
			if x.Pass != PassMutate && (!Same(before.Action, after.Action) || !before.Scopes.Equal(after.Scopes)) {
				t.Fatalf("pass %s changed the action", x.Pass)
			}
			if r.Changed != (!Same(before.Action, after.Action) || !before.Scopes.Equal(after.Scopes)) {
				if x.Pass != PassObserve { // there it tells what would have been
					t.Fatalf("changed is %v", r.Changed)
				}
			}
			if (r.Decision == HookError || x.By.Mode == Observe || x.Pass == PassObserve) &&
				(!cmp.Equal(before.Metadata, after.Metadata) || !cmp.Equal(before.Contexts, after.Contexts) ||
					string(before.Action) != string(after.Action) || !cmp.Equal(before.Reply, after.Reply) &&
					after.Decision != Block) {
				t.Fatalf("a turn that does not count left something: %+v", r)
			}
			if err := checkAction(inv.Phase, after.Action); err != nil {
				t.Fatalf("the action is broken: %v", err)
			}
		}
		// The fixed parts are as they came.
		for _, ptr := range []string{"/tool", "/provider", "/child/agent", "/machine", "/call_id", "/headers/Authorization"} {
			a, _ := Get(inv.Action, ptr)
			b, _ := Get(c.Result().Action, ptr)
			if string(a) != string(b) {
				t.Fatalf("%s became %s", ptr, b)
			}
		}
		// One by one is the same as all at once.
		md := Metadata{"k": {Value: jsontext.Value("0"), Hook: "old", Tier: Sandboxed}}
		v, err := fold(inv, md, ceiling, turns)
		if err != nil || cmp.Diff(c.Result(), v) != "" {
			t.Fatalf("Combine differs: %v %s", err, cmp.Diff(c.Result(), v))
		}
	})
}

// A turn with one refused effect anywhere is as if the hook had asked for nothing and failed.
func TestPropertyTurnsAreTransactions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, _, _, turns := drawChain(t)
		for _, x := range turns[:len(turns)/2] {
			if c.Stopped() {
				break
			}
			c.Add(x)
		}
		if c.Stopped() {
			return
		}
		before := c.Result()
		var effects []Effect
		for _, x := range turns {
			effects = append(effects, x.Effects...)
		}
		effects = slices.DeleteFunc(effects, func(e Effect) bool { return e.Kind == EffectBlock })
		at := rapid.IntRange(0, len(effects)).Draw(t, "at")
		effects = slices.Insert(effects, at, Effect{Kind: EffectRewrite, Path: "/never", Value: jsontext.Value("1")})
		if r := c.Add(turn("bad", effects...)); r.Decision != HookError || !r.Stop || r.Changed {
			t.Fatalf("%+v", r)
		}
		after := c.Result()
		if after.Decision != Block || after.Kind != KindOutput || after.DecidedBy != "bad" {
			t.Fatalf("%+v", after)
		}
		before.Decision, before.Kind, before.DecidedBy, before.Reason = after.Decision, after.Kind, after.DecidedBy,
			after.Reason
		before.Reply, before.Retry, before.Grant, before.Notes = nil, nil, nil, after.Notes
		if d := cmp.Diff(before, after); d != "" {
			t.Fatal(d)
		}
	})
}

// Validators that ran ahead of their turn give the same verdict as one after the
// other: what runs is the same turn, and results after the end are thrown away.
func TestPropertyParallelEqualsSequential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, inv, ceiling, turns := drawChain(t)
		for i := range turns {
			turns[i].Pass = PassValidate
		}
		ahead := make([]TurnResult, len(turns))
		for i, x := range turns {
			ahead[i] = c.Add(x)
		}
		s, err := NewChain(inv, Metadata{"k": {Value: jsontext.Value("0"), Hook: "old", Tier: Sandboxed}}, ceiling)
		if err != nil {
			t.Fatal(err)
		}
		counted := 0
		for i, x := range turns {
			if s.Stopped() {
				break
			}
			if d := cmp.Diff(ahead[i], s.Add(x)); d != "" {
				t.Fatal(d)
			}
			counted++
		}
		if d := cmp.Diff(s.Result(), c.Result()); d != "" {
			t.Fatal(d)
		}
		for _, r := range ahead[counted:] {
			if !r.Discarded {
				t.Fatalf("a result after the end counts: %+v", r)
			}
		}
	})
}

// Clamps intersect, so their order makes no difference; everything that is kept
// in order stays in the order of the turns, also between equal hooks.
func TestPropertyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clamps := rapid.SliceOfN(rapid.SampledFrom([]Effect{clampTo("/a/**"), clampTo("/a/b", "/home/**"),
			clampTo("/home/dev/**"), clampTo("*"), clampTo()}), 0, 4).Draw(t, "clamps")
		var turns []Turn
		for i, e := range clamps {
			turns = append(turns, turn("same", e, contextWith(fmt.Sprint(i)), askWith(fmt.Sprint(i))))
		}
		v, err := fold(sampleInvocation(PreTool), nil, Scopes{}, turns)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range v.Contexts {
			if s != fmt.Sprintf("[belay hook same] %d", i) {
				t.Fatalf("contexts %q", v.Contexts)
			}
		}
		if len(turns) > 0 && v.Reason != "0" {
			t.Fatalf("reason %q", v.Reason)
		}
		other := rapid.Permutation(turns).Draw(t, "permutation")
		w, err := fold(sampleInvocation(PreTool), nil, Scopes{}, other)
		if err != nil || !cmp.Equal(v.Scopes, w.Scopes) {
			t.Fatalf("%+v and %+v", v.Scopes, w.Scopes)
		}
	})
}
