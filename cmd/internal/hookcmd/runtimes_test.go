package hookcmd_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/phases"
)

// marker is a text that no payload has.
const marker = "changed-by-a-hook-7f3a"

// payloads returns the example payloads of a runtime, with and without a person.
func payloads(t *testing.T, runtime string) map[string]jsontext.Value {
	t.Helper()
	out := map[string]jsontext.Value{}
	for _, dir := range []string{"events", "captured", "variants"} {
		files, _ := filepath.Glob(filepath.Join("../../../adapters", runtime, "testdata", dir, "*.json"))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if in, ok := phases.Get(b, "/input"); ok && dir == "events" {
				b = in
			}
			out[dir+"/"+filepath.Base(f)] = b
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s: there are no payloads", runtime)
	}
	return out
}

// leaves returns the pointers of all values that are no objects or arrays.
func leaves(v jsontext.Value) (out []string) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return out
		}
		key := dec.StackDepth() > 0
		if key {
			kind, n := dec.StackIndex(dec.StackDepth())
			key = kind == '{' && n%2 == 1
		}
		if k := tok.Kind(); !key && k != '{' && k != '}' && k != '[' && k != ']' {
			out = append(out, string(dec.StackPointer()))
		}
	}
}

// decided asks each step with f, as a caller does.
func decided(t *testing.T, ad adapters.Adapter, ev adapters.Event,
	f func(i int, s adapters.Step) phases.Verdict) (out []phases.Verdict, steps []adapters.Step) {
	t.Helper()
	for {
		step, more, err := ad.Next(ev, out)
		if err != nil || !more {
			return out, steps
		}
		steps = append(steps, step)
		out = append(out, f(len(steps)-1, step))
	}
}

func allowing(_ int, s adapters.Step) phases.Verdict {
	return phases.Verdict{Phase: s.Invocation.Phase, Decision: phases.Allow, Action: s.Invocation.Action,
		Scopes: s.Invocation.Scopes, Enforced: phases.EnforcedDirect}
}

// Each runtime, each of its events, each shape that a verdict can have: what the event's row cannot
// express is that runtime's deny, or latches the session, and never reads as the answer of allow.
func TestWhatARuntimeCannotExpressIsItsDeny(t *testing.T) {
	for name, ad := range hookcmd.Runtimes() {
		table := ad.Table()
		seen := map[string]bool{}
		for file, payload := range payloads(t, name) {
			for _, headless := range []bool{false, true} {
				ev, err := ad.Decode(payload, adapters.Options{Headless: headless})
				if err != nil {
					t.Errorf("%s %s: %v", name, file, err)
					continue
				}
				seen[ev.Name] = true
				row, ok := table.Events[ev.Name]
				if !ok {
					t.Errorf("%s: %s has no row", name, ev.Name)
				}
				checkEvent(t, ad, ev, row, name+" "+file+fmt.Sprintf(" headless=%v", headless))
			}
		}
		for event := range table.Events {
			if !seen[event] {
				t.Errorf("%s: %s has no payload", name, event)
			}
		}
	}
}

func checkEvent(t *testing.T, ad adapters.Adapter, ev adapters.Event, row adapters.Expresses, what string) {
	t.Helper()
	vs, steps := decided(t, ad, ev, allowing)
	allow := ad.Encode(ev, vs)
	held := func(shape string, a adapters.Answer) {
		t.Helper()
		same := bytes.Equal(a.Stdout, allow.Stdout) && a.Exit == allow.Exit && allow.Exit == 0
		told := bytes.ReplaceAll(a.Stdout, []byte("it puts “"+marker+"” into line 1"), nil) // why a prompt is refused
		if same && a.Latch == "" || bytes.Contains(told, []byte(marker)) {
			t.Errorf("%s: %s is answered with %s", what, shape, a.Stdout)
		}
	}
	for i := range steps {
		at := func(change func(s adapters.Step, v *phases.Verdict)) adapters.Answer {
			vs, _ := decided(t, ad, ev, func(n int, s adapters.Step) phases.Verdict {
				v := allowing(n, s)
				if n == i {
					change(s, &v)
				}
				return v
			})
			return ad.Encode(ev, vs)
		}
		step := steps[i]
		if step.Blockable && !row.Blocks || step.NativeAsk && (!row.Asks || ev.Options.Headless) {
			t.Errorf("%s: step %d says more than its row: %+v", what, i, step)
		}
		block := at(func(_ adapters.Step, v *phases.Verdict) { v.Decision, v.Reason = phases.Block, "no" })
		held("a block", block)
		if !step.Blockable && block.Latch == "" {
			t.Errorf("%s: a block that nothing carries does not latch", what)
		}
		rules := phases.RulesFor(step.Invocation.Phase)
		if rules.Ask {
			ask := at(func(_ adapters.Step, v *phases.Verdict) { v.Decision, v.Reason = phases.Ask, "sure?" })
			if !step.NativeAsk {
				held("an ask", ask)
			}
			held("an ask that waits", at(func(_ adapters.Step, v *phases.Verdict) {
				v.Decision, v.Approval = phases.Ask, &phases.ApprovalRef{ID: "a-1", Expires: time.Unix(1, 0)}
			}))
		}
		if rules.Reply {
			held("a reply", at(func(_ adapters.Step, v *phases.Verdict) { v.Reply = &phases.Reply{Text: "later"} }))
		}
		if rules.Clamp && step.Invocation.Phase != phases.PreTool && !step.CarriesScopes {
			held("a clamp", at(func(_ adapters.Step, v *phases.Verdict) {
				v.Scopes.Tools = phases.Scope{"read"}
				v.Hooks = []phases.HookReport{{Mode: phases.Enforce, Effects: []phases.Effect{{Kind: phases.EffectClamp}}}}
			}))
		}
		for _, ptr := range leaves(step.Invocation.Action) {
			checkRewrite(t, ev, row, i, ptr, at, held)
		}
	}
	held("a lost event", ad.Failure(ev.Payload, ev.Options, phases.NewFault(phases.KindStore, "it is full", nil)))
	held("no verdict", ad.Encode(ev, nil))
}

func checkRewrite(t *testing.T, ev adapters.Event, row adapters.Expresses, i int, ptr string,
	at func(func(adapters.Step, *phases.Verdict)) adapters.Answer, held func(string, adapters.Answer)) {
	t.Helper()
	carried := row.Carried(i, ptr)
	recorded := slices.ContainsFunc(row.Records, func(r string) bool { return phases.Covers(r, ptr) })
	changed := false
	a := at(func(s adapters.Step, v *phases.Verdict) {
		next, err := phases.Set(s.Invocation.Action, ptr, jsontext.Value(`"`+marker+`"`))
		if err != nil {
			return
		}
		if _, err := phases.DecodeAction(s.Invocation.Phase, next); err == nil {
			v.Action, changed = next, true
		}
	})
	switch {
	case !changed:
	case carried && bytes.Contains(a.Stdout, []byte(marker)):
		if row.RewriteNeedsGrant {
			t.Errorf("%s: %s is rewritten without a grant: %s", ev.Name, ptr, a.Stdout)
		}
	case recorded && !carried:
	default:
		held("a change of "+ptr, a)
	}
}

// The deadline is below what the runtime waits, and the parts of belay-hook fit into it.
func TestDeadlinesAreBelowTheRuntimes(t *testing.T) {
	for name, ad := range hookcmd.Runtimes() {
		table := ad.Table()
		for _, event := range append([]string{""}, slices.Sorted(maps.Keys(table.Events))...) {
			wait, deadline := table.Wait(event), hookcmd.Deadline(ad, event)
			if deadline >= wait || deadline < wait/2 || wait%time.Second != 0 || hookcmd.GraceOf(deadline) > deadline/5 {
				t.Errorf("%s %s: %v of %v", name, event, deadline, wait)
			}
			if least := hookcmd.Deadline(ad, ""); deadline < least {
				t.Errorf("%s: %s has %v, an event without a name %v", name, event, deadline, least)
			}
		}
	}
}

// What a command knows of its session comes from the runtime's own environment.
func TestOptionsFor(t *testing.T) {
	ad := hookcmd.Runtimes()["claude-code"]
	for entry, want := range map[string]bool{"sdk-cli": true, "cli": false, "": false, "sdk-ts": false, "mcp": true} {
		o := hookcmd.OptionsFor(ad, "PreToolUse", func(n string) string {
			if n == "CLAUDE_CODE_ENTRYPOINT" {
				return entry
			}
			return ""
		})
		if o.Headless != want || o.Event != "PreToolUse" || o.MaxBytes != ad.Table().Limit(adapters.Options{}) {
			t.Errorf("%q: %+v", entry, o)
		}
	}
}

// The names are those of the registry, sorted, and each adapter is under its own.
func TestRuntimes(t *testing.T) {
	names := hookcmd.RuntimeNames()
	if len(names) != len(hookcmd.Runtimes()) || !slices.IsSorted(names) || !slices.Contains(names, "claude-code") {
		t.Errorf("%q", names)
	}
	for name, ad := range hookcmd.Runtimes() {
		if ad.Runtime() != name || strings.TrimSpace(ad.Table().Runtime) == "" {
			t.Errorf("%s is %s, %q", name, ad.Runtime(), ad.Table().Runtime)
		}
	}
}
